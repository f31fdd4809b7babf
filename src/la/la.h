/* The only door to BLAS and LAPACK. Sizes are ptrdiff_t outside, up to 2^30 each.
 * Symmetric matrices live in their lower triangle; the upper one is neither read nor trusted. */
#ifndef KN_LA_LA_H
#define KN_LA_LA_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "la/blas_threads.h"

typedef enum kn_trans { KN_N, KN_T } kn_trans;

/* Products and triangular solves run on the context's threads, cut up by the sizes alone: the same
 * bits for any number of them. Where C is small and the inner dimension long they take up to 16 MB
 * for a moment. With NULL for the context they run on the calling thread, which must then be a
 * worker of kn_la_parallel; a worker may not give a context. */

/* C = alpha op(A) op(B) + beta C */
void kn_gemm(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, kn_trans tb, kn_mat B, double beta,
             kn_mat C);

/* C = alpha A A' + beta C (KN_N) or alpha A' A + beta C (KN_T), lower triangle. */
void kn_syrk(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, double beta, kn_mat C);

/* The same two in float32: twice as fast, sums rounded at 6e-8. */
void kn_gemm_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, kn_trans tb, kn_fmat B,
                 float beta, kn_fmat C);
void kn_syrk_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, float beta, kn_fmat C);

/* B = B op(L)^-1 (right) or op(L)^-1 B (left), L lower triangular. */
void kn_trsm_right(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B);
void kn_trsm_left(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B);

void kn_mirror(kn_mat A); /* upper triangle = lower triangle */

/* A = U diag(w) U', w ascending. A (lower triangle) is replaced by U. dsyevd; dsyevr from
 * n = 32767, where dsyevd's 32-bit workspace size overflows. Above n = 256 on the BLAS's own
 * threads, and then the bits change with their number. */
kn_status kn_eig(kn_ctx *ctx, kn_mat A, double *w);
/* The same on one thread, whatever the size: the same bits for any number of threads. */
kn_status kn_eig_reproducible(kn_ctx *ctx, kn_mat A, double *w);

/* The pair C (positive semidefinite), S (positive definite): W'S W = I, W'C W = diag(c), ascending
 * and none negative, Q = S W = W^-T, so that C = Q diag(c) Q', S = Q Q'; log_det = ln|S|. Lower
 * triangles are read; both matrices are overwritten. dpotrf, two triangular solves, dsyevd. */
typedef struct kn_eig_pair_out {
    kn_mat W, Q; /* n x n */
    double *c;   /* n */
    double *log_det;
} kn_eig_pair_out;
kn_status kn_eig_pair(kn_ctx *ctx, kn_mat C, kn_mat S, const kn_eig_pair_out *out);

/* Is A (lower triangle, which is overwritten) positive definite? n^3/3 flops. */
bool kn_is_positive(kn_ctx *ctx, kn_mat A);

enum { KN_CHOL_ALONE = 512 }; /* up to this size a factor takes a millisecond, on one thread */

/* A = L L', lower triangle replaced by L. `what` names the matrix in the message. Above
 * KN_CHOL_ALONE on the BLAS's own threads. */
kn_status kn_chol(kn_ctx *ctx, kn_mat A, const char *what);

/* A = Q R by reflections, n x p: A is replaced by Q, its first min(n, p) columns, orthonormal
 * whatever the rank of A; R min(n, p) x p. On one thread. 4 n p^2 flops. */
kn_status kn_qr(kn_ctx *ctx, kn_mat *A, kn_mat R);

/* Pivoted Cholesky of an n x n positive semidefinite matrix given by its diagonal and a function
 * for its columns; A ~ L L' with L n x rank. Stops when the trace of the residual is at most
 * tol times the trace, at max_rank, or when no positive pivot is left. diag is overwritten by the
 * residual's. Cost n rank^2 flops and rank columns; A is never formed. */
typedef void (*kn_column_fn)(void *self, ptrdiff_t j, double *column);
kn_status kn_pivoted_chol(kn_ctx *ctx, double *diag, kn_column_fn column, void *self, double tol,
                          kn_mat L, ptrdiff_t *pivot, ptrdiff_t *rank, double *residual);

/* Passes what kn_eig of size n takes beside the matrix itself. */
void kn_eig_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n);
void kn_qr_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t p); /* the same */

#endif
