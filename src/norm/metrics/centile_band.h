/* How well a centile is known                                                        [METHOD 8f]
 *
 *     value     = mean + sqrt(V) t                        t of the centile,
 * norm/calibration/transform_inverse.h variance  = J + t^2 noise kurt/(4 n)                J: of
 * the mean; the rest: of sqrt(noise) J         = (K - 1)/K sum_f (mean_f - mean of them)^2       K
 * fits, each without a fold kurt      = E zt^4 - 1, by the nodes of the response's law; 2 without a
 * shape
 *
 * The sd of n values with kurtosis kurt + 1 has variance noise kurt/(4 n). */
#ifndef KN_NORM_METRICS_CENTILE_BAND_H
#define KN_NORM_METRICS_CENTILE_BAND_H

#include "base/matrix.h"
#include "stats/shash.h"

#define KN_BAND_NORMAL 1.959963984540054 /* half a band in standard errors: 95 % */

/* nodes: of the layer; law NULL: no shape. Held to n, as n values cannot have more. */
double kn_band_kurt(const kn_shash_nodes *nodes, const kn_shash *law, double n);

typedef struct kn_band_parts {
    double J, t, noise, kurt, n;
} kn_band_parts;
double kn_band_half(const kn_band_parts *b); /* half its width; NaN where a part is */

/* Fits one after the other: mean (a x b) is the mean of those so far, spread the sum of squares
 * about it; `count` how many there are with this one. In the end J = spread (K - 1)/K. */
void kn_band_fold(kn_mat mean, kn_mat spread, kn_mat fold, int count);
void kn_band_jackknife(kn_mat spread, int K);

#endif
