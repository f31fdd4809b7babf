/* What only the files of gp/missing use: the first imputation of each response separately, and the
 * leading components of the residuals. Other folders use completion.h and impute.h. */
#ifndef KN_GP_MISSING_INTERNAL_H
#define KN_GP_MISSING_INTERNAL_H

#include "base/matrix.h"
#include "gp/missing/impute.h"

/* ---- impute start ----
 *
 * Start of the imputation: each response separately, from its observed rows [METHOD 0b, 1b, 7]
 *
 *     ybar_j, delta_j: mean, and the profile of 1b on R0_oo, o the rows with a value
 *     g = ybar_j + R0_.o (R0_oo + delta_j I)^-1 (y_o - ybar_j)             delta_j = inf: ybar_j
 *
 *     R0_oo = U diag(r) U' by the smaller of Phi_o'Phi_o (m x m) and Phi_o Phi_o' (n_o x n_o)
 *     g = ybar_j + Phi (Phi_o'U) diag(1/(r + delta_j)) U'(y_o - ybar_j)
 *
 * Responses with the same observed rows share a decomposition, n m^2 + m^3 each: few of them if
 * missing cells come in blocks, one per response at worst. */

/* Imputes every response by itself, from its observed values and the covariates, as the start of
 * the rounds: sets imputed and delta (T). place as from kn_impute_row_index. */
kn_status kn_impute_start(kn_ctx *ctx, const kn_impute_problem *p, const ptrdiff_t *place,
                          double *imputed, double *delta);

/* Computes eigenvectors *U (n x k) and eigenvalues *r (k, ascending, positive) of Phi Phi' for
 * features Phi (n x m), both owned by the caller. */
kn_status kn_impute_decompose(kn_ctx *ctx, kn_mat Phi, kn_mat *U, double **r);

/* ---- block features ---- */

/* Features of which a block is the level of each row. */
typedef struct kn_block_features {
    kn_indicators block;
    kn_mat thin;   /* n x m1, the other features */
    double *level; /* n */
    double root;   /* the value in the column of the level */
} kn_block_features;

/* Copies Phi (n x m), whose columns of the block have one value per row that is not 0, the same in
 * all rows. */
kn_status kn_block_features_new(kn_ctx *ctx, const kn_indicators *b, kn_mat Phi,
                                kn_block_features *out);
void kn_block_features_clear(kn_block_features *f); /* accepts {0} */
/* Computes out = Phi R (n x k), R m x k. */
void kn_block_features_times(kn_ctx *ctx, const kn_block_features *f, kn_mat R, kn_mat out);
/* Computes out = Phi'U (m x k), U n x k. */
void kn_block_features_transposed(kn_ctx *ctx, const kn_block_features *f, kn_mat U, kn_mat out);
/* As kn_impute_decompose. */
kn_status kn_block_features_decompose(kn_ctx *ctx, const kn_block_features *f, kn_mat *U,
                                      double **r);

/* ---- impute basis ----
 *
 * Leading principal components of residuals E (n x T), which a callback computes block by block
 * [METHOD 0b]
 *
 *     T up to 2048 and n      E'E  T x T, E held                              n T^2
 *     n up to 5000            EE'  n x n, an exact sum over blocks            n^2 T
 *     beyond                  Q <- orth(E(E'Q)) from Q = E W, W random         4 n T k a reading
 *
 * The result is F = E B, so that B = E'F diag(1/s2). */

/* The residuals. */
typedef struct kn_impute_source {
    ptrdiff_t n, T;
    double energy; /* upper bound of |E|_F^2 */
    void *self;
    /* computes E (n x count) of the responses from `first` on */
    kn_status (*block)(kn_ctx *ctx, void *self, ptrdiff_t first, kn_mat E);
} kn_impute_source;

/* Computes the leading components F (n x P) of the residuals E (n x T) and s2 (P), the
 * eigenvalues of E'E; F->cols is reduced to those above rounding. start: F of an earlier call
 * for a similar E, or kn_mat_none(). KN_ERR_NUMERIC if the eigenproblem fails. Collective. */
kn_status kn_impute_eigen(kn_ctx *ctx, const kn_impute_source *from, kn_mat start, uint64_t seed,
                          kn_mat *F, double *s2);

#endif
