/* The site prior: how far the responses of sites lie from a prediction without site effect, and how
 * much their noise differs; from held-out residuals e of such a prediction [METHOD 8e].
 * learn_site_prior.h estimates it from maps, adapt_site.h applies it to a new site.
 *
 * For response j, n_s values in site s with mean ebar_s, N values in S sites:
 *
 *     w    = sum_s sum_{i in s} (e_i - ebar_s)^2 / (N - S)
 *     tau2 = max(0, (Q - (S-1) w)/(N - sum n_s^2/N)),     Q = sum_s n_s (ebar_s - ebar)^2
 *     mu   = sum_s g ebar_s / sum_s g,                    g = 1/(tau2 + w/n_s)
 *     tau2* = max((10 mean(tau2) w/mean(w) + (S-1) tau2)/(10 + S - 1), .001 w)
 *
 * with means over responses. Over all responses, with u = (e - ebar_s)/sqrt(w) and V_s the
 * variance within site s (divisor n_s - 1):
 *
 *     kurt = mean u^4/(mean u^2)^2 - 1
 *     L_sj = ln(V_sj/w_j) + kurt/(2 (n_sj - 1)),  n_sj >= 8;    a_s = mean_j L_sj
 *     v_a  = max(var_s a_s - mean_s f_s/T_eff, .001),             f_s = mean_j kurt/(n_sj - 1)
 *     v_b  = max(mean_s mean_j (L_sj - a_s)^2 - mean_s f_s (1 - 1/T_eff), .001)
 *
 * Offsets come from e unchanged, scales from e exp(-eta/2) if the noise depends on covariates.
 * Missing cells are left out of every sum and count, so n, N, S are each response's own. */
#ifndef KN_NORM_SITES_SITE_PRIOR_H
#define KN_NORM_SITES_SITE_PRIOR_H

#include "base/matrix.h"
#include "base/memory/plan.h"

typedef struct kn_sites { /* standardised units */
    ptrdiff_t T;          /* 0: there is no site prior */
    int S;                /* sites with any value */
    /* tau2, mu, S1 are estimates. false: they are assumed, because there is one site;
     * participants of other sites are then not scored without controls */
    bool between;
    double S1;   /* S - 1: weight of the prior against the data of a new site */
    double kurt; /* kurtosis parameter of scaled residuals */
    /* effective number of independent responses: of unscaled residuals ... */
    double T_eff_offset;
    double T_eff_scale; /* ... and scaled */
    /* variance of ln noise over sites: the part that a site's responses share, and the rest */
    double v_a, v_b;
    /* T: mean of the sites' offsets; their variance tau2* */
    double *mu, *tau2;
    /* T: variance within sites; the same of scaled residuals */
    double *w, *w_scale;
} kn_sites;

/* Allocate an empty site prior for T responses; out is owned by the caller (kn_sites_clear).
 * KN_ERR_MEMORY. */
kn_status kn_sites_new(kn_ctx *ctx, ptrdiff_t T, kn_sites *out);
/* Free the arrays; {0} is allowed. */
void kn_sites_clear(kn_sites *s);

/* Site of each participant. */
typedef struct kn_site_assignment {
    ptrdiff_t n;
    const int *site; /* n: 0 .. S-1; -1: no site, skipped everywhere */
    int S;
} kn_site_assignment;

/* Sums per site for one response: number of values, mean, and sum of squares about it; S each. */
typedef struct kn_site_sums_of_response {
    double *count, *mean, *square;
} kn_site_sums_of_response;

typedef struct kn_site_moments { /* of one response */
    double N, S;                 /* values, and sites with any */
    /* Variance within sites; if no site has two values, the variance about the common mean,
     * which is too large; NaN: fewer than two values. */
    double w;
    double tau2;   /* not shrunk; NaN: one site, or no site with two values */
    double mu;     /* 0 for one site */
    double u2, u4; /* sums of u^2, u^4; 0 if w is 0 or not from within sites */
} kn_site_moments;

/* Moments of one response from residuals e (n; NaN: missing). sums (S each) receives the sums per
 * site, within (n) the differences e - ebar_s, NaN if missing or without site. O(n + S). */
kn_site_moments kn_site_moments_of(const kn_site_assignment *sites, const double *e,
                                   const kn_site_sums_of_response *sums, double *within);

/* Number of doubles in the array that kn_site_sums_add() fills, for S sites. */
ptrdiff_t kn_site_sums(int S);

/* Add one response to the sums over responses of the site prior, kn_site_sums(S) doubles; such
 * arrays may be added to each other. offset, scale: its moments by unscaled and scaled residuals.
 * ln_ratio (S): ln(V_s/w) of each site, NaN: none; count (S): values of each site. */
void kn_site_sums_add(double *sums, int S, const kn_site_moments *offset,
                      const kn_site_moments *scale, const double *ln_ratio, const double *count);

/* ln_ratio (S): ln(V_s/w), the logarithm of the variance within site s relative to w; NaN for sites
 * with fewer than 8 values or without variance. */
void kn_site_ln_ratio(const kn_site_sums_of_response *sums, int S, double w, double *ln_ratio);

/* Effective number of independent responses among T, by the mean square of their correlations,
 * from t of them drawn at random:
 *
 *     T_eff = 1/max(mean r^2 - chance, 1/T), clamped to [1, T]
 *     mean r^2 over all T^2 pairs = (1 + (T-1) (|Z Z'|_F^2 - t)/(t (t-1)))/T     Z: norm 1 columns
 *     chance = sum_i (mean_j o_ij/sqrt(N_j (N_j - S_j)))^2,   o_ij = 1 where observed
 *
 * With t = T that is |Z Z'|_F^2/T^2 and, when nothing is missing, chance = 1/(N - S). A
 * response's correlation with itself is 1 of T, not 1 of t: with |Z Z'|_F^2/t^2 the estimate
 * could never exceed t. within: n x t, e - ebar_s, NaN: missing; overwritten. dof: t, N_j - S_j;
 * 0: response is skipped. 2 n t min(n, t) flops, a matrix of min(n, t)^2. */
kn_status kn_site_T_eff(kn_ctx *ctx, kn_mat within, const double *dof, ptrdiff_t T, double *T_eff);

/* Add to the memory plan r what kn_site_T_eff() allocates temporarily for n participants and t
 * responses. */
void kn_site_T_eff_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t t);

/* Complete the site prior (distribution of site effects) from the sums over all responses. On entry
 * T_eff of both kinds is set, and mu, tau2, w, w_scale hold the moments of each response. sites
 * (T): number of sites with a value of each response. KN_ERR_DATA: no values at all. */
kn_status kn_sites_finish(kn_ctx *ctx, const double *sums, int S, const double *sites,
                          kn_sites *out);

#endif
