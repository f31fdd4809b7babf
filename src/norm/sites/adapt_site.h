/* Adaptation: estimates the offset and noise scale of a site that is not in the training sample,
 * from its healthy controls [METHOD 8e]. `kronorm adapt` uses it.
 *
 * With r the residuals of n_j controls from the prediction without batch, m_j = mean r - mu_j:
 *
 *     kappa    = (S1 + T_eff max(0, mean_j m_j^2/tau2*_j - mean_j w_j/(n_j tau2*_j)))/(S1 + T_eff)
 *     shrink_j = kappa tau2*_j/(kappa tau2*_j + w_j/n_j)
 *     offset_j = mu_j + shrink_j m_j,   its variance shrink_j w_j/n_j
 *
 * and V_j the variance (n_j - 1) of r exp(-eta/2), from 3 controls on:
 *
 *     f_j = kurt/(n_j - 1),   L_j = ln(V_j/w_j) + f_j/2,   a = mean_j L_j,   f = mean_j f_j
 *     v   = (S1 v_b + T_eff max(0, var_j L_j - f (1 - 1/T_eff)))/(S1 + T_eff),  n_j >= 5
 *     k_a = v_a/(v_a + f/T_eff),   k_b = v/(v + f_j)
 *     scale_j = exp(k_a a + k_b (L_j - a) + (v_a (1 - k_a) + v (1 - k_b))/2)
 *
 * T_eff is that of offsets or of scales, and at most the number of responses in the mean.
 * Responses with fewer than 5 controls do not enter v; with fewer than two other responses v =
 * v_b.
 *
 * The effect that is printed is robust, since a few responses in other units must not speak for
 * all: with t_j = m_j^2/(tau2*_j + w_j/n_j) and rho = mean_j w_j/(n_j tau2*_j),
 *
 *     effect^2 = (S1 + T_eff max(0, (1 + rho) median_j t_j/.4549 - rho))/(S1 + T_eff)
 *
 * .4549 is the median of chi^2_1. A broken response, which has one value for all controls, counts
 * as one without any control.
 *
 * A response without any control is the limit n_j -> 0: offset mu_j, variance kappa tau2*_j. A
 * response with fewer than 3 controls, or whose controls do not vary, is the limit f_j ->
 * infinity, k_b = 0: it takes the scale of the site's other responses, scale_j = exp(k_a a +
 * (v_a (1 - k_a) + v)/2). If no response has 3 controls, scale_j = 1 for all. */
#ifndef KN_NORM_SITES_ADAPT_SITE_H
#define KN_NORM_SITES_ADAPT_SITE_H

#include "norm/sites/site_prior.h"

/* Limits for a warning: fewer controls than KN_SITE_FEW (which also do not enter v), effect above
 * KN_SITE_EFFECT, factor above KN_SITE_FACTOR or below its inverse. */
#define KN_SITE_FEW    5
#define KN_SITE_EFFECT 2.0
#define KN_SITE_FACTOR 2.0

typedef struct kn_site_adapted { /* standardised units */
    ptrdiff_t T;
    double kappa;       /* how unusual the site is among sites: 1 typical, larger: further off */
    double effect;      /* the same over the median response, as a standard deviation */
    double factor;      /* exp(k_a a): noise scale that all its responses share */
    double *n;          /* T: controls with a value */
    double *raw_offset; /* T: their mean residual; NaN: no control */
    double *shrink;     /* T: shrinkage of the offset, 0 to 1 */
    double *offset, *offset_var; /* T: to subtract from residuals; to add to their variance */
    double *scale;               /* T: factor of noise_j */
    double *broken;              /* T: 1: all controls have one value; else 0 */
} kn_site_adapted;

/* Allocate the estimate of one new site for T responses, before any control; out is owned by the
 * caller. KN_ERR_MEMORY. */
kn_status kn_site_adapted_new(kn_ctx *ctx, ptrdiff_t T, kn_site_adapted *out);
/* Free the arrays; {0} is allowed. */
void kn_site_adapted_clear(kn_site_adapted *a);

/* Which residuals belong to the controls: n rows; row NULL: the first n. */
typedef struct kn_site_controls {
    ptrdiff_t n;
    const ptrdiff_t *row;
} kn_site_controls;

/* Add response j: residuals r of the controls, standardised units, and the same scaled by
 * exp(-eta/2) (may be the same array); NaN: missing. Different responses may be added in any order
 * and in parallel. */
void kn_site_adapted_add(kn_site_adapted *a, ptrdiff_t j, kn_site_controls controls,
                         const double *r, const double *scaled);

/* Mark response j as broken (one value in all controls): it is treated as one without any control.
 * Called instead of kn_site_adapted_add(). */
void kn_site_adapted_break(kn_site_adapted *a, ptrdiff_t j);

/* Estimate the effect of a new site (how unusual it is, offset and noise scale per response) after
 * all T responses have been added, shrunk to the prior of training sites. O(T), cannot fail. */
void kn_site_adapted_finish(const kn_sites *prior, kn_site_adapted *a);

#endif
