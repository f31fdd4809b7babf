/* How squares of z vary: within a response and over the map [METHOD 8c].
 *
 *     kurt = max(mean z^4/(mean z^2)^2 - 1, .5)                        over all cells
 *     T_sq = mean_j var_i(z_ij^2) / var_i(mean_j z_ij^2), held to [1, T]     var divides by the
 * count
 *
 * T_sq is how many independent responses the mean square of a map is worth. Missing cells leave
 * every sum and count; a response or a person without any has no part. O(N) memory, O(N T) time. */
#ifndef KN_NORM_CALIBRATION_Z2_MOMENTS_H
#define KN_NORM_CALIBRATION_Z2_MOMENTS_H

#include "base/matrix.h"

typedef struct kn_z2_moments {
    ptrdiff_t n;         /* people */
    double *sum, *count; /* n: of z^2 over the responses */
    double T, var;       /* responses with a value, and the sum of their variances of z^2 */
    double cells, z2, z4;
} kn_z2_moments;

kn_status kn_z2_moments_init(kn_ctx *ctx, ptrdiff_t n, kn_z2_moments *s);
void kn_z2_moments_clear(kn_z2_moments *s);
void kn_z2_moments_add(kn_z2_moments *s, kn_mat z); /* n x any; NaN: missing */

double kn_z2_moments_kurt(const kn_z2_moments *s);     /* .5 of nothing */
double kn_effective_responses(const kn_z2_moments *s); /* 1 of nothing */

#endif
