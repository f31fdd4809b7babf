/* Steps of the calibration's learner that only norm/calibration uses: the moments of z^2, the
 * choice of the structure, and the noise of each site. What other folders call is in
 * calibration_transform.h, learner.h, learn_subsample.h, shash_fit.h and calibration_check.h. */
#ifndef KN_NORM_CALIBRATION_INTERNAL_H
#define KN_NORM_CALIBRATION_INTERNAL_H

#include "base/matrix.h"
#include "norm/calibration/learner.h"

/* ---- z2_moments.c ----------------------------------------------------------------------------
 *
 * Moments of squared z-scores: within a response and over the map [METHOD 8c].
 *
 *     kurt = max(mean z^4/(mean z^2)^2 - 1, .5)                        over all cells
 *     T_sq = mean_j var_i(z_ij^2) / var_i(mean_j z_ij^2), clamped to [1, T]
 *
 * var divides by the count. T_sq is the number of independent responses that the mean square of
 * a map is worth. Missing cells are left out of every sum and count; a response or a participant
 * without any value is skipped. O(N) memory, O(N T) time. */

typedef struct kn_z2_moments {
    ptrdiff_t n;          /* participants */
    double *sum, *count;  /* n: sum of z^2 over the responses, and their number */
    double T, var;        /* responses with a value, and the sum of their variances of z^2 */
    double cells, z2, z4; /* number of values, sums of z^2 and z^4 over all cells */
} kn_z2_moments;

/* Start the sums of squared z-scores of n participants; release them with kn_z2_moments_clear().
 * KN_ERR_MEMORY. */
kn_status kn_z2_moments_init(kn_ctx *ctx, ptrdiff_t n, kn_z2_moments *s);
void kn_z2_moments_clear(kn_z2_moments *s);

/* Add the squared z-scores of a block of responses, z (n x any number; NaN: missing), to the
 * moments. */
void kn_z2_moments_add(kn_z2_moments *s, kn_mat z);

/* Kurtosis parameter of z over all cells, mean z^4/(mean z^2)^2 - 1, at least 0.5; 0.5 without
 * values. */
double kn_z2_moments_kurt(const kn_z2_moments *s);

/* Number of independent responses that the mean square of a z map is worth, 1 to T; 1 without
 * values. */
double kn_effective_responses(const kn_z2_moments *s);

/* ---- learn_structure.c -----------------------------------------------------------------------
 *
 * Internal interface of the calibration learner. learn_structure.c chooses the components and
 * fits the priors that responses share, on a subsample of responses; learner.c then fits one
 * response after the other. kn_learner_choose() (learner.h) is Collective. */

/* Copy n values from the order of the data to fold order, in which the participants of a fold are
 * contiguous. */
void kn_learner_in_order(const kn_learner *l, const double *from, double *out);

/* noise (n): leave-one-out noise variance of column j of block b for each participant, standardised
 * units, in the order of the data. Without job.noise and job.mean_square the noise variance of all
 * participants. sums: 3 n doubles of work. */
void kn_learner_loo_noise(const kn_learner *l, const kn_block *b, ptrdiff_t j,
                          kn_heldout_residuals residuals, double *sums, double *noise);

/* factor (n, fold order) = exp(D beta + site term): noise factor of each participant, with the
 * column of beta (F x folds) that was estimated without its fold. D: n x F. */
void kn_learner_factors(const kn_learner *l, kn_mat D, kn_mat beta, double *factor);

/* spread (folds): the factor by which the z-scores of the other folds grow if a fold is excluded
 * from the noise variance, (mean e^2 of all / mean e^2 of the others)^1/2. e (n, fold order):
 * residuals. Without it one outlier would shrink the z of all other participants. */
void kn_learner_spread(const kn_learner *l, const double *e, double *spread);

/* Copy the z-scores z1 of the participants outside fold f (-1: all), times `spread` and after the
 * Student step, to zt. Missing values are skipped. Returns their number. */
ptrdiff_t kn_learner_training_z(const kn_learner *l, const double *z1, int f, double spread,
                                double *zt);

/* ---- on the response subsample ---- */

/* z-score without calibration of participant i (fold order) and response j of the subsample:
 * e/sqrt(v + noise factor); NaN if that variance is not positive. */
double kn_learner_plain_z(const kn_learner *l, ptrdiff_t i, ptrdiff_t j);

/* Loss of each participant (n) over the subsample of responses: mean_j 1/2 (ln V + e^2/V), V = v +
 * noise factor. factor: n x sampled, or none: 1. */
void kn_learner_score(const kn_learner *l, kn_mat factor, double *score);

/* Mean decrease of the loss, before_i - after_i, over the participants (n) with both; *se: its
 * standard error. */
double kn_learner_gain(ptrdiff_t n, const double *before, const double *after, double *se);

/* Set out->kurt and out->T_sq, the kurtosis and the effective number of responses, from z (n x
 * sampled) without the participants of `fold`; -1: all. KN_ERR_MEMORY. */
kn_status kn_learner_squares(kn_ctx *ctx, const kn_learner *l, kn_mat z, int fold,
                             kn_noise_scale_prior *out);

/* ---- learn_site_noise.c ----------------------------------------------------------------------
 *
 * Noise term of each site, common to all responses, estimated from z1 of the response subsample.
 *                                                                                   [METHOD 8c]
 *     term_s = a_s v_a/(v_a + q_s),  a_s = ln mean_{i in s, j} z1^2 (kn_noise_scale_batch)
 *
 * It is estimated with and without each fold; a site without participants outside a fold has
 * term 0 there. Without a fold, the z1 of the other folds are multiplied by kn_learner_spread(),
 * as for the other components. Cost: n folds flops per response. Called by kn_learner_choose(). */

/* Learn the noise term of each site, from all participants and without each fold, and multiply
 * l->factor by its exponential. The component is kept even without a gain. before (n): loss of each
 * participant without the terms. z1 (n x sampled): scratch. */
kn_status kn_learner_batch(kn_ctx *ctx, kn_learner *l, const double *before, kn_mat z1);

#endif
