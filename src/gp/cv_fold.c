#include "gp/cv_fold.h"

#include <float.h>
#include <math.h>

#include "la/la.h"

void kn_fold_clear(kn_fold *f)
{
    kn_free(f->train);
    kn_free(f->test);
    kn_mat_clear(&f->Z_train);
    kn_mat_clear(&f->US);
    *f = (kn_fold){0};
}

kn_status kn_fold_rows(kn_ctx *ctx, ptrdiff_t N, const int *fold, int k, kn_fold *out)
{
    kn_status status;
    *out = (kn_fold){0};
    KN_TRY(kn_alloc_i(ctx, N, &out->train));
    KN_TRY(kn_alloc_i(ctx, N, &out->test));
    for (ptrdiff_t i = 0; i < N; i++)
        if (fold[i] == k)
            out->test[out->n_test++] = i;
        else
            out->train[out->n_train++] = i;
    if (out->n_train < 2)
        status = kn_fail(ctx, KN_ERR_DATA, "fold %d leaves %td samples to train on, expected 2",
                         k + 1, out->n_train);
out:
    if (status != KN_OK)
        kn_fold_clear(out);
    return status;
}

/* Gc = G_tr,tr - 1g' - g1' + mean(g) */
static kn_status centred_gram(kn_ctx *ctx, kn_mat G, const kn_fold *f, kn_mat *out)
{
    kn_status status;
    ptrdiff_t n = f->n_train;
    double *g = NULL, mean = 0;
    KN_TRY(kn_mat_new(ctx, n, n, out));
    KN_TRY(kn_alloc_d(ctx, n, &g));
    for (ptrdiff_t j = 0; j < n; j++) {
        double s = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double x = kn_at(G, f->train[i], f->train[j]);
            kn_col(*out, j)[i] = x;
            s += x;
        }
        g[j] = s / (double)n;
        mean += g[j] / (double)n;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(*out, j)[i] += mean - g[i] - g[j];
out:
    kn_free(g);
    return status;
}

kn_status kn_fold_pca(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_fold *f)
{
    kn_status status;
    kn_mat Gc = {0};
    double *s2 = NULL;
    ptrdiff_t n = f->n_train;
    KN_TRY(centred_gram(ctx, gram->G, f, &Gc));
    KN_TRY(kn_alloc_d(ctx, n, &s2));
    KN_TRY(kn_eig(ctx, Gc, s2)); /* ascending */
    double noise = fmax(gram->noise, s2[n - 1] * DBL_EPSILON * (double)(n > 8 ? n : 8));
    ptrdiff_t rank = 0;
    while (rank < n && rank < P && s2[n - 1 - rank] > noise)
        rank++;
    if (rank == 0 && P > 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies within the training part of a fold");
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, n, rank, &f->Z_train));
    KN_TRY(kn_mat_new(ctx, n, rank, &f->US));
    for (ptrdiff_t p = 0; p < rank; p++) {
        double s = sqrt(s2[n - 1 - p]);
        const double *u = kn_col(Gc, n - 1 - p);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(f->Z_train, p)[i] = u[i] * s;
            kn_col(f->US, p)[i] = u[i] / s;
        }
    }
out:
    kn_free(s2);
    kn_mat_clear(&Gc);
    return status;
}

kn_status kn_fold_given(kn_ctx *ctx, kn_mat Z, kn_fold *f)
{
    kn_status status = kn_mat_new(ctx, f->n_train, Z.cols, &f->Z_train);
    if (status != KN_OK)
        return status;
    kn_mat_rows(Z, f->train, f->Z_train);
    for (ptrdiff_t p = 0; p < Z.cols; p++) {
        double *z = kn_col(f->Z_train, p), mean = 0;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            mean += z[i] / (double)f->n_train;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            z[i] -= mean;
    }
    return KN_OK;
}

void kn_fold_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n)
{
    kn_hold_d(r, KN_NEED_WORK, s->N, 2); /* rows */
    if (!s->given_basis) {
        kn_held mark = r->now;
        kn_hold_d(r, KN_NEED_SAMPLES, n, n + 1);
        kn_eig_need(r, KN_NEED_SAMPLES, n);
        kn_let_go(r, mark);
        kn_hold_d(r, KN_NEED_WORK, n, s->P); /* US */
    }
    kn_hold_d(r, KN_NEED_WORK, n, s->P);
}
