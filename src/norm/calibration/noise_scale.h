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
 * internal.h); given the prior, each response is fitted by itself. A response without values,
 * or with z0 = 0 everywhere, does not enter the prior; its b_j is NaN and its beta_j is mu. n
 * F^2 flops and n exponentials per step. */
#ifndef KN_NORM_CALIBRATION_NOISE_SCALE_H
#define KN_NORM_CALIBRATION_NOISE_SCALE_H

#include <stdbool.h>

#include "base/matrix.h"

typedef struct kn_noise_scale_penalty { /* sum_f weight_f (beta_f - mu_f)^2/2 */
    double *mu, *weight;                /* F each */
} kn_noise_scale_penalty;

/* Doubles of work that kn_noise_scale_newton() needs for n rows and F columns. */
ptrdiff_t kn_noise_scale_work(ptrdiff_t n, ptrdiff_t F);

/* Fit ln(noise scale) = D beta for one response by Newton's method: minimises sum_i (eta + z0^2
 * exp(-eta))/2 plus the penalty over beta (F). D: n x F; z0 (n): standardised residuals, NaN:
 * missing; work: kn_noise_scale_work() doubles. Returns the minimum; NaN, with beta unchanged,
 * without values or if all are 0. */
double kn_noise_scale_newton(kn_mat D, const double *z0, const kn_noise_scale_penalty *penalty,
                             double *work, double *beta);

/* Prior of beta_j over responses; symbols as above. */
typedef struct kn_noise_scale_prior {
    ptrdiff_t F;
    double kurt, T_sq;
    double *S, *mu, *v; /* F each */
    double *weight;     /* F: 2/(kurt v_f) */
} kn_noise_scale_prior;

/* Allocate a prior of the F coefficients of the noise scale, with kurt = 2 and T_sq = 1; release it
 * with kn_noise_scale_prior_clear(). KN_ERR_MEMORY. */
kn_status kn_noise_scale_prior_init(kn_ctx *ctx, ptrdiff_t F, kn_noise_scale_prior *prior);
void kn_noise_scale_prior_clear(kn_noise_scale_prior *prior);

/* Fit the prior of the noise-scale coefficients over responses to the residuals z0 (n x T; NaN:
 * missing) of a subsample; prior->kurt and T_sq must be set. D: n x F. b (F x T) receives the
 * coefficients of each response without prior. */
kn_status kn_noise_scale_prior_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, kn_mat b,
                                   kn_noise_scale_prior *prior);

/* Coefficients beta (F x count) of the noise scale of a block of responses with residuals z0 (n x
 * count), under the prior; responses run in parallel. */
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

/* Doubles of work that kn_noise_scale_refit() needs for n rows, F columns and `folds` folds. */
ptrdiff_t kn_noise_scale_refit_work(ptrdiff_t n, ptrdiff_t F, int folds);

/* Coefficients of the noise scale of one response without each fold in turn (out: F x folds): one
 * Newton step from beta, the fit to all participants, under a prior fitted without the fold. All
 * folds together cost one evaluation. work: kn_noise_scale_refit_work() doubles. */
void kn_noise_scale_refit(kn_mat D, const double *z0, const kn_noise_scale_folds *rows,
                          const double *beta, double *work, kn_mat out);

/* The subsample of responses that the priors are fitted to. */
typedef struct kn_noise_scale_sample {
    kn_mat D, z0, b; /* n x F, n x T, F x T (b_j of all participants) */
    kn_mat spread;   /* folds x T, of each response; none: 1 */
} kn_noise_scale_sample;

/* Fit the priors of the noise-scale coefficients without each fold (priors: one per fold), with one
 * Newton step per response and fold from the coefficients of all participants, sample->b. On entry
 * kurt and T_sq of the priors are set. */
kn_status kn_noise_scale_priors_without(kn_ctx *ctx, const kn_noise_scale_sample *sample,
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

/* ---- noise_scale_columns.c -------------------------------------------------------------------
 *
 * Columns of the noise-scale design: the logarithm of the noise variance is linear in them
 * [METHOD 8c].
 *
 *     D = [1 | t, t^2 of each numeric covariate | (second level) - 1/2 of each two-level category]
 *
 * t is standardised by the training sample (divisor N) and clipped to the training range; t^2 is
 * included on request if training has 5 different values or more. The training mean is
 * subtracted from every column but the first. A column that is constant in training, or a linear
 * combination of columns before it, is not included. A missing number or level counts as the
 * training mean. */

typedef enum kn_noise_scale_kind { /* stored in model files: never renumbered */
                                   KN_SCALE_ONE = 0,
                                   KN_SCALE_LINE = 1,
                                   KN_SCALE_SQUARE = 2,
                                   KN_SCALE_LEVEL = 3
} kn_noise_scale_kind;

typedef struct kn_noise_scale_column {
    kn_noise_scale_kind kind;
    ptrdiff_t source; /* column of the numeric or of the level matrix; -1 for ONE */
    double mean, sd;  /* t = (x - mean)/sd; 0 and 1 for a level */
    double low, high; /* training range, to which x is clipped */
    double centre;    /* training mean of the column, which is subtracted */
} kn_noise_scale_column;

typedef struct kn_noise_scale_columns {
    ptrdiff_t F;
    kn_noise_scale_column *column;
} kn_noise_scale_columns;

/* same participants in both; either may have no columns */
typedef struct kn_noise_scale_covariates {
    kn_mat numeric; /* n x C, original units; NaN: missing */
    kn_mat level;   /* n x L: 0 the first level, 1 the second, NaN: missing */
} kn_noise_scale_covariates;

/* Choose the columns of the noise scale from the covariates of the training sample: constant,
 * numbers, with `quadratic` their squares, and two-level categories; dependent ones are left out.
 * out is owned by the caller. */
kn_status kn_noise_scale_columns_new(kn_ctx *ctx, const kn_noise_scale_covariates *training,
                                     bool quadratic, kn_noise_scale_columns *out);
void kn_noise_scale_columns_clear(kn_noise_scale_columns *columns);

/* Compute the columns D (n x F) of the noise scale for the covariates of n participants. */
void kn_noise_scale_columns_apply(const kn_noise_scale_columns *columns,
                                  const kn_noise_scale_covariates *covariates, kn_mat D);

#endif
