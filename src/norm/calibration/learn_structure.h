/* Between the two halves of a learner: what is common to responses and which parts there are
 * (learner_choose.c), and one response after the other (learner.c). kn_learner_choose is
 * collective. */
#ifndef KN_NORM_CALIBRATION_LEARN_STRUCTURE_H
#define KN_NORM_CALIBRATION_LEARN_STRUCTURE_H

#include "norm/calibration/learner.h"

/* From the order in which people came to that of their folds; n each. */
void kn_learner_in_order(const kn_learner *l, const double *from, double *to);

/* noise (n) as others say, in the order in which people came; sums: 3 n of work. */
void kn_learner_others(const kn_learner *l, const kn_block *b, ptrdiff_t j, kn_heldout_residuals of,
                       double *sums, double *noise);

/* factor (n) = exp(eta) of the people of each fold by beta (F x folds) made without it, and by
 * l->shift. */
void kn_learner_factors(const kn_learner *l, kn_mat D, kn_mat beta, double *factor);

/* spread (folds): by how much z of the others would be larger had the people of a fold no part in
 * the noise, (mean e^2 of all / mean e^2 of the others)^1/2. e: n, in the order of folds. Somebody
 * far out makes everybody else's z small; left in, that would tell their fold's layer of him. */
void kn_learner_spread(const kn_learner *l, const double *e, double *spread);

/* some: zt of those outside fold f from their z1, times its spread; how many. */
ptrdiff_t kn_learner_rest(const kn_learner *l, const double *z1, int f, double spread,
                          double *some);

/* ---- of the sample ---- */

/* z1 of a cell: e/sqrt(v + others factor). */
double kn_learner_plain_z(const kn_learner *l, ptrdiff_t i, ptrdiff_t j);

/* score_i = mean_j 1/2 (ln V + e^2/V),  V = v + others factor; without factor 1. */
void kn_learner_score(const kn_learner *l, kn_mat factor, double *score);

/* mean_i (before_i - after_i) over those who have both, and its standard error. */
double kn_learner_gain(ptrdiff_t n, const double *before, const double *after, double *se);

/* kurt and T_sq of z (n x sampled) with the people of a fold left out; -1: of everybody. */
kn_status kn_learner_squares(kn_ctx *ctx, const kn_learner *l, kn_mat z, int fold,
                             kn_noise_scale_prior *out);

#endif
