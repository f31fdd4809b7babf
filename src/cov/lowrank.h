/* Low-rank decomposition of R0 from features, and its gradient                      [METHOD 6a]
 *
 *     F   = [columns of exact terms | K_nm of the rest, at m pivots]         N x m0  [features.h]
 *     Phi = [columns times the root of their weight | L = K_nm Lm^-T],  K_mm = Lm Lm'
 *     R0 ~ Phi Phi',  Phi'H^-1 Phi = W diag(r) W',  U = H^-1 Phi W r^-1/2  N x m
 *     R0 ~ H U diag(r) U'H
 *     R0* U = F_* map for any rows *,  map = [roots W r^1/2; Lm^-T W r^1/2]
 *
 * A category with many levels is held as the level of each row [indicators.h]: its columns are no
 * part of Phi, its block of Phi'H^-1 Phi is diagonal, and the eigenproblem is reduced. This needs
 * a level in every row, and groups within levels.
 *
 * Pivots are rows of X that a pivoted Cholesky factorisation of the rest chooses, until the trace
 * of the residual is below tol of the trace of the rest. Directions with r_i < m eps r_max are
 * rounding and dropped (m <= m0). For given pivots everything below is exact; the gradient is that
 * of the approximation. With groups Phi'H^-1 Phi is computed from sums over groups, so each
 * further gamma costs only an eigenproblem of size m0.
 *
 * Use: kn_lowrank_new, set tol, then for each theta kn_lowrank_at, kn_lowrank_decompose and
 * kn_lowrank_project. */
#ifndef KN_COV_LOWRANK_H
#define KN_COV_LOWRANK_H

#include "base/memory/plan.h"
#include "cov/eigen_dense.h"
#include "cov/indicators.h"

typedef struct kn_lowrank {
    kn_mat X;                /* N x F design, borrowed */
    kn_mat Z;                /* N x P coordinates to project on U, borrowed */
    const kn_groups *groups; /* borrowed; NULL: none */
    kn_features features;
    kn_indicators block; /* count 0: none; the other features are thin */
    double *level;       /* N, the level of each row; NULL: no block */
    double *group_level; /* level of each group; NULL: no block, or no groups */
    ptrdiff_t max_rank;  /* largest number of pivots */
    double tol;          /* requested residual trace over trace; set by the caller */
    ptrdiff_t n_set;     /* pivots chosen, 0: none yet; */
    ptrdiff_t *set;      /* rows of X, kept while the residual is below 3 tol */
    double residual;     /* relative residual at the theta where they were chosen */
    kn_pairs set_pairs;  /* pair statistics among them */
    /* State of the last kn_lowrank_at, which may use fewer pivots. */
    double theta[KN_COV_THETA], rest[KN_COV_THETA];
    double *root;            /* square roots of the weights of the exact columns */
    ptrdiff_t n_used, *used; /* pivots in use, as rows of X */
    double residual_used;
    kn_pairs pairs;      /* pair statistics among the pivots in use */
    kn_mat base;         /* n_used x F, their rows of X */
    kn_mat Lm;           /* n_used x n_used, Cholesky factor of K_mm */
    ptrdiff_t m0;        /* features */
    kn_mat Phi;          /* N x at least m1, the thin features */
    kn_mat gram, PhiZ;   /* Phi'Phi  m1 x m1; of all features and Z  m0 x P */
    kn_mat cross;        /* count x m1, products of the block with Phi */
    double *sizes;       /* count, diagonal of its own products */
    kn_mat sums, z_sums; /* sums over groups: groups x m1 of Phi, groups x P of Z */
    double *self;        /* N, diagonal of the rest */
    ptrdiff_t *place;    /* N, place of each row among the rows sorted by value */
} kn_lowrank;

/* Returns whether H differs from I at this gamma. */
static inline bool kn_lowrank_grouped(const kn_lowrank *w, double gamma)
{
    return w->groups && gamma > 0;
}

/* Allocates a low-rank approximation of R0 (covariance between participants) over the rows X (N
 * x F) with at most max_rank features, exact columns included, for coordinates Z (N x P). X, Z
 * and groups are borrowed; groups may be NULL. The caller clears *out, also after an error. */
kn_status kn_lowrank_new(kn_ctx *ctx, kn_mat X, kn_mat Z, const kn_groups *groups,
                         const kn_cov *cov, ptrdiff_t max_rank, kn_lowrank *out);
/* Holds the category with most columns as levels if it has at least `least` columns, and the rows
 * and groups permit it. kn_lowrank_new does so for KN_INDICATORS_FROM. Before kn_lowrank_at. */
