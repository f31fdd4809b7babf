/* Maximum-likelihood fit of the generalised extreme value (GEV) distribution          [METHOD 8] */
#ifndef KN_STATS_GEV_FIT_H
#define KN_STATS_GEV_FIT_H

#include "stats/gev.h"

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
