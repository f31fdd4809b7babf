/* A site that training did not have, by its healthy controls                          [METHOD 8e]
 *
 * Residuals r of n_j controls from the prediction that knows no site, m_j = mean r - mu_j:
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
 * T_eff is of the residuals in question and at most the number of responses that a mean is over.
 * Responses with fewer than 5 controls do not say how responses differ: v is by the others, and v_b
 * where there are not two such.
 *
 * A response without any control is the limit n_j -> 0: offset mu_j, variance kappa tau2*_j. One
 * with fewer than 3, or whose controls do not vary, is the limit f_j -> infinity, k_b = 0: what the
 * site's other responses say, scale_j = exp(k_a a + (v_a (1 - k_a) + v)/2). Where no response has
 * 3, nothing is known of the site's noise, and scale_j = 1. */
#ifndef KN_NORM_SITES_ADAPT_H
#define KN_NORM_SITES_ADAPT_H

#include "norm/sites/prior.h"

/* What deserves a warning: fewer controls (which do not say v either), a kappa above, a factor
 * above or below its inverse. */
#define KN_SITE_FEW    5
#define KN_SITE_KAPPA  4.0
#define KN_SITE_FACTOR 2.0

typedef struct kn_site_adapted { /* standardised units */
    ptrdiff_t T;
    double kappa;                /* how far off the site is: 1 as sites are, above: more */
    double factor;               /* exp(k_a a): of the noise of all its responses */
    double *n;                   /* T  controls with a value */
    double *raw_offset;          /* T  their mean residual; NaN: none */
    double *shrink;              /* T  how much of it counts */
    double *offset, *offset_var; /* T  to be taken from residuals; what it adds to their variance */
    double *scale;               /* T  to be multiplied with noise_j */
} kn_site_adapted;

kn_status kn_site_adapted_new(kn_ctx *ctx, ptrdiff_t T, kn_site_adapted *out);
void kn_site_adapted_clear(kn_site_adapted *a); /* {0} is fine */

/* Response j: residuals of n controls as they are and scaled (may be the same); NaN: missing.
 * Responses may be taken in any order and at the same time. row: of these residuals, whose the
 * controls of the site are; NULL: the first n. */
typedef struct kn_site_controls {
    ptrdiff_t n;
    const ptrdiff_t *row;
} kn_site_controls;
void kn_site_adapted_take(kn_site_adapted *a, ptrdiff_t j, kn_site_controls of, const double *r,
                          const double *scaled);

/* Once all T responses have been taken. O(T), no memory. */
void kn_site_adapted_finish(const kn_sites *prior, kn_site_adapted *a);

#endif
