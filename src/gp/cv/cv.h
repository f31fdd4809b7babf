/* Cross-validated maps of the training participants: the source of slope, noise, calibration and
 * reference sample [METHOD 5b]. Each fold is predicted by a model whose mean, basis and component
 * variances come from the other folds; scaling, design and hyperparameters of R0 stay fixed. */
#ifndef KN_GP_CV_CV_H
#define KN_GP_CV_CV_H

#include "base/memory/plan.h"
#include "gp/fit_problem.h"

/* Computes the maps of all participants with problem->fold >= 0. gp and *problem->Y are borrowed
 * and must outlive `out`, which the caller frees with kn_gp_maps_clear. Calls kn_method.cv.
 * Collective. */
kn_status kn_gp_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);

/* The same for a single held-out set: its first gp->P components are the basis. Basis, mean and row
 * lists are moved from *held_out into `out`. Collective. */
kn_status kn_gp_cv_heldout(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_heldout *held_out, kn_gp_maps *out);

/* Implements kn_method.cv for methods with components. Collective. */
kn_status kn_components_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_gp_maps *out);

/* Memory plan of the maps of s->folds folds, or of a single held-out set (KN_HELD_OUT_ONCE), for
 * methods with components. */
void kn_components_cv_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
