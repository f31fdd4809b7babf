/* From a standard normal z back to the value that has it                         [METHOD 8c, 8f]
 *
 *     zt = loc_j + sc_j sinh((asinh(z) + a_j)/b_j)          without shape: zt = z
 *     t  = F_nu^-1(Phi(zt))                                 without a layer, or nu > 10000: t = zt
 *     y  = mean + sqrt(V) t
 *
 * Some tens of steps of Newton's method a value; t grows with z. */
#ifndef KN_NORM_CALIBRATION_TRANSFORM_INVERSE_H
#define KN_NORM_CALIBRATION_TRANSFORM_INVERSE_H

#include "norm/calibration/transform.h"

/* t of a z; law: of the response, NULL: no shape. NaN of NaN. */
double kn_calibration_inverse(const kn_calibration_transform *l, const kn_shash *law, double z);

#endif
