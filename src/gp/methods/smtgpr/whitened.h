/* S-MTGPR with whitened noise: each response has its own noise variance, and the complement of the
 * basis has one signal and one noise variance [METHOD 1f]. */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_H
#define KN_GP_METHODS_SMTGPR_WHITENED_H

#include "gp/method.h"

extern const kn_method kn_method_whitened;

/* Fits P components at the R0 found->at with rank p->spec.rank. If R0 is not additive, it is
 * searched again with these components. Sets *gp, *info and the cross-validated maps. */
kn_status kn_whitened_fit_at(kn_ctx *ctx, kn_fit_problem *p, kn_search_result *found, ptrdiff_t P,
                             kn_gp *gp, kn_fit_info *info);

#endif
