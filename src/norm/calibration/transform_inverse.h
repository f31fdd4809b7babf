/* Inverse of the calibration transform: from a standard normal z to the response value
 * [METHOD 8c, 8f]
 *
 *     zt = loc_j + sc_j sinh((asinh(z) + a_j)/b_j)      without shape: zt = z
 *     t  = F_nu^-1(Phi(zt))                             without calibration, or nu > 10000: t = zt
 *     y  = mean + sqrt(V) t
 *
 * Some tens of Newton steps per value; t increases with z. Used for centiles. */
#ifndef KN_NORM_CALIBRATION_TRANSFORM_INVERSE_H
#define KN_NORM_CALIBRATION_TRANSFORM_INVERSE_H

#include "norm/calibration/transform.h"

/* t of z. law: distribution of the response; NULL: no shape. NaN for NaN. */
double kn_calibration_inverse(const kn_calibration_transform *l, const kn_shash *law, double z);

#endif
