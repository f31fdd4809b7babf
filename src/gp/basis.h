/* The basis B of the responses and their coordinates Z = Y B                    [METHOD 1, 9.10] */
#ifndef KN_GP_BASIS_H
#define KN_GP_BASIS_H

#include "gp/responses.h"

typedef struct kn_gram {
    kn_mat G;       /* N x N   Y Y', full symmetric */
    kn_mat U;       /* N x N   its eigenvectors, leading first */
    double *s2;     /* N       its eigenvalues, descending, none negative */
    ptrdiff_t rank; /* eigenvalues above rounding */
} kn_gram;

/* N^2 T flops and one eigenproblem of size N; reads Y once. */
kn_status kn_gram_new(kn_ctx *ctx, const kn_responses *Y, kn_gram *out);
void kn_gram_clear(kn_gram *g);

typedef struct kn_basis {
    kn_mat B;             /* T x P, B'B = I */
    kn_mat Z;             /* N x P, Z = Y B */
    double total;         /* |Y|_F^2 */
    double E;             /* |Y|_F^2 - |Z|_F^2, the energy of the complement */
    bool orthonormalised; /* a given basis was not orthonormal */
    bool pca;
} kn_basis;

/* Leading P principal components; the largest |entry| of each column is positive. */
kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out);
/* A basis of the user's own, T_all x P: rows of responses left out are dropped. */
kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out);
void kn_basis_clear(kn_basis *b);

#endif
