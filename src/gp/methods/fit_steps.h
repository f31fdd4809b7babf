/* Steps shared by the fits of several methods: basis of the user, search, record of the result,
 * cross-validation. What is specific to one method is in its folder. */
#ifndef KN_GP_METHODS_FIT_STEPS_H
#define KN_GP_METHODS_FIT_STEPS_H

#include "gp/cv/cv.h"
#include "gp/missing/completion.h"

/* Records the result of a search in *info: number of components, rank, log likelihood,
 * evaluations, reason of the stop, rho and length, and what the basis leaves out. */
void kn_fit_record(const kn_gp *gp, const kn_search_result *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info);

/* Computes the cross-validated maps into options->cv if requested, from p->gram or from
 * p->held_out, whose basis is moved. Without folds, or if the fit was cancelled, does nothing; a
 * cancellation here sets info->stop if the caller keeps the best point, else returns
 * KN_ERR_CANCELLED. Collective. */
kn_status kn_fit_cv(kn_ctx *ctx, const kn_gp *gp, kn_fit_problem *p, kn_fit_info *info);

/* Builds *basis from the user's basis p->options->basis: gp->P of its axes, or its columns as they
 * are (options->axes_given). Sets gp->span, gp->axes and gp->P, and the basis fields of info.
 * Warns if the span contains less than half of a constant shift of all responses. Errors as
 * kn_basis_given; KN_ERR_ARGUMENT if there are fewer axes than gp->P. Collective. */
kn_status kn_user_span_given(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                             kn_fit_info *info);
/* Predicts in plan r the memory of kn_user_span_given: the basis, and the original columns if
 * s->P < s->span, stay in the plan. */
void kn_user_span_need(kn_mem_plan *r, const kn_problem_size *s);

/* Imputes the missing cells of p->Y and sets p->Y.missing, p->Y.imputed and p->completion, which
 * borrow *out. centre: moves scaling->mean to the mean of the completed responses. Does nothing if
 * no cell is missing. KN_ERR_MEMORY if the work space exceeds the budget. Collective. */
kn_status kn_completion_new(kn_ctx *ctx, kn_fit_problem *p, kn_scaling *scaling, bool centre,
                            kn_fit_info *info, kn_completion *out);

#endif
