/* Eigendecomposition of R0, the covariance between participants: the one cubic step of every
 * likelihood evaluation.
 *
 * R0 holds the terms that relate different participants; iso only shifts eigenvalues, and the
 * callers add it. With noise that repeated measures share [group_noise.h] the matrix H^-1/2 R0
 * H^-1/2 is decomposed:
 *
 *     H^-1/2 R0 H^-1/2 = W diag(r) W'      U = H^-1/2 W        U'H U = I, W = U without groups
 *
 * All other formulas stay the same: A = U'Z, R0* U, (c R0 + d H)^-1 = U diag(1/(c r + d)) U'.
 * kn_decomp also holds decompositions of low rank, which lowrank.h computes. */
#ifndef KN_COV_EIGEN_DENSE_H
#define KN_COV_EIGEN_DENSE_H

#include "base/memory/plan.h"
#include "cov/group_noise.h"
#include "cov/kernel_sum.h"

typedef struct kn_decomp {
    ptrdiff_t N, m; /* U is N x m; the other N - m directions have eigenvalue 0 */
    kn_mat U;       /* N x m, dense only; empty for low rank */
    double *r;      /* m eigenvalues, ascending, none negative */
    kn_cov cov;     /* the terms of R0 */
    double theta[KN_COV_THETA];
    double gamma; /* H = I + gamma G */
    /* Low rank only [lowrank.h]: R0* U = F_* map, where F_* are the features of any participants.
     */
    kn_mat map;         /* features x m; empty: dense */
    ptrdiff_t n_pivots; /* number of training rows that features are covariances with, */
    ptrdiff_t *pivot;   /* and their indices; exact columns are additional features */
    kn_mat base;        /* n_pivots x F, design rows of the pivots */
    kn_mat rotation;    /* features x m, U = H^-1 F rotation with weighted F; only during a fit */
    bool steady;     /* dense: results do not depend on the number of threads, at the speed of one
                        thread */
    double residual; /* trace of the approximation error over the trace of the terms that pivots
                        approximate */
} kn_decomp;

/* Returns whether the decomposition is of low rank. */
static inline bool kn_decomp_is_low(const kn_decomp *d)
{
    return d->map.data != NULL;
}

/* Allocates a dense decomposition of size N. Every term of cov must relate different participants
 * (kn_cov_between). */
kn_status kn_decomp_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, kn_decomp *out);
/* Frees the contents; accepts {0}. */
void kn_decomp_clear(kn_decomp *d);

/* Computes r and U of R0 (covariance between participants) at theta (cov.n_theta values). Set
 * d->gamma and d->steady before. groups may be NULL, then gamma is ignored. KN_ERR_NUMERIC if
 * LAPACK does not converge. About 10 N^3 flops. */
kn_status kn_decomp_compute(kn_ctx *ctx, kn_decomp *d, const kn_pairs *pairs,
                            const kn_groups *groups, const double *theta);

/* Adds H += G = 1/2 U (M M' - diag(w)) U' [METHOD 3], lower triangle N x N; M is m x P, w has m
 * entries, none negative. V (N x at least P) is work space; some hundred columns keep the second
 * product fast. With `first`, H is overwritten. 3 N^2 P + N^3 flops. */
void kn_decomp_contract(kn_ctx *ctx, const kn_decomp *d, kn_mat M, const double *w, kn_mat V,
                        bool first, kn_mat H);

/* Adds a dense decomposition of size N to the memory plan, where it stays; the work space of the
 * eigenproblem only raises the peak. */
void kn_decomp_need(kn_mem_plan *r, ptrdiff_t N);

#endif
