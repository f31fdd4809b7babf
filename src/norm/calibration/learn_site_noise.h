/* Noise term of each site, common to all responses, estimated from z1 of the response subsample.
 *                                                                                   [METHOD 8c]
 *     term_s = a_s v_a/(v_a + q_s),  a_s = ln mean_{i in s, j} z1^2 (kn_noise_scale_batch)
 *
 * It is estimated with and without each fold; a site without participants outside a fold has
 * term 0 there. Without a fold, the z1 of the other folds are multiplied by kn_learner_spread(),
 * as for the other components. Cost: n folds flops per response. Called by kn_learner_choose(). */
#ifndef KN_NORM_CALIBRATION_LEARN_SITE_NOISE_H
#define KN_NORM_CALIBRATION_LEARN_SITE_NOISE_H

#include "norm/calibration/learner.h"

/* Set layer->batch from all participants and l->shift without each fold, and multiply l->factor
 * by exp(shift). The component is kept whatever it gains. before (n): score of each participant
 * without the terms. z1 (n x sampled): scratch. */
kn_status kn_learner_batch(kn_ctx *ctx, kn_learner *l, const double *before, kn_mat z1);

#endif
