/* Factor analysis of the responses: a noise variance for each, and the directions that are shared
 *                                                                                    [METHOD 1f]
 *     Yw = (Y - 1 mean') Psi^-1/2     1/N Yw'Yw = V diag(w) V',  leading P
 *     loadings = Psi^1/2 V (w - 1)^1/2        psi_j <- var_j - |loadings_j|^2, at least 1e-3 var_j
 *
 * from psi_j = var_j/2, ten times; then B = V at the last psi. T <= N: the T x T covariance is made
 * once, 10 eigenproblems of size T. T > N: a walk over Y each time, which updates psi of a block
 * and adds the block to the next Yw Yw': 12 walks, 11 N^2 T flops, 11 eigenproblems of size N. */
#ifndef KN_GP_METHODS_SMTGPR_FACTOR_ANALYSIS_H
#define KN_GP_METHODS_SMTGPR_FACTOR_ANALYSIS_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

typedef struct kn_factors {
    double *psi;  /* T  positive */
    kn_mat B;     /* T x P, B'B = I; fewer than asked for where the responses have no more, and */
    kn_mat Z;     /* N x P, Yw B        unless that is T one less than they have: some is left */
    double total; /* |Yw|^2 */
} kn_factors;

/* mean T, or NULL: what is taken off Y. The same bits for any number of threads. Collective. */
kn_status kn_factors_new(kn_ctx *ctx, const kn_responses *Y, const double *mean, ptrdiff_t P,
                         kn_factors *out);
void kn_factors_clear(kn_factors *f);

double kn_factors_flops(ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
void kn_factors_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);

#endif
