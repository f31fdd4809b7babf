/* Linear algebra: products, triangular solves, Cholesky, QR and eigendecompositions. la is the only
 * layer that calls BLAS and LAPACK. Sizes are ptrdiff_t, up to 2^30 each. Symmetric matrices are
 * stored in the lower triangle; the upper one is not read. */
#ifndef KN_LA_LA_H
#define KN_LA_LA_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "la/openblas.h"

typedef enum kn_trans { KN_N, KN_T } kn_trans; /* op(A) = A or A' */

/* Products and triangular solves run on the threads of the context, split into tiles by the sizes
 * alone (internal.h): the same bits for any number of threads. If C is small and the inner
 * dimension long, they use up to 16 MB of temporary memory. ctx NULL: they run on the calling
 * thread, which must be a worker of kn_la_parallel; such a worker must not pass a context. Sizes
 * that do not match are a programming error (assert). */

/* Computes C = alpha op(A) op(B) + beta C, op by ta and tb: KN_N as it is, KN_T transposed. ctx
 * NULL: inside kn_la_parallel, in one call. The same bits for any number of threads. */
void kn_gemm(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, kn_trans tb, kn_mat B, double beta,
             kn_mat C);

/* Computes C = alpha A A' + beta C (KN_N) or alpha A' A + beta C (KN_T), lower triangle. ctx
 * NULL: inside kn_la_parallel. */
void kn_syrk(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, double beta, kn_mat C);

/* Computes kn_gemm in float32: twice as fast, relative rounding 6e-8 per operation. */
void kn_gemm_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, kn_trans tb, kn_fmat B,
                 float beta, kn_fmat C);
/* Computes kn_syrk in float32: twice as fast, relative rounding 6e-8 per operation. */
void kn_syrk_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, float beta, kn_fmat C);

/* Solves in place B <- B op(L)^-1, L lower triangular. ctx NULL: inside kn_la_parallel. */
void kn_trsm_right(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B);
/* Solves in place B <- op(L)^-1 B, L lower triangular. ctx NULL: inside kn_la_parallel. */
void kn_trsm_left(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B);

/* Copies the lower triangle of the square A to its upper triangle. */
void kn_mirror(kn_mat A);

/* A = U diag(w) U', w[n] ascending. A (lower triangle) is replaced by U. dsyevd; dsyevr from
 * n = 32767, where dsyevd's 32-bit workspace size overflows. Above n = 256 it runs on the threads
 * of the BLAS, and the last bits change with their number. KN_ERR_NUMERIC if A is not finite or
 * LAPACK does not converge, KN_ERR_SHAPE if A is not square or too large. */
kn_status kn_eig(kn_ctx *ctx, kn_mat A, double *w);
/* Solves the same problem as kn_eig, on one thread for any size: the same bits for any number of
 * threads. */
kn_status kn_eig_reproducible(kn_ctx *ctx, kn_mat A, double *w);

/* Outputs of kn_eig_generalized, allocated by the caller. */
typedef struct kn_eig_generalized_out {
    kn_mat W, Q;     /* n x n  vectors; S W */
    double *c;       /* n  values, ascending */
    double *log_det; /* ln|S| */
} kn_eig_generalized_out;

/* Solves the generalised eigenproblem of C (positive semidefinite) and S (positive definite), n x
 * n: W'S W = I, W'C W = diag(c), c >= 0, Q = S W = W^-T, so that C = Q diag(c) Q', S = Q Q'. Lower
 * triangles are read; both matrices are overwritten. dpotrf, two triangular solves, dsyevd.
 * KN_ERR_NUMERIC if S is not positive definite, and as kn_eig. */
kn_status kn_eig_generalized(kn_ctx *ctx, kn_mat C, kn_mat S, const kn_eig_generalized_out *out);

/* Returns whether A (n x n, lower triangle, overwritten) is finite and positive definite. n^3/3
 * flops. */
bool kn_is_positive(kn_ctx *ctx, kn_mat A);

enum { KN_CHOL_ONE_THREAD = 512 }; /* up to this size a Cholesky factor takes 1 ms, on one thread */

