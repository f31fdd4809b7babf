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

/* Returns the log density at x of the generalised extreme-value distribution g; -inf outside the
 * support, NaN for NaN. No formula subtracts nearly equal numbers, also near xi = 0. */
double kn_gev_log_pdf(kn_gev g, double x);
/* Returns the density at x of g; 0 outside the support, NaN for NaN. */
double kn_gev_pdf(kn_gev g, double x);
/* Returns P(X <= x) for X ~ g; 0 or 1 outside the support, NaN for NaN. */
double kn_gev_cdf(kn_gev g, double x);
/* Returns P(X > x) for X ~ g, with full relative accuracy in the tail. */
double kn_gev_upper(kn_gev g, double x);
/* Returns x with cdf(x) = p; NaN for p outside [0, 1]. */
double kn_gev_quantile(kn_gev g, double p);
/* Returns x with 1 - cdf(x) = p; NaN for p outside [0, 1]. */
double kn_gev_quantile_upper(kn_gev g, double p);

/* ---- maximum likelihood ---------------------------------------------------------------------- */

/* Maximum-likelihood fit of the generalised extreme value (GEV) distribution          [METHOD 8] */

typedef struct kn_gev_estimate {
    kn_gev gev;
    kn_gev se;     /* standard errors from the observed information. NaN for xi <= -1/2, where
                      the likelihood is not regular (Smith 1985, Biometrika 72) */
    double nll;    /* -ln likelihood at the estimate */
    double excess; /* Newton's estimate of nll minus its minimum; NaN if at_bound */
    bool at_bound; /* xi is fixed at -1 or 1: see kn_gev_fit */
    ptrdiff_t n;
} kn_gev_estimate;

enum { KN_GEV_MIN_N = 10 };

/* Fits the distribution to x[n], n >= KN_GEV_MIN_N finite values, not all equal (else KN_ERR_DATA).
 *
 * For xi < -1 the likelihood grows without bound as the upper end point approaches the largest
 * value, and for large xi as the lower one approaches the smallest, so its supremum is useless. The
 * estimate is the best local maximum with xi > -1. If there is none, because the likelihood of few
 * values may increase up to one of these ends, the shape is fixed at xi = -1 (no maximum exists
 * below it; there mu + sigma = max x, sigma = mean(max x - x)) or at xi = 1 (above it the
 * distribution has no mean), whichever has the larger likelihood, and at_bound is set.
 * KN_ERR_NUMERIC if too many values are equal for either. */
kn_status kn_gev_fit(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_gev_estimate *out);

#endif