kn_status kn_lowrank_block(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t least);
/* Frees the contents; accepts {0}. */
void kn_lowrank_clear(kn_lowrank *w);

/* Starts from the n pivots of an earlier computation (rows of X, at most max_rank) and their
 * residual. */
kn_status kn_lowrank_set_pivots(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t n, const ptrdiff_t *set,
                                double residual);

/* Computes the features Phi of R0 (covariance between participants) at theta and their Gram
 * matrix for the functions below. Chooses pivots the first time and where the residual exceeds 3
 * tol. KN_ERR_NUMERIC if R0 is zero; KN_ERR_CANCELLED. */
kn_status kn_lowrank_at(kn_ctx *ctx, kn_lowrank *w, const double *theta);

/* Computes eigenvalues r (m) and the map from features to eigenvectors of the low-rank R0
 * (covariance between participants) at the theta of kn_lowrank_at, with group noise d->gamma:
 * fills *d with m, r, map, rotation, pivot, base and residual (above tol if max_rank pivots do
 * not suffice). Does not compute the eigenvectors U; see kn_decomp_vectors. */
kn_status kn_lowrank_decompose(kn_ctx *ctx, kn_lowrank *w, kn_decomp *d);

/* Computes out = alpha F R + beta out (n x k) for rows first .. first + n - 1 of the weighted
 * features F (N x m0); R m0 x k. 2 n m1 k flops. */
void kn_lowrank_times(kn_ctx *ctx, const kn_lowrank *w, ptrdiff_t first, double alpha, kn_mat R,
                      double beta, kn_mat out);
/* Copies the weighted features to out (N x m0). */
void kn_lowrank_copy(const kn_lowrank *w, kn_mat out);

/* Computes A = U'Z (m x P), the coordinates in the eigenvectors of d, after
 * kn_lowrank_decompose. */
kn_status kn_lowrank_project(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat A);
/* Sets rest_p = z_p'H^-1 z_p - |A_p|^2 (P), the energy of each coordinate z_p (N) outside the
 * eigenvectors U; H: group noise I + gamma G, A = U'Z (m x P; U includes H^-1). Eigenvectors
 * with eigenvalues near rounding do not have exactly unit length; rest takes up the difference,
 * with its sign, so that the total energy is right. */
void kn_lowrank_rest(const kn_lowrank *w, double gamma, kn_mat A, double *rest);

/* Components p ~ N(0, c_p R0 + d_p H) that share a decomposition, for the gradient. Coordinates
 * are Z U_C (UC empty: Z); A = U'Z U_C (m x P); M = A c^1/2/(c r + d); weight_i = sum_p c_p/(c_p
 * r_i + d_p). All borrowed. A component whose column of M is zero does not contribute. */
typedef struct kn_lowrank_part {
    const kn_decomp *R0;
    kn_mat UC, A, M;
    const double *c, *d, *weight;
} kn_lowrank_part;

/* Computes g = dLML/dtheta for all parameters of R0 (covariance between participants), summed
 * over n parts, one per cell. N m (4 pivots + 2 P) flops. */
kn_status kn_lowrank_gradient(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part, int n,
                              double *g);

/* Computes U (N x m) of a low-rank decomposition from the design X (N x F). groups may be NULL. 2
 * N m m0 flops. */
kn_status kn_decomp_vectors(kn_ctx *ctx, const kn_decomp *d, const kn_groups *groups, kn_mat X,
                            kn_mat U);
/* Computes RU = R0* U (n x m) for any rows Xs (n x F); low rank only. F is work space of n rows and
 * kn_decomp_cross_columns columns. */
void kn_decomp_cross(kn_ctx *ctx, const kn_decomp *d, kn_mat Xs, kn_mat F, kn_mat RU);
ptrdiff_t kn_decomp_cross_columns(const kn_decomp *d);

/* Predicts in plan r the memory of a kn_lowrank with at most s->M features of s->N rows, which
 * stays in the plan; the work space of its functions only raises the peak. */
void kn_lowrank_need(kn_mem_plan *r, const kn_problem_size *s);
/* Predicts in plan r the memory of kn_lowrank_gradient for s->P components: only the peak rises. */
void kn_lowrank_gradient_need(kn_mem_plan *r, const kn_problem_size *s);
/* Predicts in plan r the memory of kn_decomp_vectors: only the peak rises. */
void kn_lowrank_vectors_need(kn_mem_plan *r, const kn_problem_size *s);
/* Predicts in plan r the memory of what a kn_decomp of low rank keeps after the fit, which stays
 * in the plan. */
void kn_lowrank_kept_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
