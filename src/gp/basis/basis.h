/* The basis B of the responses and the coordinates Z = Y B: principal components, or a basis of
 * the user; and the operations that both need [METHOD 1, 9.10]. Everything after this step sees
 * the responses as P coordinates per participant. */
#ifndef KN_GP_BASIS_BASIS_H
#define KN_GP_BASIS_BASIS_H

#include "base/memory/plan.h"
#include "gp/basis/gram.h"

/* A basis with the coordinates of N participants; owns B and Z. */
typedef struct kn_basis {
    kn_mat B;             /* T x P  B'B = I */
    kn_mat Z;             /* N x P  Z = Y B */
    double total;         /* |Y|_F^2 */
    double E;             /* |Y|_F^2 - |Z|_F^2, the energy of the complement */
    bool orthonormalised; /* the user's basis was not orthonormal and was orthonormalised */
    /* principal components of Y */
    bool pca;
} kn_basis;

/* Computes the leading P principal components from the Gram matrix of Y, of either side; the
 * largest |entry| of each column of B is positive. P <= gram->rank. 2 N P T flops. Collective. */
kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out);
/* KN_ERR_ARGUMENT unless 1 <= P <= limit. Standardised responses have at most N - 1 principal
 * components [METHOD 2]. */
kn_status kn_basis_check(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, ptrdiff_t limit);

/* Takes the user's basis B (T_all x P, borrowed): selects the rows of the modelled responses,
 * orthonormalises the columns if necessary and projects Y. KN_ERR_DATA if columns are zero, not
 * finite or linearly dependent. Collective. */
kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out);
/* Frees B and Z and sets *b to {0}. */
void kn_basis_clear(kn_basis *b);

/* ---- operations on bases ---- */

/* Computes Z = (Y - 1 mean') B and *total = |Y - 1 mean'|^2 in double; reads Y once. mean: T or
 * NULL. Collective. */
kn_status kn_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_mat B, kn_mat Z,
                     double *total);
/* The same for the columns of b->B: sets b->Z, total and E. Collective. */
kn_status kn_basis_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_basis *b);
/* Rayleigh-Ritz: Z'Z = V diag V', B <- B V_P, Z <- Z V_P, so that Z'Z is diagonal and descending.
 * Collective. */
kn_status kn_basis_ritz(kn_ctx *ctx, kn_basis *b, ptrdiff_t P);
/* Makes the largest |entry| of each column of B positive; flips the columns of Z accordingly
 * [METHOD 9.10]. */
void kn_basis_fix_signs(kn_basis *b);
/* M <- M V in place (n x k times k x P), by strips of rows; M keeps its first P columns. */
kn_status kn_rotate(kn_ctx *ctx, kn_mat *M, kn_mat V);
/* S = B'B, lower triangle, summed over the blocks of Y's responses. KN_ERR_DATA if B is not
 * finite. Collective. */
kn_status kn_basis_angles(kn_ctx *ctx, const kn_responses *Y, kn_mat B, kn_mat S);

/* Memory plans. kn_project of N participants on P columns, kn_basis_ritz of k columns and
 * kn_basis_angles: temporary. kn_basis_need: a basis from the Gram matrix or of the user, kept. */
void kn_project_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
void kn_ritz_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t k);
void kn_angles_need(kn_mem_plan *r, ptrdiff_t P);
void kn_basis_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
