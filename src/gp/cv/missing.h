/* Cross-validated maps where responses are missing: the training rows of each fold are filled in by
 * themselves, so that no held-out value has a part in them                        [METHOD 5b, 0b]
 *
 * A fold after the other, each with a completion (gp/missing/completion.h), its own basis and B_f =
 * Y_tr'US, T x P, which is kept with its means for as long as the maps: completed rows are not. */
#ifndef KN_GP_CV_MISSING_H
#define KN_GP_CV_MISSING_H

#include "gp/method.h"

/* As kn_components_cv, with problem->completion. Collective. */
kn_status kn_completed_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                          kn_gp_maps *out);

#endif
