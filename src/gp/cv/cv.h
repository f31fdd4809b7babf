/* Cross-validated maps of the training samples                                      [METHOD 5b] */
#ifndef KN_GP_CV_CV_H
#define KN_GP_CV_CV_H

#include "base/memory/plan.h"
#include "gp/method.h"

/* Collective, all three. */
kn_status kn_gp_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);

/* The same of one held-out set, whose basis is taken over: its first P components are the model's
 * number of them. */
kn_status kn_gp_cv_heldout(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_heldout *held, kn_gp_maps *out);

/* For kn_method.cv of a method with components. */
kn_status kn_components_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_gp_maps *out);

/* The maps of s->folds folds, or of one held-out set where that is 1: for methods with components.
 */
void kn_components_cv_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
