/* Pilot search: estimates R0 from a few principal components with structured noise; R0 is then
 * kept fixed [METHOD 3b]. The fits of folds and of all candidate numbers then share one
 * decomposition. */
#ifndef KN_GP_COMPONENTS_PILOT_H
#define KN_GP_COMPONENTS_PILOT_H

#include "gp/fit_problem.h"

/* Returns the number of components of the pilot search, at most KN_PILOT_COMPONENTS, if `limit`
 * components are available; at most (N - 1)/2 unless R0 (covariance between participants) is
 * additive. */
ptrdiff_t kn_pilot_components(const kn_fit_problem *p, ptrdiff_t limit);

/* Pilot search: finds the R0 that maximises the likelihood of a few coordinates Z (N x P, no
 * basis needed) of the rows X (N x F), which may be a subset of the problem's; result in *found.
 * row_order (N): canonical order of these rows, in which subsamples are drawn; NULL: by index.
 * Adds evaluation counts to info and sets p->pilot_rank; if X has all rows, the engine's pair
 * statistics and decompositions are moved to p->core. Collective. */
kn_status kn_pilot(kn_ctx *ctx, kn_fit_problem *p, kn_mat X, const kn_groups *groups,
                   const ptrdiff_t *row_order, kn_mat Z, kn_fit_info *info,
                   kn_search_result *found);
/* Estimates R0 (covariance between participants) by the pilot search (kn_pilot) over all
 * participants, from the coordinates of a few leading principal components of p->gram; result in
 * *found. Collective. */
kn_status kn_pilot_of_gram(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                           kn_search_result *found);

/* Predicts in plan r the memory of kn_pilot with at most s->P components: added and removed
 * again, so only the peak rises. */
void kn_pilot_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
