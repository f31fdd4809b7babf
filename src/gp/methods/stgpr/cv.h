/* A panel of cross-validated maps                                              [METHOD 5b, 7] */
#ifndef KN_GP_METHODS_STGPR_CV_H
#define KN_GP_METHODS_STGPR_CV_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/panel.h"

kn_status kn_stgpr_cv_panel(kn_ctx *ctx, const kn_stgpr_panel *b, int folds);
void kn_stgpr_cv_need(kn_mem_plan *r, const kn_problem_size *s); /* passes */

#endif
