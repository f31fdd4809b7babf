/* The generalised extreme value (GEV) distribution [METHOD 8]
 *
 *     F(x) = exp(-e^-L),   L = ln(1 + xi u) / xi  (u when xi = 0),   u = (x - mu) / sigma
 *
 * xi > 0: heavy upper tail, bounded below; xi < 0: bounded above at mu - sigma/xi; xi = 0: Gumbel.
 * Some libraries call -xi the shape (scipy's c). */
#ifndef KN_STATS_GEV_H
#define KN_STATS_GEV_H

#include <stdbool.h>

#include "base/context.h"

typedef struct kn_gev {
    double xi, mu, sigma; /* shape, location, scale > 0 */
} kn_gev;

/* Outside the support: density 0, log density -inf, cdf 0 or 1. NaN gives NaN. No formula subtracts
 * nearly equal numbers: both tails have full relative accuracy, also near xi = 0. */
double kn_gev_log_pdf(kn_gev g, double x);
double kn_gev_pdf(kn_gev g, double x);
double kn_gev_cdf(kn_gev g, double x);
double kn_gev_upper(kn_gev g, double x);          /* 1 - cdf without cancellation */
double kn_gev_quantile(kn_gev g, double p);       /* x with cdf(x) = p; NaN for p outside [0, 1] */
double kn_gev_quantile_upper(kn_gev g, double p); /* x with 1 - cdf(x) = p */

#endif
