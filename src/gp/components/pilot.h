/* Pilot search: estimates R0 from a few principal components with structured noise; R0 is then
 * kept fixed [METHOD 3b]. The fits of folds and of all candidate numbers then share one
 * decomposition. */
#ifndef KN_GP_COMPONENTS_PILOT_H
#define KN_GP_COMPONENTS_PILOT_H

#include "gp/fit_problem.h"

/* Number of components of the pilot search if `limit` are available. */
ptrdiff_t kn_pilot_components(const kn_fit_problem *p, ptrdiff_t limit);

/* Searches for R0 with coordinates Z (N x P, no basis needed) of the rows X, which may be a subset
 * of the problem's. Adds evaluation counts to info and sets p->pilot_rank; over all rows the
 * engine's core is moved to p->core. Collective. */
kn_status kn_pilot(kn_ctx *ctx, kn_fit_problem *p, kn_mat X, const kn_groups *groups, kn_mat Z,
                   kn_fit_info *info, kn_search_result *found);
/* The same over all participants, with coordinates from p->gram. Collective. */
kn_status kn_pilot_of_gram(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                           kn_search_result *found);

/* at most s->P components; temporary */
void kn_pilot_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
