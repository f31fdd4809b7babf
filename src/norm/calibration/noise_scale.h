/* Fits a noise variance that depends on covariates: noise_j exp(eta_j(x)), eta = D beta_j
 * [METHOD 8c].
 *
 *     b_j    = argmin sum_i (eta + z0^2 e^-eta)/2 + 1e-6 |b|^2/2
 *     S_f    = kurt [(D'D)^-1]_ff n/n_j, averaged over the responses
 *     mu_f   = mean_j b_jf, for f > 0 times max(0, 1 - S_f/(T_sq mu_f^2))
 *     v_f    = max(var_j b_jf - S_f (1 - 1/T_sq), .02 S_f)
 *     beta_j = argmin sum_i (eta + z0^2 e^-eta)/2 + sum_f (beta_f - mu_f)^2/(kurt v_f)
 *
 * Both problems are convex: Newton from (ln mean z0^2, 0 ..), steps limited to 1 and halved
 * until the value falls. The prior comes from a subsample of responses in memory (kurt, T_sq:
 * z2_moments.h); given the prior, each response is fitted by itself. A response without values,
 * or with z0 = 0 everywhere, does not enter the prior; its b_j is NaN and its beta_j is mu. n
 * F^2 flops and n exponentials per step. */
#ifndef KN_NORM_CALIBRATION_NOISE_SCALE_H
#define KN_NORM_CALIBRATION_NOISE_SCALE_H

#include "base/matrix.h"

typedef struct kn_noise_scale_penalty { /* sum_f weight_f (beta_f - mu_f)^2/2 */
    double *mu, *weight;                /* F each */
} kn_noise_scale_penalty;

/* Doubles of work for n rows and F columns. */
ptrdiff_t kn_noise_scale_work(ptrdiff_t n, ptrdiff_t F);
/* Fit one response by Newton: z0 of the n rows of D (n x F), NaN where missing. work:
 * kn_noise_scale_work(n, F) doubles. Returns the value at the minimum; NaN, with beta untouched,
 * if the response has no values or all z0 are 0. */
double kn_noise_scale_newton(kn_mat D, const double *z0, const kn_noise_scale_penalty *penalty,
                             double *work, double *beta);

/* Prior of beta_j over responses; symbols as above. */
typedef struct kn_noise_scale_prior {
    ptrdiff_t F;
    double kurt, T_sq;
    double *S, *mu, *v; /* F each */
    double *weight;     /* F: 2/(kurt v_f) */
} kn_noise_scale_prior;

/* Allocate the arrays, with kurt = 2 and T_sq = 1; release them with
 * kn_noise_scale_prior_clear(). */
kn_status kn_noise_scale_prior_init(kn_ctx *ctx, ptrdiff_t F, kn_noise_scale_prior *prior);
void kn_noise_scale_prior_clear(kn_noise_scale_prior *prior);

/* Fit the prior to a subsample z0 (n x T, NaN where missing); prior->kurt and T_sq must be set.
 * b (F x T) receives the b_j. */
kn_status kn_noise_scale_prior_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, kn_mat b,
                                   kn_noise_scale_prior *prior);

/* beta (F x count) of a block of responses with z0 (n x count), in parallel. */
kn_status kn_noise_scale_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, const kn_noise_scale_prior *prior,
                             kn_mat beta);

/* Folds of the rows, and the prior without each fold. */
typedef struct kn_noise_scale_folds {
    const int *fold; /* fold of each row, 0 .. folds-1 */
    int folds;
    const kn_noise_scale_prior *prior; /* one for each fold */
    const double
        *spread; /* folds: factor of the z0 of the other folds (kn_learner_spread); NULL: 1 */
} kn_noise_scale_folds;
/* Doubles of work for kn_noise_scale_refit(). */
ptrdiff_t kn_noise_scale_refit_work(ptrdiff_t n, ptrdiff_t F, int folds);
/* beta of one response without each fold in turn (out: F x folds): one Newton step from beta,
 * the fit to all participants, under a prior that was fitted without the fold. All folds
 * together cost one evaluation. */
void kn_noise_scale_refit(kn_mat D, const double *z0, const kn_noise_scale_folds *rows,
                          const double *beta, double *work, kn_mat out);

/* The subsample of responses that the priors are fitted to. */
typedef struct kn_noise_scale_sample {
    kn_mat D, z0, b; /* n x F, n x T, F x T (b_j of all participants) */
    kn_mat spread;   /* folds x T, of each response; none: 1 */
} kn_noise_scale_sample;

/* Fit the priors without each fold. Each b_j without a fold is one Newton step from of->b, the
 * result of kn_noise_scale_prior_fit() for all participants. On entry kurt and T_sq of `priors`,
 * which is the array rows->prior, are set; the rest is filled in. */
kn_status kn_noise_scale_priors_without(kn_ctx *ctx, const kn_noise_scale_sample *of,
                                        const kn_noise_scale_folds *rows,
                                        kn_noise_scale_prior *priors);

/* Sums of one site: z2 = sum of z1^2, cells their number, n participants. */
typedef struct kn_noise_scale_level {
    double z2, cells, n;
} kn_noise_scale_level;
/* Site term of the noise, common to all responses; kurt and T_sq of z1.
 *     a_s = ln z2_s/cells_s,  q_s = kurt/(n_s T_sq),  weights n_s/N
 *     v_a = max(weighted var a_s - weighted mean q_s, 1e-4),  term_s = a_s v_a/(v_a + q_s)
 * term (S) is 0 for a site without participants or values. Returns v_a. */
double kn_noise_scale_batch(ptrdiff_t S, const kn_noise_scale_level *level, double kurt,
                            double T_sq, double *term);

#endif
