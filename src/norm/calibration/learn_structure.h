/* Internal interface of the calibration learner. learn_structure.c chooses the components and
 * fits the priors that responses share, on a subsample of responses; learner.c then fits one
 * response after the other. kn_learner_choose() (learner.h) is Collective. */
#ifndef KN_NORM_CALIBRATION_LEARN_STRUCTURE_H
#define KN_NORM_CALIBRATION_LEARN_STRUCTURE_H

#include "norm/calibration/learner.h"

/* Copy n values from the order of the data to fold order (l->order). */
void kn_learner_in_order(const kn_learner *l, const double *from, double *to);

/* noise (n): the leave-one-out noise variance of response j of block b for each participant,
 * standardised units, in the order of the data; noise_j for all participants without
 * l->job.noise. sums: 3 n of work. */
void kn_learner_others(const kn_learner *l, const kn_block *b, ptrdiff_t j, kn_heldout_residuals of,
                       double *sums, double *noise);

/* factor (n, fold order) = exp(D beta + l->shift), for the participants of each fold with the
 * column of beta (F x folds) that was estimated without that fold. */
void kn_learner_factors(const kn_learner *l, kn_mat D, kn_mat beta, double *factor);

/* spread (folds) = (mean e^2 of all / mean e^2 of the other folds)^1/2: the factor by which the
 * z of the other folds grow if the participants of a fold have no part in the noise variance. e:
 * n, fold order. Without it, one outlier shrinks the z of all other participants, and the
 * transform that is learned without the outlier's fold would still depend on the outlier. */
void kn_learner_spread(const kn_learner *l, const double *e, double *spread);

/* some = zt of the participants outside fold f, from their z1 times `spread`; f = -1: all
 * participants. Missing values are skipped. Returns the number of values. */
ptrdiff_t kn_learner_rest(const kn_learner *l, const double *z1, int f, double spread,
                          double *some);

/* ---- on the response subsample ---- */

/* z1 of cell (i, j) of the subsample: e/sqrt(v + others factor); NaN if that variance is not
 * positive. */
double kn_learner_plain_z(const kn_learner *l, ptrdiff_t i, ptrdiff_t j);

/* score_i = mean_j 1/2 (ln V + e^2/V),  V = v + others factor; factor is 1 if kn_mat_none(). */
void kn_learner_score(const kn_learner *l, kn_mat factor, double *score);

/* Returns mean_i (before_i - after_i) over the participants with both scores; *se: its standard
 * error. */
double kn_learner_gain(ptrdiff_t n, const double *before, const double *after, double *se);

/* Set out->kurt and out->T_sq from z (n x sampled) without the participants of `fold`; -1: all. */
kn_status kn_learner_squares(kn_ctx *ctx, const kn_learner *l, kn_mat z, int fold,
                             kn_noise_scale_prior *out);

#endif
