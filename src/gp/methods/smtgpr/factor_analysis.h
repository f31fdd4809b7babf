/* Factor analysis of the responses: a noise variance psi_j for each response, and the directions
 * that responses share [METHOD 1f].
 *
 *     Yw = (Y - 1 mean') Psi^-1/2     1/N Yw'Yw = V diag(w) V',  leading P
 *     loadings = Psi^1/2 V (w - 1)^1/2        psi_j <- var_j - |loadings_j|^2, at least 1e-3 var_j
 *
 * Starts at psi_j = var_j/2 and iterates ten times; then B = V at the last psi. T <= N: the T x T
 * covariance is computed once, and 10 eigenproblems of size T. T > N: each iteration is a block
 * loop over Y, which updates psi of a block and adds the block to the next Yw Yw': 12 loops, 11 N^2
 * T flops, 11 eigenproblems of size N. */
#ifndef KN_GP_METHODS_SMTGPR_FACTOR_ANALYSIS_H
#define KN_GP_METHODS_SMTGPR_FACTOR_ANALYSIS_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

typedef struct kn_factors {
    double *psi;  /* T  positive */
    kn_mat B;     /* T x P, B'B = I; P is lower than requested if the rank of Yw is, */
    kn_mat Z;     /* N x P, Yw B        and lower than the rank if that is below T */
    double total; /* |Yw|^2 */
} kn_factors;

/* Runs the analysis with at most P factors. Y N x T; mean T, subtracted from Y, or NULL: 0. Results
 * do not depend on the number of threads. Fails with KN_ERR_NUMERIC if an eigenproblem fails. The
 * caller frees *out. Collective. */
kn_status kn_factors_new(kn_ctx *ctx, const kn_responses *Y, const double *mean, ptrdiff_t P,
                         kn_factors *out);
/* Frees psi, B and Z. */
void kn_factors_clear(kn_factors *f);

/* Estimated cost in flops. */
double kn_factors_flops(ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
/* Memory plan: keeps psi, B and Z; the rest is temporary. */
void kn_factors_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);

#endif
