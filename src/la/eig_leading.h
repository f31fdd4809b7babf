/* Leading eigenvectors of a symmetric matrix, with reusable work space, so that many problems can
 * be solved in parallel inside kn_la_parallel. */
#ifndef KN_LA_EIG_LEADING_H
#define KN_LA_EIG_LEADING_H

#include "base/memory/plan.h"
#include "la/eig_workspace.h"
#include "la/la.h"

/* Work space for problems up to size n, k vectors each. Up to k = n/4 by dsytrd, dstemr, dormtr,
 *
 *     4/3 n^3 + 2 n^2 k     flops: half the time of dsyevd at n = 1800, k = 128
 *
 * above that by dsyevd, which is then faster. */
typedef struct kn_eig_top_work {
    bool few;     /* solved by dstemr; else by dsyevd */
    kn_mat A;     /* n x n: input, lower triangle; overwritten */
    kn_mat Z;     /* n x k */
    bool careful; /* use dstedc instead of dstemr, as after a failure of dstemr; for tests */
    kn_eig_workspace room;
} kn_eig_top_work;

/* Allocates the work space. KN_ERR_SHAPE if n > 32766. */
kn_status kn_eig_top_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_top_work *out);
void kn_eig_top_clear(kn_eig_top_work *w); /* {0} is allowed */

/* s[k] = the k largest eigenvalues of the leading n x n block of w->A, descending; V (n x k) =
 * their vectors. Returns 0, -1 if the matrix is not finite, > 0 if LAPACK did not converge. It has
 * no context, because several threads may call it, each with its own work space. */
int kn_eig_top(kn_eig_top_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

/* Memory plan of kn_eig_top_new. */
void kn_eig_top_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t k);

#endif
