/* Predictions of one fold: fits the model of its training rows at fixed hyperparameters and
 * predicts the components of the held-out rows [METHOD 5b, 4].
 *
 *     R0 at the training rows, c and d estimated again there; then mean and var of 4   n_test x P
 *
 * Cost: n_train^3 flops for the decomposition, or those of the low rank. */
#ifndef KN_GP_CV_FOLD_PREDICT_H
#define KN_GP_CV_FOLD_PREDICT_H

#include "base/memory/plan.h"
#include "gp/cv/fold.h"
#include "gp/method.h"

/* Sets part k of the maps. Row lists and US are moved from *f to the part. far: N values, of which
 * those of held-out rows are set (kn_latent_far); NULL: not requested. */
kn_status kn_fold_prediction_new(kn_ctx *ctx, const kn_cv_problem *problem, kn_fold *f,
                                 kn_gp_maps *maps, int k, double *far);

/* Memory plan of one fold with n training and h held-out rows: work space (temporary) and the part
 * (kept). */
void kn_fold_prediction_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);

#endif
