/* Eigendecomposition of the sample covariance R0, the one cubic step of every evaluation.
 * R0 holds the terms that relate different samples; iso only shifts eigenvalues, and is added by
 * callers. */
#ifndef KN_COV_DENSE_H
#define KN_COV_DENSE_H

#include "base/rehearse.h"
#include "cov/terms.h"

typedef struct kn_decomp {
    ptrdiff_t N, m; /* R0 = U diag(r) U', U N x m; the N - m directions left have eigenvalue 0 */
    kn_mat U;       /* none for low rank */
    double *r;      /* ascending, none negative */
    kn_cov cov;     /* of R0 */
    double theta[KN_COV_THETA];
    /* low rank [lowrank.h]: R0* U = K_*m map, * any samples and m the pivots */
    ptrdiff_t n_pivots; /* 0: dense */
    ptrdiff_t *pivot;   /* rows of the training samples */
    kn_mat base;        /* n_pivots x F  their covariates */
    kn_mat map;         /* n_pivots x m */
    bool steady;        /* dense: the same bits for any number of threads, at one thread's speed */
    double residual;    /* trace of what is left out of R0 over its trace */
} kn_decomp;

kn_status kn_decomp_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, kn_decomp *out);
void kn_decomp_clear(kn_decomp *d);

/* theta of R0's terms. N^3 flops times about ten. */
kn_status kn_decomp_compute(kn_ctx *ctx, kn_decomp *d, const kn_pairs *pairs, const double *theta);

/* g = dLML/dtheta of R0's parameters from G = 1/2 U (M M' - diag(w)) U' [METHOD 3];
 * M m x P, w m. V (N x at least P) and H (N x N) are work space; a V of some hundred columns keeps
 * the second product fast. 3 N^2 P + N^3 flops. */
void kn_decomp_gradient(kn_ctx *ctx, const kn_decomp *d, const kn_pairs *pairs, kn_mat M,
                        const double *w, kn_mat V, kn_mat H, double *g);

/* U of a low-rank decomposition: U = K_nm map r^-1, N x m. 2 N m n_pivots flops. */
kn_status kn_decomp_vectors(kn_ctx *ctx, const kn_decomp *d, kn_mat X, kn_mat U);

void kn_decomp_need(kn_rehearsal *r, ptrdiff_t N); /* dense; the eigenproblem passes */

#endif
