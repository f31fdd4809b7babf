/* Cross-validated maps of a panel of responses (panel.h) [METHOD 5b, 7]. Cell and gamma of a
 * response are fixed; mean, c and d are estimated from the training rows of each fold. */
#ifndef KN_GP_METHODS_STGPR_CV_H
#define KN_GP_METHODS_STGPR_CV_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/panel.h"

/* Sets mean and variance of the panel for all held-out participants. */
kn_status kn_stgpr_cv_panel(kn_ctx *ctx, const kn_stgpr_panel *b, int folds);
void kn_stgpr_cv_need(kn_mem_plan *r, const kn_problem_size *s); /* temporary */

#endif
