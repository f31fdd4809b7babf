/* Implements transform_inverse.h. */
#include "norm/calibration/transform_inverse.h"

double kn_calibration_inverse(const kn_calibration_transform *l, const kn_shash *law, double z)
{
    double zt = law ? kn_shash_inverse(law, z) : z;
    return l->nu > 0 ? kn_normal_to_student(zt, l->nu) : zt;
}
