/* Fits the whole-map deviance if z of reference participants has missing cells [METHOD 8b]
 *
 *     completed z   missing cells 0, then up to 20 rounds: B, lam leading P eigenpairs of z'z/n,
 *                   psi_j = max(mean of observed (z - zBB')^2, .05),
 *                   d = max(lam - B.^2' psi, 1e-6),
 *                   a = (diag(1/d) + B_o'Psi_o^-1 B_o)^-1 B_o'Psi_o^-1 z_o,  z_u <- B_u a
 *     Q, lam        of the completed z, K as fit.h chooses it for them
 *     psi_j         sum over observed (z - zQQ')^2/(n_j (1 - K/n)),
 *                   at least 1e-6 of the mean square
 *     ref_i         over the observed set of i, times T/|J|, by Q, lam, psi of the other folds,
 *                   which are imputed by themselves; NaN where |J| < T/2
 *
 * One Gram matrix per round, n x n, n^2 T flops, or T x T, n T^2 flops, where T < n; folds + 1
 * times; n x T floats for the completed z.
 *
 * fit.h describes the fit without missing cells. */
#ifndef KN_NORM_DEVIANCE_MISSING_H
#define KN_NORM_DEVIANCE_MISSING_H

#include "norm/deviance/deviance.h"

typedef struct kn_deviance_missing_cells {
    ptrdiff_t n, T;
    const float *z;  /* n x T, column-major, NaN where missing */
    const int *fold; /* n */
    int folds;
    kn_product_side side;
} kn_deviance_missing_cells;

/* Fit the whole-map deviance to maps with missing cells, which are imputed; on root alone. gram
 * (may be NULL): zz' of the imputed z, n x n, lower triangle, owned by the caller, as is out.
 * KN_ERR_NUMERIC if an eigenproblem does not converge. Collective. */
kn_status kn_deviance_fit_missing(kn_ctx *ctx, const kn_deviance_missing_cells *from, kn_mat *gram,
                                  kn_deviance *out);

#endif
