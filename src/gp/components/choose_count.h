/* The number of components by held-out log loss                       [METHOD 2, components auto]
 */
#ifndef KN_GP_COMPONENTS_CHOOSE_COUNT_H
#define KN_GP_COMPONENTS_CHOOSE_COUNT_H

#include "base/memory/plan.h"
#include "gp/method.h"

/* METHOD 2, "components auto". The engine-independent part: given where R0 stands it fills the
 * curve and returns the number of components to use. By folds of the Gram matrix, or by the one set
 * held out, whichever the problem has. */
kn_status kn_choose_components(kn_ctx *ctx, const kn_fit_problem *problem, const kn_cov_point *at,
                               kn_fit_info *info, ptrdiff_t *P);

enum { KN_PILOT_COMPONENTS = 25 }; /* at which R0 of the curve is fitted */

/* The largest number that is tried. */
ptrdiff_t kn_components_most(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank);
/* Passes: the search at a few components, and then the curve up to s->P. */
void kn_components_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
