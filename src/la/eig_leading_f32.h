/* Leading eigenvectors in float32, for callers that use them in float32. */
#ifndef KN_LA_EIG_LEADING_F32_H
#define KN_LA_EIG_LEADING_F32_H

#include "base/memory/plan.h"
#include "la/eig_workspace.h"
#include "la/la.h"

/* Work space for positive semidefinite problems up to size n with k vectors each. A, divided by its
 * largest element, is decomposed by ssytrd, sstemr, sormtr (half the bytes of double); then
 *
 *     s_k = v_k'A v_k,  |v_k| = 1     in double
 *
 * The error of the vectors is about 1e-6, that of the values its square. Cost
 * 4/3 n^3 + 4 n^2 k flops. */
typedef struct kn_eig_top_single {
    kn_mat A; /* n x n: input, lower triangle; the upper one is filled from it */
    kn_mat AV;
    kn_fmat F, Z; /* n x n, n x k */
    kn_eig_workspace room;
} kn_eig_top_single;

/* Allocates the work space. */
kn_status kn_eig_top_single_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_top_single *out);
void kn_eig_top_single_clear(kn_eig_top_single *w); /* {0} is allowed */

/* As kn_eig_top; only inside kn_la_parallel. */
int kn_eig_top_single_of(kn_eig_top_single *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

/* Memory plan of kn_eig_top_single_new. */
void kn_eig_top_single_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t k);

#endif
