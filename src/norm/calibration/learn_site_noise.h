/* The noise of each site, common to all responses, from z1 of the sample             [METHOD 8c]
 *
 *     term_s = a_s v_a/(v_a + q_s),  a_s = ln mean_{i in s, j} z1^2 (kn_noise_scale_batch)
 *
 * with and without each fold; a site that has nobody outside a fold: 0. Without a fold z1 of the
 * others are larger by its spread, as for the other parts. n folds flops a response. */
#ifndef KN_NORM_CALIBRATION_LEARN_SITE_NOISE_H
#define KN_NORM_CALIBRATION_LEARN_SITE_NOISE_H

#include "norm/calibration/learner.h"

/* layer->batch of everybody, l->shift without each fold, which l->factor takes in; the part is kept
 * in any case. before: n, scores of people without the terms. z1: n x sampled of work. */
kn_status kn_learner_batch(kn_ctx *ctx, kn_learner *l, const double *before, kn_mat z1);

#endif
