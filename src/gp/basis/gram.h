/* The Gram matrix G = YY' of the responses and its eigenvectors. The principal components of all
 * participants and of every fold follow from it [METHOD 5b] */
#ifndef KN_GP_BASIS_GRAM_H
#define KN_GP_BASIS_GRAM_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

/* A Gram matrix and its decomposition; owns its arrays. */
typedef struct kn_gram {
    kn_mat G;   /* N x N  Y Y', both triangles */
    kn_mat U;   /* N x N  its eigenvectors, leading first */
    double *s2; /* N  its eigenvalues, descending, not negative */
    /* precision of the products; KN_F32: entries accurate to 1e-7 of the diagonal, not 1e-15 */
    kn_type made;
    double noise;   /* eigenvalues of G, or of a submatrix, up to this are rounding */
    ptrdiff_t rank; /* number of eigenvalues above noise */
} kn_gram;

/* Computes G and its eigenvectors: N^2 T flops and one eigenproblem of size N; reads Y once.
 * kn_gram_new multiplies float32 responses in float32 if N^2 T exceeds 1e11, with the sum over
 * blocks in double; kn_gram_made uses the given precision. Collective. */
kn_status kn_gram_new(kn_ctx *ctx, const kn_responses *Y, kn_gram *out);
kn_status kn_gram_made(kn_ctx *ctx, const kn_responses *Y, kn_type made, kn_gram *out);
kn_type kn_gram_precision(const kn_responses *Y); /* the precision of kn_gram_new */
/* Frees g and sets it to {0}. */
void kn_gram_clear(kn_gram *g);
/* Z = U_P diag(s) (N x P, owned by the caller): coordinates in the leading P components, without
 * computing B. */
kn_status kn_gram_coordinates(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_mat *Z);

/* True if N^2 T exceeds 1e11: enough work for all threads to read blocks at once. */
bool kn_gram_long(const kn_problem_size *s);
/* Memory plan of kn_gram_new, kept. */
void kn_gram_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
