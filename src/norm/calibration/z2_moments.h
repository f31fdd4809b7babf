/* Moments of squared z-scores: within a response and over the map [METHOD 8c].
 *
 *     kurt = max(mean z^4/(mean z^2)^2 - 1, .5)                        over all cells
 *     T_sq = mean_j var_i(z_ij^2) / var_i(mean_j z_ij^2), clamped to [1, T]
 *
 * var divides by the count. T_sq is the number of independent responses that the mean square of
 * a map is worth. Missing cells are left out of every sum and count; a response or a participant
 * without any value is skipped. O(N) memory, O(N T) time. */
#ifndef KN_NORM_CALIBRATION_Z2_MOMENTS_H
#define KN_NORM_CALIBRATION_Z2_MOMENTS_H

#include "base/matrix.h"

typedef struct kn_z2_moments {
    ptrdiff_t n;          /* participants */
    double *sum, *count;  /* n: sum of z^2 over the responses, and their number */
    double T, var;        /* responses with a value, and the sum of their variances of z^2 */
    double cells, z2, z4; /* number of values, sums of z^2 and z^4 over all cells */
} kn_z2_moments;

/* Start sums for n participants; release them with kn_z2_moments_clear(). */
kn_status kn_z2_moments_init(kn_ctx *ctx, ptrdiff_t n, kn_z2_moments *s);
void kn_z2_moments_clear(kn_z2_moments *s);
void kn_z2_moments_add(kn_z2_moments *s, kn_mat z); /* add responses: n x any; NaN: missing */

double kn_z2_moments_kurt(const kn_z2_moments *s);     /* 0.5 without values */
double kn_effective_responses(const kn_z2_moments *s); /* T_sq; 1 without values */

#endif
