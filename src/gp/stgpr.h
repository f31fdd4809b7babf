/* STGPR: each response a Gaussian process of its own                                [METHOD 7] */
#ifndef KN_GP_STGPR_H
#define KN_GP_STGPR_H

#include "gp/gp.h"

kn_status kn_stgpr_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                       const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

/* c, delta, d, lml (unless held) and alpha in its cell for each response; alpha holds Y before. */
kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_pairs *pairs, const kn_cov *cov, bool held,
                          kn_stgpr *s, int *evals);

#endif
