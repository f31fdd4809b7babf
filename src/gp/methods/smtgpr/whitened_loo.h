/* Leave-one-out with whitened noise at fixed psi and B [METHOD 5, 1f].
 *
 *     K0 = c0 R0 + d0 I     S = I - diag(K0^-1)^-1 K0^-1     mean = [L B' + S Yw] Psi^1/2
 *     L = mean_lat - S Z                                     (S Yw Psi^1/2 = S Y) */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_LOO_H
#define KN_GP_METHODS_SMTGPR_WHITENED_LOO_H

#include "gp/predict/prediction_blocks.h"

/* Implements kn_method.loo. */
kn_status kn_whitened_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
void kn_whitened_loo_need(kn_mem_plan *r, const kn_problem_size *s); /* keeps S */

#endif
