/* The Gram matrix G = YY' of the responses and its eigenvectors, from which principal components
 * and those of every fold follow                                                        [METHOD 5b]
 */
#ifndef KN_GP_BASIS_GRAM_H
#define KN_GP_BASIS_GRAM_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

typedef struct kn_gram {
    kn_mat G;       /* N x N   Y Y', full symmetric */
    kn_mat U;       /* N x N   its eigenvectors, leading first */
    double *s2;     /* N       its eigenvalues, descending, none negative */
    kn_type made;   /* KN_F32: entries are good to 1e-7 of the diagonal, not to 1e-15 */
    double noise;   /* an eigenvalue of G, or of a part of it, up to this is G's own rounding */
    ptrdiff_t rank; /* eigenvalues above that */
} kn_gram;

/* N^2 T flops and one eigenproblem of size N; reads Y once. Products of float32 responses are made
 * in float32 where double would take long, and added up in double. Collective. */
kn_status kn_gram_new(kn_ctx *ctx, const kn_responses *Y, kn_gram *out);
kn_status kn_gram_made(kn_ctx *ctx, const kn_responses *Y, kn_type made, kn_gram *out);
kn_type kn_gram_precision(const kn_responses *Y); /* what kn_gram_new takes */
void kn_gram_clear(kn_gram *g);
/* Z = U_P diag(s): coordinates in the leading P components, without their basis. */
kn_status kn_gram_coordinates(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_mat *Z);

bool kn_gram_long(
    const kn_problem_size *s); /* enough for blocks to be read by all threads at once */
void kn_gram_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
