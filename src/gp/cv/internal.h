/* What only the files of gp/cv use: properties of a fold that a pass over the responses finds, the
 * predictions of a fold, and cross-validation with missing cells. Other folders use cv.h and
 * fold.h. */
#ifndef KN_GP_CV_INTERNAL_H
#define KN_GP_CV_INTERNAL_H

#include "base/memory/plan.h"
#include "gp/cv/fold.h"
#include "gp/fit_problem.h"
#include "gp/method.h"

/* ---- fold energy ----
 *
 * Total variation of the responses of a fold: kn_fold.total = |Y_tr - 1 mu'|^2. The noise variance
 * outside the fold's basis is what the basis leaves of it [METHOD 5b, 8j]. */

/* Sets f->total = |Y_tr - 1 mu'|^2 of a fold from G = Y Y' (N x N) of all rows: tr G_tr - 1'G_tr
 * 1/n, n^2 flops for n training rows. Cannot fail. */
void kn_fold_energy(kn_mat G, kn_fold *f);
/* Sets f[k].total = |Y_tr - 1 mu'|^2 of n folds, whose rows are set, from the responses Y of all
 * rows; reads Y once. Collective. */
kn_status kn_folds_energy(kn_ctx *ctx, const kn_responses *Y, kn_fold *f, int n);

/* ---- fold signs ----
 *
 * Signs of the components of a fold [METHOD 5b, 9.10]. A task covariance that is not spectral
 * depends on them: each component gets the sign that makes the largest entry of its column of the
 * fold's basis positive, as in the full model. B_f = Y_tr'US is computed block by block: 2 n_train
 * P T flops, and one block in memory. */

/* Returns true if the likelihood of the model depends on the signs of the components: iso noise
 * (one variance for all responses) with a task covariance that is not spectral. */
bool kn_gp_depends_on_signs(const kn_gp *gp);

/* Fixes the signs of the components of a fold that has its own basis: flips columns of US or B,
 * and of Z_train, so that the largest |entry| of each column of B_f is positive. Y: responses of
 * all rows. Collective. */
kn_status kn_fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f);

/* ---- fold predict ----
 *
 * Predictions of one fold: fits the model of its training rows at fixed hyperparameters and
 * predicts the components of the held-out rows [METHOD 5b, 4].
 *
 *     R0 at the training rows, c and d estimated again there; then mean and var of 4   n_test x P
 *
 * Cost: n_train^3 flops for the decomposition, or those of the low rank. */

/* Fits fold k at the hyperparameters of maps->gp and predicts its held-out rows into
 * maps->part[k]. Row lists, and US or B and mu, are moved from *f to the part. extrapolation: N
 * values, of which those of held-out rows are set (kn_latent_extrapolation); NULL: not
 * requested. n_train^3 flops, or those of the low rank. */
kn_status kn_fold_prediction_new(kn_ctx *ctx, const kn_cv_problem *problem, kn_fold *f,
                                 kn_gp_maps *maps, int k, double *extrapolation);

/* Predicts in plan r the memory of kn_fold_prediction_new for n training and h held-out rows:
 * the predictions stay in the plan, the work space only raises the peak. */
void kn_fold_prediction_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);

/* ---- missing ----
 *
 * Cross-validated maps with missing responses [METHOD 5b, 0b]. The training rows of each fold are
 * imputed from themselves, so that no held-out value enters them. Folds are processed one after the
 * other; each keeps its basis B_f = Y_tr'US (T x P) and mean with the maps, because the imputed
 * rows are not kept. */

/* Implements kn_method.cv for methods with components if cells are missing
 * (problem->completion): imputes, fits and predicts one fold after the other. out is cleared on
 * error. Collective. */
kn_status kn_completed_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                          kn_gp_maps *out);

#endif
