/* The leading eigenvectors only, and many such problems side by side. */
#ifndef KN_LA_EIG_LEADING_H
#define KN_LA_EIG_LEADING_H

#include "base/memory/plan.h"
#include "la/eig_workspace.h"
#include "la/la.h"

/* Work space for problems up to size n, k vectors each. Up to k = n/4 by dsytrd, dstemr, dormtr,
 *
 *     4/3 n^3 + 2 n^2 k     flops: half the time of dsyevd at n = 1800, k = 128
 *
 * beyond by dsyevd, which is faster there. */
typedef struct kn_eig_top_work {
    bool few;     /* by dstemr; else dsyevd */
    kn_mat A;     /* n x n: the matrix goes here, lower triangle; used up */
    kn_mat Z;     /* n x k */
    bool careful; /* not by dstemr, which now and then gives up; then this is done by itself */
    kn_eig_workspace room;
} kn_eig_top_work;

kn_status kn_eig_top_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_top_work *out);
void kn_eig_top_clear(kn_eig_top_work *w);

/* The k largest eigenvalues of the leading n x n of w->A into s (k, descending), their vectors into
 * V (n x k). Not finite (-1) or not converged (> 0) is left to the caller to report: several
 * threads may be at work, each with its own work space, inside kn_la_parallel. */
int kn_eig_top(kn_eig_top_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

void kn_eig_top_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t k);

#endif