/* A = L L'; the lower triangle is replaced by L. `what` names the matrix in the message. Above
 * KN_CHOL_ONE_THREAD it runs on the threads of the BLAS. KN_ERR_NUMERIC if not positive definite.
 */
kn_status kn_chol(kn_ctx *ctx, kn_mat A, const char *what);

/* A = Q R by Householder reflections. A (n x p) is replaced by Q (n x min(n, p), A->cols is set),
 * orthonormal for any rank of A; R is min(n, p) x p. On one thread. 4 n p^2 flops.
 * KN_ERR_NUMERIC if A is not finite. */
kn_status kn_qr(kn_ctx *ctx, kn_mat *A, kn_mat R);

/* The same for the first R.rows columns of the square A (n x n), R.rows <= n: A is replaced by an
 * orthogonal matrix of which these columns have the span of the former ones, R is p x p. 4 n^2 p
 * flops. */
kn_status kn_qr_complete(kn_ctx *ctx, kn_mat A, kn_mat R);

/* Writes column j (n values) of the matrix. */
typedef void (*kn_column_fn)(void *self, ptrdiff_t j, double *column);

/* Pivoted Cholesky of an n x n positive semidefinite matrix A, given by its diagonal and a function
 * for its columns; A ~ L L' with the first *rank columns of L (n x max_rank). Stops if the trace of
 * the residual is at most tol times the trace, at max_rank, or if no positive pivot is left.
 * The pivot is the largest entry of the diagonal; of equal ones, up to rounding, that with the
 * smallest place[i] (n; NULL: i). diag[n] is overwritten by the diagonal of the residual;
 * pivot[max_rank]: its pivots; *residual: trace of the residual over trace. KN_ERR_NUMERIC if diag
 * has a negative value or NaN. Cost n rank^2 flops and rank columns; A is never formed. */
kn_status kn_pivoted_chol(kn_ctx *ctx, double *diag, const ptrdiff_t *place, kn_column_fn column,
                          void *self, double tol, kn_mat L, ptrdiff_t *pivot, ptrdiff_t *rank,
                          double *residual);

/* Predicts in plan r the memory of the work space of kn_eig for size n: only the peak rises. */
void kn_eig_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n);
/* Predicts in plan r the memory of the work space of kn_qr for an n x p matrix: only the peak
 * rises. */
void kn_qr_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t p);

/* ---- band matrices --------------------------------------------------------------------------- */

/* Cholesky factor of a symmetric positive definite band matrix (dpbtrf), and solves with it
 * (dpbtrs).
 *
 * Lower band: entry (i, j), 0 <= i - j <= width, is data[i - j + j (width + 1)]. The factor costs
 * n width^2 flops, a right side 4 n width. Each runs on one thread, so that the bits do not depend
 * on the number of threads. */

typedef struct kn_band {
    ptrdiff_t n, width; /* width: diagonals below the main one */
    double *data;       /* (width + 1) x n */
} kn_band;

/* Bytes that kn_band_new allocates. */
double kn_band_bytes(ptrdiff_t n, ptrdiff_t width);
/* Allocates a band matrix of zeros. KN_ERR_SHAPE if width >= n or the size is too large. */
kn_status kn_band_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t width, kn_band *out);
void kn_band_clear(kn_band *band); /* {0} is allowed */

/* Address of entry (i, j), 0 <= i - j <= width. */
static inline double *kn_band_at(const kn_band *b, ptrdiff_t i, ptrdiff_t j)
{
    return b->data + (i - j) + j * (b->width + 1);
}

/* Replaces the band by its Cholesky factor L. `what` names the matrix in the message.
 * KN_ERR_NUMERIC if it is not positive definite. */
kn_status kn_band_chol(kn_ctx *ctx, kn_band *band, const char *what);
/* Computes B <- (L L')^-1 B (n x k) in place with the factor of kn_band_chol, columns in
 * parallel on the context's threads. */
void kn_band_solve(kn_ctx *ctx, const kn_band *factor, kn_mat B);

#endif
