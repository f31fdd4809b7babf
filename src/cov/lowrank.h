/* R0 of low rank, for samples too many for an eigenproblem of size N                   [METHOD 6a]
 *
 *     pivots m0 rows of X picked by pivoted Cholesky until the residual's trace is tol of R0's
 *     K_mm = Lm Lm'        L = K_nm Lm^-T  N x m0        R0 ~ L L'
 *     L'L = V diag(r) V'   U = L V r^-1/2  N x m         R0 ~ U diag(r) U'
 *     map = Lm^-T V r^1/2  m0 x m,  so that R0* U = K_*m map for any samples *
 *
 * Directions with r_i < m eps r_max are rounding and dropped (m <= m0). N m (4 m + 4 P) flops for
 * value and gradient; work space N x m0. Given the pivots everything below is exact, the gradient
 * too: it is that of the approximation. */
#ifndef KN_COV_LOWRANK_H
#define KN_COV_LOWRANK_H

#include "base/rehearse.h"
#include "cov/dense.h"

typedef struct kn_lowrank {
    kn_mat X;           /* view, N x F */
    kn_cov cov;         /* of R0 */
    ptrdiff_t max_rank; /* most pivots */
    double tol;         /* residual trace over trace that is aimed at */
    ptrdiff_t n_set;    /* pivots chosen, 0: none yet ... */
    ptrdiff_t *set;     /* ... rows of X; kept while they suffice */
    double residual;    /* where they were chosen */
    kn_pairs set_pairs; /* among them */
    /* of the last computation, which may use fewer of them */
    kn_pairs pairs; /* among the pivots in use */
    kn_mat L;       /* N x at least m0 */
    kn_mat VL;      /* m0 x m   V r^-1/2: U = L VL */
    double *self;   /* N        diagonal of R0 */
} kn_lowrank;

/* X must outlive it. */
kn_status kn_lowrank_new(kn_ctx *ctx, kn_mat X, const kn_cov *cov, ptrdiff_t max_rank, double tol,
                         kn_lowrank *out);
void kn_lowrank_clear(kn_lowrank *w);

/* n pivots as an earlier computation chose them, and the residual where it did. */
kn_status kn_lowrank_set_pivots(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t n, const ptrdiff_t *set,
                                double residual);

/* d = decomposition at theta: m, r, pivot, base, map, residual (which is above tol when max_rank
 * pivots do not suffice). U is left out; kn_decomp_vectors makes it. */
kn_status kn_lowrank_compute(kn_ctx *ctx, kn_lowrank *w, const double *theta, kn_decomp *d);

/* A = U'Z   m x P, after a computation. */
kn_status kn_lowrank_project(kn_ctx *ctx, const kn_lowrank *w, kn_mat Z, kn_mat A);

/* g = dLML/dtheta of R0's parameters, for components p ~ N(0, c_p R0 + d_p I) with coordinates
 * Z U_C (UC none: Z); A m x P = U'Z U_C; M = A c^1/2/(c r + d), w_i = sum_p c_p/(c_p r_i + d_p). */
kn_status kn_lowrank_gradient(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat Z,
                              kn_mat UC, kn_mat A, const double *c, const double *dd, kn_mat M,
                              const double *weight, double *g);

/* Of s->M pivots among s->N samples, as many as there may be: what a kn_lowrank holds and, passing,
 * computing with it; a gradient for s->P components, passing; U, passing; what a kn_decomp keeps.
 */
void kn_lowrank_need(kn_rehearsal *r, const kn_need_shape *s);
void kn_lowrank_gradient_need(kn_rehearsal *r, const kn_need_shape *s);
void kn_lowrank_vectors_need(kn_rehearsal *r, const kn_need_shape *s);
void kn_lowrank_kept_need(kn_rehearsal *r, const kn_need_shape *s);

#endif
