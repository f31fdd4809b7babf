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

/* Add one block in standardised units: v N* x count including R's iso term, which is iso[count];
 * noise of its responses. model[N*] and *noise_sum start at 0. */
void kn_extrapolation_add(kn_mat v, const double *iso, const double *noise, double *model,
                          double *noise_sum);

/* Turn model[i] into ratio_i: both means run over the same responses, so their counts cancel.
 * NaN if the noise sums to 0. */
void kn_extrapolation_ratio(double *model, ptrdiff_t n, double noise_sum);

/* Percentile of value: 100 (#{ref < value} + 1/2 #{ref = value}) / n among n reference ratios in
 * ascending order; NaN without a reference or a value. */
double kn_percentile(const double *sorted, ptrdiff_t n, double value);

#endif
