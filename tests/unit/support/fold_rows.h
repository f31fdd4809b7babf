/* One fold by the rows themselves, for a refit that knows nothing of folds. */
#ifndef KN_TEST_FOLD_ROWS_H
#define KN_TEST_FOLD_ROWS_H

#include "support/test.h"

enum { MAX_ROWS = 64 };

typedef struct fold_rows {
    ptrdiff_t n, n_held_out, held_out[MAX_ROWS]; /* rows to train on, rows held out and which */
    kn_mat X, Y, Xs;                             /* n x F, n x T less their mean, n_held x F */
    kn_mat mu;                                   /* T x 1  that mean */
} fold_rows;

static inline fold_rows fold_rows_of(kn_mat X, kn_mat Y, const int *fold, int k)
{
    ptrdiff_t train[MAX_ROWS];
    fold_rows r = {.mu = ref_new(Y.cols, 1)};
    assert_true(X.rows <= MAX_ROWS);
    for (ptrdiff_t i = 0; i < X.rows; i++)
        if (fold[i] == k)
            r.held_out[r.n_held_out++] = i;
        else
            train[r.n++] = i;
    r.X = ref_new(r.n, X.cols), r.Y = ref_new(r.n, Y.cols), r.Xs = ref_new(r.n_held_out, X.cols);
    kn_mat_rows(X, train, r.X);
    kn_mat_rows(Y, train, r.Y);
    kn_mat_rows(X, r.held_out, r.Xs);
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        for (ptrdiff_t i = 0; i < r.n; i++)
            r.mu.data[j] += kn_at(r.Y, i, j) / (double)r.n;
        for (ptrdiff_t i = 0; i < r.n; i++)
            kn_col(r.Y, j)[i] -= r.mu.data[j];
    }
    return r;
}

/* Maps of all participants by folds are, at the rows held out, those of the refit and the mean. */
static inline void assert_fold_is_refit(const fold_rows *r, kn_mat mean, kn_mat var,
                                        kn_mat refit_mean, kn_mat refit_var)
{
    for (ptrdiff_t j = 0; j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < r->n_held_out; i++) {
            assert_close(kn_at(mean, r->held_out[i], j), kn_at(refit_mean, i, j) + r->mu.data[j],
                         1e-9);
            assert_close(kn_at(var, r->held_out[i], j), kn_at(refit_var, i, j), 1e-9);
        }
}

static inline void fold_rows_free(fold_rows *r)
{
    free(r->X.data), free(r->Y.data), free(r->Xs.data), free(r->mu.data);
}

#endif
