/* The leading eigenvectors in float32, for those who go on in float32 with them. */
#ifndef KN_LA_EIG_LEADING_F32_H
#define KN_LA_EIG_LEADING_F32_H

#include "base/memory/plan.h"
#include "la/eig_workspace.h"
#include "la/la.h"

/* Work space for positive semidefinite problems up to size n, k vectors each: A, divided by its
 * largest element, by ssytrd, sstemr, sormtr, which read half as many bytes as those of double, and
 *
 *     s_k = v_k'A v_k,  |v_k| = 1     in double: vectors are good to 1e-6, values to its square
 *
 * 4/3 n^3 + 4 n^2 k flops. */
typedef struct kn_eig_top_single {
    kn_mat A; /* n x n: the matrix goes here, lower triangle; it becomes both */
    kn_mat AV;
    kn_fmat F, Z; /* n x n, n x k */
    kn_eig_workspace room;
} kn_eig_top_single;

kn_status kn_eig_top_single_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_top_single *out);
void kn_eig_top_single_clear(kn_eig_top_single *w);

/* As kn_eig_top. */
int kn_eig_top_single_of(kn_eig_top_single *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V);

void kn_eig_top_single_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t k);

#endif
