/* Noise variance that depends on covariates: noise_j exp(eta_j(x)), eta = D beta_j [METHOD 8c].
 *
 *     b_j    = argmin sum_i (eta + z0^2 e^-eta)/2 + 1e-6 |b|^2/2
 *     S_f    = kurt [(D'D)^-1]_ff n/n_j, averaged over the responses
 *     mu_f   = mean_j b_jf, for f > 0 times max(0, 1 - S_f/(T_sq mu_f^2))
 *     v_f    = max(var_j b_jf - S_f (1 - 1/T_sq), .02 S_f)
 *     beta_j = argmin sum_i (eta + z0^2 e^-eta)/2 + sum_f (beta_f - mu_f)^2/(kurt v_f)
 *
 * Convex: Newton from (ln mean z0^2, 0 ..), steps limited to 1 and halved until the value falls.
 * The prior comes from a sample of responses in memory (kurt, T_sq: squares.h); with it each
 * response stands alone. A response without values, or with z0 = 0 everywhere, has no part in the
 * prior; its b_j is NaN and its beta_j is mu. n F^2 flops and n exponentials a step. */
#ifndef KN_NORM_CALIBRATION_NOISE_SCALE_H
#define KN_NORM_CALIBRATION_NOISE_SCALE_H

#include "base/matrix.h"

typedef struct kn_noise_scale_penalty { /* sum_f weight_f (beta_f - mu_f)^2/2 */
    double *mu, *weight;                /* F each */
} kn_noise_scale_penalty;

/* One response: z0 of the n rows of D (n x F), NaN where missing. work: kn_noise_scale_work(n, F)
 * doubles. Returns the value of the minimum; NaN, and beta untouched, where there is none. */
ptrdiff_t kn_noise_scale_work(ptrdiff_t n, ptrdiff_t F);
double kn_noise_scale_newton(kn_mat D, const double *z0, const kn_noise_scale_penalty *penalty,
                             double *work, double *beta);

typedef struct kn_noise_scale_prior {
    ptrdiff_t F;
    double kurt, T_sq;
    double *S, *mu, *v; /* F each */
    double *weight;     /* F: 2/(kurt v_f) */
} kn_noise_scale_prior;

kn_status kn_noise_scale_prior_init(kn_ctx *ctx, ptrdiff_t F, kn_noise_scale_prior *prior);
void kn_noise_scale_prior_clear(kn_noise_scale_prior *prior);

/* From a sample z0 (n x T, NaN where missing) with prior->kurt and T_sq set. b: F x T, the b_j. */
kn_status kn_noise_scale_prior_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, kn_mat b,
                                   kn_noise_scale_prior *prior);

/* beta (F x count) of a block of responses. In parallel. */
kn_status kn_noise_scale_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, const kn_noise_scale_prior *prior,
                             kn_mat beta);

/* beta of one response without each fold in turn: one Newton step from beta, the fit to everybody,
 * with a prior made without the fold (kn_noise_scale_prior_fit with its rows of D and z0 left out).
 * All folds together cost one evaluation. work: kn_noise_scale_refit_work doubles; out: F x folds.
 */
typedef struct kn_noise_scale_folds {
    const int *fold; /* of each row, 0 .. folds-1 */
    int folds;
    const kn_noise_scale_prior *prior; /* folds of them */
    const double *spread; /* folds: without a fold z0 of the others are so many times as
                           * large; NULL: as they are */
} kn_noise_scale_folds;
ptrdiff_t kn_noise_scale_refit_work(ptrdiff_t n, ptrdiff_t F, int folds);
void kn_noise_scale_refit(kn_mat D, const double *z0, const kn_noise_scale_folds *rows,
                          const double *beta, double *work, kn_mat out);

typedef struct kn_noise_scale_sample {
    kn_mat D, z0, b; /* n x F, n x T, F x T */
    kn_mat spread;
} kn_noise_scale_sample;

/* The priors without each fold, from b, the b_j of everybody (F x T, of kn_noise_scale_prior_fit):
 * each b_j without a fold is one Newton step from it. kurt and T_sq of priors, which are
 * rows->prior, are set; the rest is made. spread: folds x T, that of each response; or none. */
kn_status kn_noise_scale_priors_without(kn_ctx *ctx, const kn_noise_scale_sample *of,
                                        const kn_noise_scale_folds *rows,
                                        kn_noise_scale_prior *priors);

/* The batch term, common to all responses. Of level s: z2_s = sum of z1^2, cells_s how many, n_s
 * people; kurt and T_sq of z1.
 *     a_s = ln z2_s/cells_s,  q_s = kurt/(n_s T_sq),  weights n_s/N
 *     v_a = max(weighted var a_s - weighted mean q_s, 1e-4),  term_s = a_s v_a/(v_a + q_s)
 * A level without people or values: 0. Returns v_a. */
typedef struct kn_noise_scale_level {
    double z2, cells, n;
} kn_noise_scale_level;
double kn_noise_scale_batch(ptrdiff_t S, const kn_noise_scale_level *level, double kurt,
                            double T_sq, double *term);

#endif
