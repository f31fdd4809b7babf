/* Cross-validated maps with missing responses [METHOD 5b, 0b]. The training rows of each fold are
 * imputed from themselves, so that no held-out value enters them. Folds are processed one after the
 * other; each keeps its basis B_f = Y_tr'US (T x P) and mean with the maps, because the imputed
 * rows are not kept. */
#ifndef KN_GP_CV_MISSING_H
#define KN_GP_CV_MISSING_H

#include "gp/method.h"

/* As kn_components_cv, with problem->completion set. Collective. */
kn_status kn_completed_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                          kn_gp_maps *out);

#endif
