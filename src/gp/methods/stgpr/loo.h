/* A panel of leave-one-out maps, whole groups left out together                    [METHOD 5, 7] */
#ifndef KN_GP_METHODS_STGPR_LOO_H
#define KN_GP_METHODS_STGPR_LOO_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/panel.h"

kn_status kn_stgpr_loo_panel(kn_ctx *ctx, const kn_stgpr_panel *b);
void kn_stgpr_loo_need(kn_mem_plan *r, const kn_problem_size *s); /* passes */

#endif
