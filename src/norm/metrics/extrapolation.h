/* Extrapolation ratio: how far the covariates of a participant are from the training sample, as
 * seen by the model [METHOD 8b]
 *
 *     ratio_i = mean_j(v_ij / sd_j^2) / mean_j(noise_j / sd_j^2)
 *
 * v is the model variance without R's iso term (commands/score/extrapolation.h says at which
 * covariates), sd the training sd. Far from training the model variance grows and hides
 * deviation in every z, so a large ratio means that a small z is no evidence of normality. */
#ifndef KN_NORM_METRICS_EXTRAPOLATION_H
#define KN_NORM_METRICS_EXTRAPOLATION_H

#include "base/matrix.h"

#define KN_EXTRAPOLATION_WARN 99.0 /* percentile of the reference above which to warn */

/* Add a block of responses to the sums of the extrapolation ratio, standardised units. v (N* x
 * count): model variances including the iso term of R, which is iso (count); noise (count). model
 * (N*) and *noise_sum start at 0. */
void kn_extrapolation_add(kn_mat v, const double *iso, const double *noise, double *model,
                          double *noise_sum);

/* Turn the sums model (n) into ratios model[i]/noise_sum, in place. Both are sums over the same
 * responses, so their counts cancel. NaN if the noise sums to 0. */
void kn_extrapolation_ratio(double *model, ptrdiff_t n, double noise_sum);

/* Percentile of value among n reference ratios in ascending order: 100 (#{ref < value} + 1/2 #{ref
 * = value})/n. NaN without a reference or a value. */
double kn_percentile(const double *sorted, ptrdiff_t n, double value);

#endif
