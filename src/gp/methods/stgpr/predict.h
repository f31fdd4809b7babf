/* Predicts a panel of responses (panel.h) for new participants [METHOD 4, 7]. */
#ifndef KN_GP_METHODS_STGPR_PREDICT_H
#define KN_GP_METHODS_STGPR_PREDICT_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/panel.h"

/* Sets mean and variance of the panel, as b->mean and b->var request. */
kn_status kn_stgpr_predict_panel(kn_ctx *ctx, const kn_stgpr_panel *b);
void kn_stgpr_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n); /* temporary */

#endif
