/* The generalised extreme value law by maximum likelihood                            [METHOD 8] */
#ifndef KN_STATS_GEV_FIT_H
#define KN_STATS_GEV_FIT_H

#include "stats/gev.h"

typedef struct kn_gev_estimate {
    kn_gev gev;
    kn_gev se;     /* standard errors from the observed information. NaN for xi <= -1/2, where
                      the likelihood is not regular (Smith 1985, Biometrika 72) */
    double nll;    /* -ln likelihood at the estimate */
    double excess; /* Newton's estimate of how far nll is above the minimum; NaN at_bound */
    bool at_bound; /* xi = -1 or 1 held: see kn_gev_fit */
    ptrdiff_t n;
} kn_gev_estimate;

enum { KN_GEV_MIN_N = 10 };

/* Maximum likelihood from n >= KN_GEV_MIN_N finite values, not all equal (else KN_ERR_DATA).
 *
 * For xi < -1 the likelihood grows without bound as the upper end point approaches the largest
 * value, and for large xi as the lower one approaches the smallest, so its supremum means nothing.
 * The estimate is the best local maximum with xi > -1. Small samples may have none because the
 * likelihood rises all the way to one of these ends; then shape is held at xi = -1 (beyond it no
 * maximum exists: mu + sigma = max x, sigma = mean(max x - x)) or at xi = 1 (beyond it the law has
 * no mean), whichever is likelier, and at_bound is set. With so many equal values that even this
 * has no maximum: KN_ERR_NUMERIC. */
kn_status kn_gev_fit(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_gev_estimate *out);

#endif
