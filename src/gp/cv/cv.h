/* Cross-validated maps of the training participants: the source of slope, noise, calibration and
 * reference sample [METHOD 5b]. Each fold is predicted by a model whose mean, basis and component
 * variances come from the other folds; scaling, design and hyperparameters of R0 stay fixed. */
#ifndef KN_GP_CV_CV_H
#define KN_GP_CV_CV_H

#include "base/memory/plan.h"
#include "gp/fit_problem.h"

/* Computes cross-validated maps *out of all participants with problem->fold >= 0, by the
 * method's own kn_method.cv [METHOD 5b]. gp and *problem->Y are borrowed and must outlive `out`,
 * which the caller frees with kn_gp_maps_clear. Collective. */
kn_status kn_gp_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);

/* Computes the maps *out of a single held-out set, in place of folds: the first gp->P components
 * of its basis are the basis, everything else is fitted to its training rows. Basis, mean and
 * row lists are moved from *held_out into `out`, which borrows gp and Y. Collective. */
kn_status kn_gp_cv_heldout(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_heldout *held_out, kn_gp_maps *out);

/* Implements kn_method.cv for methods with components: computes the components of all folds from
 * one Gram matrix (or the coordinates in a fixed basis), then fits and predicts one fold after
 * the other. With problem->completion, by kn_completed_cv. out is cleared on error. Collective. */
kn_status kn_components_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_gp_maps *out);

/* Predicts in plan r the memory of kn_components_cv with s->folds folds, or of kn_gp_cv_heldout
 * (KN_HELD_OUT_ONCE): the maps stay in the plan, the work space only raises the peak. */
void kn_components_cv_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
