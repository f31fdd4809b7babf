/* The basis B of the responses and their coordinates Z = Y B                    [METHOD 1, 9.10] */
#ifndef KN_GP_BASIS_BASIS_H
#define KN_GP_BASIS_BASIS_H

#include "base/memory/plan.h"
#include "gp/basis/gram.h"

typedef struct kn_basis {
    kn_mat B;             /* T x P, B'B = I */
    kn_mat Z;             /* N x P, Z = Y B */
    double total;         /* |Y|_F^2 */
    double E;             /* |Y|_F^2 - |Z|_F^2, the energy of the complement */
    bool orthonormalised; /* a given basis was not orthonormal */
    bool pca;
} kn_basis;

/* Leading P principal components; the largest |entry| of each column is positive. Collective. */
kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out);
/* A basis of the user's own, T_all x P: rows of responses left out are dropped. */
/* P >= 1, and not more than `most`: principal components of standardised responses number at most
 * N - 1 [METHOD 2]. */
kn_status kn_basis_check(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, ptrdiff_t most);

/* Collective. */
kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out);
void kn_basis_clear(kn_basis *b);

/* ---- what bases are made with ---- */

/* Z = (Y - 1 mean') B and total = |Y - 1 mean'|^2, in double, by one reading of Y. mean: T or NULL.
 * Collective. */
kn_status kn_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_mat B, kn_mat Z,
                     double *total);
/* The same of a basis: Z, total and E. Collective. */
kn_status kn_basis_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_basis *b);
/* Z'Z = V diag V', B <- B V_P, Z <- Z V_P (Rayleigh-Ritz): Z'Z is diagonal, descending.
 * Collective. */
kn_status kn_basis_ritz(kn_ctx *ctx, kn_basis *b, ptrdiff_t P);
/* The largest |entry| of each column of B becomes positive [METHOD 9.10]. */
void kn_basis_fix_signs(kn_basis *b);
/* M <- M V, n x k times k x P in place, by strips of rows; M keeps its first P columns. */
kn_status kn_rotate(kn_ctx *ctx, kn_mat *M, kn_mat V);
/* S = B'B, lower triangle, over the blocks of these responses. Collective. */
kn_status kn_basis_angles(kn_ctx *ctx, const kn_responses *Y, kn_mat B, kn_mat S);

/* kn_project of N samples on P columns, and kn_basis_ritz of k: both pass. A basis: of the fit's
 * gram, or given. */
void kn_project_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
void kn_ritz_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t k);
void kn_angles_need(kn_mem_plan *r, ptrdiff_t P);
void kn_basis_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
