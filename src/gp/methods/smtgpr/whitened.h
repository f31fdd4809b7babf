/* S-MTGPR with whitened noise: each response in units of its own, one signal and one noise for all
 * that the components leave                                                          [METHOD 1f] */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_H
#define KN_GP_METHODS_SMTGPR_WHITENED_H

#include "gp/method.h"

extern const kn_method kn_method_whitened;

/* A fit with P components at R0 as it was found, of rank p->spec.rank; R0 that is no sum of the
 * design's is searched for again with these. */
kn_status kn_whitened_fit_at(kn_ctx *ctx, kn_fit_problem *p, kn_search_result *found, ptrdiff_t P,
                             kn_gp *gp, kn_fit_info *info);

#endif
