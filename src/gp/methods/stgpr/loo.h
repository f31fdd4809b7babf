/* Leave-one-out maps of a panel of responses (panel.h); whole groups are held out together
 * [METHOD 5, 7]. */
#ifndef KN_GP_METHODS_STGPR_LOO_H
#define KN_GP_METHODS_STGPR_LOO_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/panel.h"

/* Sets mean and variance of the panel, as b->mean and b->var request. */
kn_status kn_stgpr_loo_panel(kn_ctx *ctx, const kn_stgpr_panel *b);
void kn_stgpr_loo_need(kn_mem_plan *r, const kn_problem_size *s); /* temporary */

#endif
