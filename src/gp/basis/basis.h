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

/* Computes the leading P principal components of Y from its Gram matrix (N x N or T x T): out->B
 * (T x P) orthonormal, out->Z = Y B, energies; the largest |entry| of each column of B is
 * positive. P <= gram->rank. 2 N P T flops. out is owned by the caller and cleared on error.
 * Collective. */
kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out);
/* Checks a requested number of components: KN_ERR_ARGUMENT unless 1 <= P <= limit. Standardised
 * responses have at most N - 1 principal components [METHOD 2]. */
kn_status kn_basis_check(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, ptrdiff_t limit);

/* Takes the user's basis B (T_all x P, borrowed): selects the rows of the modelled responses,
 * orthonormalises the columns if necessary and projects Y. KN_ERR_DATA if columns are zero, not
 * finite or linearly dependent. Collective. */
kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out);
/* Frees B and Z and sets *b to {0}. */
void kn_basis_clear(kn_basis *b);

/* ---- operations on bases ---- */

/* Computes the coordinates Z = (Y - 1 mean') B (N x P, allocated by the caller) of N
 * participants in the columns of B (T x P) and *total = |Y - 1 mean'|^2, in double; reads Y
 * once, 2 N T P flops. mean: T or NULL. Collective. */
kn_status kn_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_mat B, kn_mat Z,
                     double *total);
/* Projects Y on the columns of b->B with kn_project: sets b->Z = (Y - 1 mean') B (N x P,
 * allocated by the caller), b->total = |Y - 1 mean'|^2 and the energy outside, b->E = total -
 * |Z|^2 (at least 0). mean: T or NULL. Collective. */
kn_status kn_basis_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_basis *b);
/* Rayleigh-Ritz rotation to the leading P axes of the k columns: Z'Z = V diag(w) V', B <- B V_P
 * (T x P), Z <- Z V_P (N x P), so that Z'Z is diagonal and descending. Root solves the k x k
 * problem. Collective. */
kn_status kn_basis_ritz(kn_ctx *ctx, kn_basis *b, ptrdiff_t P);
/* Makes the entry of largest absolute value in each column of B (T x P) positive by flipping
 * that column of B and of Z: signs of eigenvectors are arbitrary otherwise [METHOD 9.10]. Cannot
 * fail. */
void kn_basis_fix_signs(kn_basis *b);
/* Multiplies *M (n x k) by V (k x P, P <= k) in place, by strips of KN_BLOCK rows; M->cols
 * becomes P, its memory stays. KN_ERR_MEMORY only. */
kn_status kn_rotate(kn_ctx *ctx, kn_mat *M, kn_mat V);
/* Computes S = B'B (P x P, lower triangle) for a basis B (T x P), as an exact sum over the
 * blocks of Y's responses, so that ranks and threads do not change the bits. Does not read Y.
 * KN_ERR_DATA if B is not finite. Collective. */
kn_status kn_basis_angles(kn_ctx *ctx, const kn_responses *Y, kn_mat B, kn_mat S);

/* Adds the memory of kn_project, N participants and T responses on P columns, to the plan and
 * removes it again: only the peak rises. */
void kn_project_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
/* Adds the memory of kn_basis_ritz of k columns (B T x k, Z N x k) to the plan and removes it
 * again: only the peak rises. */
void kn_ritz_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t k);
/* Adds the memory of kn_basis_angles for P columns to the plan and removes it again: only the
 * peak rises. */
void kn_angles_need(kn_mem_plan *r, ptrdiff_t P);
/* Adds a basis (T x P) and its coordinates (N x P), of s->N, s->T, s->P, to the memory plan,
 * where they stay; the work space to make them, from the Gram matrix or from the user's columns,
 * only raises the peak. */
void kn_basis_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
