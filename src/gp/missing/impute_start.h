/* Start of the imputation: each response separately, from its observed rows [METHOD 0b, 1b, 7]
 *
 *     ybar_j, delta_j: mean, and the profile of 1b on R0_oo, o the rows with a value
 *     g = ybar_j + R0_.o (R0_oo + delta_j I)^-1 (y_o - ybar_j)             delta_j = inf: ybar_j
 *
 *     R0_oo = U diag(r) U' by the smaller of Phi_o'Phi_o (m x m) and Phi_o Phi_o' (n_o x n_o)
 *     g = ybar_j + Phi (Phi_o'U) diag(1/(r + delta_j)) U'(y_o - ybar_j)
 *
 * Responses with the same observed rows share a decomposition, n m^2 + m^3 each: few of them if
 * missing cells come in blocks, one per response at worst. */
#ifndef KN_GP_MISSING_IMPUTE_START_H
#define KN_GP_MISSING_IMPUTE_START_H

#include "gp/missing/impute.h"

/* Sets the missing cells in filled, and delta (T). place as from kn_impute_places. */
kn_status kn_impute_start(kn_ctx *ctx, const kn_impute_problem *p, const ptrdiff_t *place,
                          double *filled, double *delta);

/* Computes U (n x k) and r (k, ascending, positive) of Phi Phi' (Phi n x m), owned by the
 * caller. */
kn_status kn_impute_decompose(kn_ctx *ctx, kn_mat Phi, kn_mat *U, double **r);

#endif
