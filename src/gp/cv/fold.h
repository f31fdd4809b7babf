/* One fold of the training participants: its rows, and the coordinates of its training rows in the
 * fold's own principal components, from the Gram matrix of all rows [METHOD 5b]. No fold reads the
 * responses again. */
#ifndef KN_GP_CV_FOLD_H
#define KN_GP_CV_FOLD_H

#include "base/memory/plan.h"
#include "gp/basis/basis.h"
#include "gp/gp.h"

typedef struct kn_fold {
    ptrdiff_t n_train, n_test;
    ptrdiff_t *train, *test; /* row indices, ascending */
    kn_mat Z_train;          /* n_train x P */
    kn_mat US; /* n_train x P   U S^-1: B_f = (Y_tr - 1 mu')' US; from a Gram matrix Y Y' */
    kn_mat B;  /* T x P  B_f itself, and mu of T responses; from a Gram matrix Y'Y */
    double *mu;
    double total; /* |Y_tr - 1 mu'|^2; see kn_folds_energy */
    kn_mat V;     /* Q x P  principal axes in a fixed span; none: its columns */
} kn_fold;

/* Splits N rows: fold[i] == k is test, all others are training. Fails with KN_ERR_DATA if fewer
 * than 2 training rows remain. The caller frees *out. */
kn_status kn_fold_rows(kn_ctx *ctx, ptrdiff_t N, const int *fold, int k, kn_fold *out);
/* Finds Z_train, total, and US or B and mu of n folds: at most P components each, fewer if the rank
 * of a fold is lower. Y: all N rows; gram is theirs. Folds are decomposed in parallel, one thread
 * each, with results that do not depend on the number of threads; each is a leading-eigenvector
 * problem of size n_train, or T by Y'Y less the products of the held-out rows, 2 n_train T P flops
 * more for Z_train. Every MPI rank computes all folds, and the ranks agree on cancellation before
 * each round of one fold per thread. Fails with KN_ERR_DATA if no response varies in a fold,
 * KN_ERR_NUMERIC if there is no convergence. Collective. */
kn_status kn_folds_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_fold **f, int n);
/* True if the fold has a basis of its own, and not one that is fixed. */
static inline bool kn_fold_has_basis(const kn_fold *f)
{
    return f->US.data || f->B.data;
}
/* Finds the principal components of one fold from the Gram matrix of its own imputed training
 * rows Y (n_train x T): sets f->Z_train, total, and US or B and mu, at most P components. Errors
 * as kn_folds_pca. Collective. */
kn_status kn_fold_completed(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, kn_fold *f);
/* Sets f->Z_train (n_train x P) for a fixed basis: the training rows of the coordinates Z (N x
 * P), with their mean subtracted. KN_ERR_MEMORY only. */
kn_status kn_fold_given(kn_ctx *ctx, kn_mat Z, kn_fold *f);
/* Computes the principal axes of a fold inside the span of the user's basis: f->V (Q x P, or
 * fewer columns if the rank of the fold is lower), and rotates the centred coordinates
 * f->Z_train (n_train x Q) to them. signs: make the largest |entry| of each column of B_f
 * positive. KN_ERR_DATA if no response varies in the training rows. */
kn_status kn_fold_axes(kn_ctx *ctx, const kn_gp *gp, bool signs, kn_fold *f);
/* Frees all arrays and zeroes *f. */
void kn_fold_clear(kn_fold *f);

/* Predicts in plan r the memory of a kn_fold with n training rows of s->N and s->P components;
 * stays in the plan. */
void kn_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);
/* Predicts in plan r the memory of kn_folds_pca for `folds` folds of n training rows: added and
 * removed again, so only the peak rises. */
void kn_folds_pca_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int folds);
/* Predicts in plan r the memory of kn_fold_axes for n training rows: added and removed again, so
 * only the peak rises. */
void kn_fold_axes_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
