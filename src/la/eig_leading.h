/* Leading eigenvectors of a symmetric matrix, with reusable work space, so that many problems can
 * be solved in parallel inside kn_la_parallel. Cross-validation decomposes all folds at the same
 * time with it. */
#ifndef KN_LA_EIG_LEADING_H
#define KN_LA_EIG_LEADING_H

#include "base/memory/alloc.h"
#include "base/memory/plan.h"
#include "la/la.h"

/* ---- LAPACK workspace ------------------------------------------------------------------------ */

/* LAPACK work space of eig_leading.c and eig_leading_f32.c: symmetric eigenproblems by a
 * tridiagonal matrix, in double or float. A = Q T Q' by xSYTRD, vectors of T by xSTEMR, times Q by
 * xORMTR. */

typedef struct kn_eig_workspace {
    void *w, *d, *e, *d0, *e0, *tau; /* n values each */
    void *work;                      /* lwork values */
    void *iwork, *support;           /* LAPACK's integers: liwork, 2 n */
    ptrdiff_t lwork, liwork;
} kn_eig_workspace;

/* Smallest lwork for xSYTRD, xSTEMR and xORMTR of size n. */
ptrdiff_t kn_eig_workspace_min(ptrdiff_t n);

/* Allocates LAPACK work space for problems up to size n; lwork: length of `work`; value: bytes
 * of a value, 4 or 8. Cleared on error. */
kn_status kn_eig_workspace_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t lwork, size_t value,
                               kn_eig_workspace *out);
void kn_eig_workspace_clear(kn_eig_workspace *r); /* {0} is allowed */
/* Predicts in plan r the memory of kn_eig_workspace_new, which stays in the plan. */
void kn_eig_workspace_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t lwork,
                           size_t value);

/* ---- double ---------------------------------------------------------------------------------- */

/* Work space for problems up to size n, k vectors each. Up to k = n/4 by dsytrd, dstemr, dormtr,
 *
 *     4/3 n^3 + 2 n^2 k     flops: half the time of dsyevd at n = 1800, k = 128
 *
 * above that by dsyevd, which is then faster. */
typedef struct kn_eig_leading_work {
    bool few;     /* solved by dstemr; else by dsyevd */
    kn_mat A;     /* n x n: input, lower triangle; overwritten */
    kn_mat Z;     /* n x k */
    bool careful; /* use dstedc instead of dstemr, as after a failure of dstemr; for tests */
    kn_eig_workspace workspace;
} kn_eig_leading_work;

/* Allocates the work space of kn_eig_leading for matrices up to n x n and k eigenpairs.
 * KN_ERR_SHAPE if n > 32766. Cleared on error. */
kn_status kn_eig_leading_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_leading_work *out);
void kn_eig_leading_clear(kn_eig_leading_work *w); /* {0} is allowed */

/* s[k] = the k largest eigenvalues of the leading n x n block of w->A, descending; V (n x k) =
 * their vectors. Returns 0, -1 if the matrix is not finite, > 0 if LAPACK did not converge. It has
 * no context, because several threads may call it, each with its own work space. */
int kn_eig_leading(kn_eig_leading_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

/* Predicts in plan r the memory of kn_eig_leading_new, which stays in the plan. */
void kn_eig_leading_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t k);

/* ---- float32 --------------------------------------------------------------------------------- */

/* Leading eigenvectors in float32, for callers that use them in float32. */

/* Work space for positive semidefinite problems up to size n with k vectors each. A, divided by its
 * largest element, is decomposed by ssytrd, sstemr, sormtr (half the bytes of double); then
 *
 *     s_k = v_k'A v_k,  |v_k| = 1     in double
 *
 * The error of the vectors is about 1e-6, that of the values its square. Cost
 * 4/3 n^3 + 4 n^2 k flops. */
typedef struct kn_eig_leading_f32_work {
    kn_mat A; /* n x n: input, lower triangle; the upper one is filled from it */
    kn_mat AV;
    kn_fmat F, Z; /* n x n, n x k */
    kn_eig_workspace workspace;
} kn_eig_leading_f32_work;

/* Allocates the work space of kn_eig_leading_f32 for matrices up to n x n and k eigenpairs.
 * Cleared on error. */
kn_status kn_eig_leading_f32_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k,
                                 kn_eig_leading_f32_work *out);
void kn_eig_leading_f32_clear(kn_eig_leading_f32_work *w); /* {0} is allowed */

/* Computes the same as kn_eig_leading, but with eigenvectors in single precision; eigenvalues
 * are then Rayleigh quotients in double. Only inside kn_la_parallel. */
int kn_eig_leading_f32(kn_eig_leading_f32_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

/* Predicts in plan r the memory of kn_eig_leading_f32_new, which stays in the plan. */
void kn_eig_leading_f32_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t k);

#endif
