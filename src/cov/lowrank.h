/* R0 of low rank, by features                                                       [METHOD 6a]
 *
 *     F = [columns of exact terms | K_nm of the rest, at m pivots]         N x m0  [features.h]
 *     Phi = [columns times the root of their weight | L = K_nm Lm^-T],  K_mm = Lm Lm',  R0 ~ Phi
 * Phi' Phi'H^-1 Phi = W diag(r) W'     U = H^-1 Phi W r^-1/2  N x m     R0 ~ H U diag(r) U'H map:
 * R0* U = F_* map for any samples *,  map = [roots W r^1/2; Lm^-T W r^1/2]
 *
 * Pivots are rows of X picked by pivoted Cholesky of the rest until the residual's trace is tol of
 * the rest's. Directions with r_i < m eps r_max are rounding and dropped (m <= m0). Given the
 * pivots everything below is exact, the gradient too: it is that of the approximation. With groups
 * Phi'H^-1 Phi comes from sums over groups, so each gamma costs an eigenproblem of size m0 only. */
#ifndef KN_COV_LOWRANK_H
#define KN_COV_LOWRANK_H

#include "base/memory/plan.h"
#include "cov/eigen_dense.h"
#include "cov/features.h"

typedef struct kn_lowrank {
    kn_mat X;                /* view, N x F */
    kn_mat Z;                /* view, N x P  what is projected */
    const kn_groups *groups; /* lent; NULL: none */
    kn_features features;
    ptrdiff_t max_rank; /* most pivots */
    double tol;         /* residual trace over trace that is aimed at */
    ptrdiff_t n_set;    /* pivots chosen, 0: none yet ... */
    ptrdiff_t *set;     /* ... rows of X; kept while they suffice */
    double residual;    /* where they were chosen */
    kn_pairs set_pairs; /* among them */
    /* of the last computation, which may use fewer of them */
    double theta[KN_COV_THETA], rest[KN_COV_THETA];
    double *root;            /* columns  of the exact terms' weights */
    ptrdiff_t n_used, *used; /* pivots in use: rows of X */
    double residual_used;
    kn_pairs pairs;      /* among them */
    kn_mat base;         /* n_used x F  their covariates */
    kn_mat Lm;           /* n_used x n_used */
    kn_mat Phi;          /* N x at least m0 */
    kn_mat gram, PhiZ;   /* Phi'Phi, Phi'Z */
    kn_mat sums, z_sums; /* groups x m0 of Phi; groups x P of Z */
    double *self;        /* N  diagonal of the rest */
} kn_lowrank;

/* Do groups count at this gamma? */
static inline bool kn_lowrank_grouped(const kn_lowrank *w, double gamma)
{
    return w->groups && gamma > 0;
}

/* At most max_rank features, exact columns included; X, Z and groups must outlive it. */
kn_status kn_lowrank_new(kn_ctx *ctx, kn_mat X, kn_mat Z, const kn_groups *groups,
                         const kn_cov *cov, ptrdiff_t max_rank, kn_lowrank *out);
void kn_lowrank_clear(kn_lowrank *w);

/* n pivots as an earlier computation chose them, and the residual where it did. */
kn_status kn_lowrank_set_pivots(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t n, const ptrdiff_t *set,
                                double residual);

/* The features at theta, for what follows. */
kn_status kn_lowrank_at(kn_ctx *ctx, kn_lowrank *w, const double *theta);

/* d = decomposition there, for d->gamma: m, r, map, turn, and from the pivots pivot, base, residual
 * (above tol when max_rank pivots do not suffice). U is left out; kn_decomp_vectors makes it. */
kn_status kn_lowrank_decompose(kn_ctx *ctx, kn_lowrank *w, kn_decomp *d);

/* A = U'Z   m x P, after a decomposition; and |z_p|^2 - |A_p|^2 in the metric of H: the energy in
 * the directions left. Vectors of eigenvalues near rounding are not quite of length 1; what A has
 * too much or too little of is here, with its sign, so that the energy of all is right. */
kn_status kn_lowrank_project(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat A);
void kn_lowrank_rest(const kn_lowrank *w, double gamma, kn_mat A, double *rest);

/* Components p ~ N(0, c_p R0 + d_p H) that share a decomposition: coordinates Z U_C (UC none: Z);
 * A m x P = U'Z U_C; M = A c^1/2/(c r + d), weight_i = sum_p c_p/(c_p r_i + d_p). A component whose
 * column of M is zero has no part in it. */
typedef struct kn_lowrank_part {
    const kn_decomp *R0;
    kn_mat UC, A, M;
    const double *c, *d, *weight;
} kn_lowrank_part;

/* g = dLML/dtheta of R0's parameters, of n parts together. */
kn_status kn_lowrank_gradient(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part, int n,
                              double *g);

/* U of a low-rank decomposition, N x m, from the covariates. 2 N m m0 flops. */
kn_status kn_decomp_vectors(kn_ctx *ctx, const kn_decomp *d, const kn_groups *groups, kn_mat X,
                            kn_mat U);
/* R0* U, n x m, of any samples; low rank only. F n x features is work space. */
void kn_decomp_cross(kn_ctx *ctx, const kn_decomp *d, kn_mat Xs, kn_mat F, kn_mat RU);

/* Of s->M features among s->N samples, as many as there may be: what a kn_lowrank holds and,
 * passing, computing with it; a gradient for s->P components, passing; U, passing; what a kn_decomp
 * keeps.
 */
void kn_lowrank_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_lowrank_gradient_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_lowrank_vectors_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_lowrank_kept_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
