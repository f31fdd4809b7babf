/* R0 by a few principal components with structured noise, for whoever holds it then  [METHOD 3b] */
#ifndef KN_GP_COMPONENTS_PILOT_H
#define KN_GP_COMPONENTS_PILOT_H

#include "gp/methods/common.h"

/* How many components, of `most` that there are. */
ptrdiff_t kn_pilot_components(const kn_fit_problem *p, ptrdiff_t most);

/* R0 at coordinates Z (without the T x P basis) of samples X, which may be some of the problem's.
 * Evaluations are added to info, and p->pilot_rank is set. */
kn_status kn_pilot(kn_ctx *ctx, kn_fit_problem *p, kn_mat X, const kn_groups *groups, kn_mat Z,
                   kn_fit_info *info, kn_search_result *found);
/* The same of all samples, by the Gram matrix at hand. */
kn_status kn_pilot_of_gram(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                           kn_search_result *found);

void kn_pilot_need(kn_mem_plan *r, const kn_problem_size *s); /* of s->P at most; passes */

#endif
