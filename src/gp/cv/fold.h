/* One fold of the training samples: who is held out, and the coordinates of both sides in the
 * fold's own principal components, from the Gram matrix alone                     [METHOD 5b] */
#ifndef KN_GP_CV_FOLD_H
#define KN_GP_CV_FOLD_H

#include "base/memory/plan.h"
#include "gp/basis/basis.h"

typedef struct kn_fold {
    ptrdiff_t n_train, n_test;
    ptrdiff_t *train, *test; /* rows, ascending */
    kn_mat Z_train;          /* n_train x P */
    kn_mat US;               /* n_train x P   U S^-1: B_f = (Y_tr - 1 mu')' US; none: given basis */
    double total;            /* |Y_tr - 1 mu'|^2; see cv_energy.h */
    kn_mat V;                /* Q x P  its axes inside a span that is held; none: its columns */
} kn_fold;

kn_status kn_fold_rows(kn_ctx *ctx, ptrdiff_t N, const int *fold, int k, kn_fold *out);
/* Of n folds, at most P components; fewer when a fold's rank is lower; and total. The leading
 * eigenvectors of a problem of size n_train each, side by side, each on one thread: the same bits
 * for any number. Every rank computes all folds; before each batch of one fold per thread the ranks
 * agree whether to stop. Collective. */
kn_status kn_folds_pca(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_fold **f, int n);
/* Of one fold, from a Gram matrix of its own: Y (n_train x T) is what its rows were completed to.
 */
kn_status kn_fold_completed(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, kn_fold *f);
/* A basis that is held: Z_train = rows of Z, centred. */
kn_status kn_fold_given(kn_ctx *ctx, kn_mat Z, kn_fold *f);
void kn_fold_clear(kn_fold *f);

/* n of s->N samples to train on, by the Gram matrix or in a basis that is held; and, passing, what
 * finding the components of so many folds takes. */
void kn_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);
void kn_folds_pca_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int folds);

#endif
