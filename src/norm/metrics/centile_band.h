/* Confidence band of a centile: how accurately it is known [METHOD 8f]
 *
 *     value     = mean + sqrt(V) t              t of the centile: kn_calibration_inverse()
 *     variance  = J + t^2 noise kurt/(4 n)      J: of the mean; the rest: of sqrt(noise)
 *     J         = (K - 1)/K sum_f (mean_f - mean of them)^2       K fits, each without a fold
 *     kurt      = E zt^4 - 1, by the nodes of the response's distribution; 2 without a shape
 *
 * The sd of n values with kurtosis kurt + 1 has variance noise kurt/(4 n). */
#ifndef KN_NORM_METRICS_CENTILE_BAND_H
#define KN_NORM_METRICS_CENTILE_BAND_H

#include "base/matrix.h"
#include "stats/shash.h"

#define KN_BAND_NORMAL 1.959963984540054 /* half width of a 95 % band in standard errors */

/* kurt of a response. nodes: of the calibration; law NULL: no shape. Clamped to
 * [0.5, max(n, 2)], since n values cannot have more. */
double kn_band_kurt(const kn_shash_nodes *nodes, const kn_shash *law, double n);

typedef struct kn_band_parts {
    double J, t, noise, kurt, n;
} kn_band_parts;
/* Half width of the band; NaN if any input is NaN. */
double kn_band_half(const kn_band_parts *b);

/* Add one fit after the other: mean (a x b) is the mean of the fits so far, spread the sum of
 * squares about it, `count` their number including this one. kn_band_jackknife() finally turns
 * spread into J = spread (K - 1)/K. */
void kn_band_fold(kn_mat mean, kn_mat spread, kn_mat fold, int count);
void kn_band_jackknife(kn_mat spread, int K);

#endif
