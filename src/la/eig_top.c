#include "la/eig_top.h"

#include <assert.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE = 4 };     /* few enough vectors: one in this many */
enum { BLOCKING = 64 }; /* of dsytrd and dormtr, at most */

void kn_eig_top_clear(kn_eig_top_work *w)
{
    kn_mat_clear(&w->A);
    kn_mat_clear(&w->Z);
    kn_free(w->w);
    kn_free(w->d);
    kn_free(w->e);
    kn_free(w->d0);
    kn_free(w->e0);
    kn_free(w->tau);
    kn_free(w->work);
    kn_free(w->iwork);
    kn_free(w->support);
    *w = (kn_eig_top_work){0};
}

static bool few(ptrdiff_t n, ptrdiff_t k)
{
    return k <= n / SHARE;
}

/* dsyevd needs 1 + 6n + 2n^2 and 3 + 5n integers; dstemr 18 n and 10 n */
static ptrdiff_t work_size(ptrdiff_t n, bool some)
{
    return some ? BLOCKING * n + (BLOCKING + 1) * BLOCKING : 1 + 6 * n + 2 * n * n;
}

void kn_eig_top_need(kn_rehearsal *r, kn_need_part part, ptrdiff_t n, ptrdiff_t k)
{
    kn_hold_d(r, part, n, n);
    kn_hold_d(r, part, n, k);
    kn_hold_d(r, part, n, 6);
    kn_hold_d(r, part, work_size(n, few(n, k)), 1);
    kn_hold(r, part, 12 * n + 3, sizeof(lapack_int));
}

kn_status kn_eig_top_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_top_work *out)
{
    kn_status status;
    enum { LARGEST = 32766 }; /* dsyevd's work space in a 32-bit integer */
    *out = (kn_eig_top_work){.few = few(n, k)};
    if (n > LARGEST)
        return kn_fail(ctx, KN_ERR_SHAPE, "leading eigenvectors of size %td, expected at most %d",
                       n, LARGEST);
    out->lwork = work_size(n, out->few);
    out->liwork = 10 * n + 3;
    KN_TRY(kn_mat_new(ctx, n, n, &out->A));
    KN_TRY(kn_mat_new(ctx, n, k, &out->Z));
    KN_TRY(kn_alloc_d(ctx, n, &out->w));
    KN_TRY(kn_alloc_d(ctx, n, &out->d));
    KN_TRY(kn_alloc_d(ctx, n, &out->e));
    KN_TRY(kn_alloc_d(ctx, n, &out->d0));
    KN_TRY(kn_alloc_d(ctx, n, &out->e0));
    KN_TRY(kn_alloc_d(ctx, n, &out->tau));
    KN_TRY(kn_alloc_d(ctx, out->lwork, &out->work));
    KN_TRY(kn_alloc(ctx, out->liwork, sizeof(lapack_int), &out->iwork));
    KN_TRY(kn_alloc(ctx, 2 * n, sizeof(lapack_int), &out->support));
out:
    if (status != KN_OK)
        kn_eig_top_clear(out);
    return status;
}

/* All vectors of the tridiagonal matrix in d0, e0 by divide and conquer, of which the last k go to
 * Z: for the clusters on which dstemr gives up. The only step that allocates. */
static lapack_int by_dstedc(kn_eig_top_work *w, lapack_int n, lapack_int k)
{
    size_t size = (size_t)n;
    double *all = malloc(size * size * sizeof *all);
    if (!all)
        return 1;
    lapack_int info = LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', n, w->d0, w->e0, all, n);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        w->w[j] = w->d0[n - k + j];
        memcpy(kn_col(w->Z, j), all + (size_t)(n - k + j) * size, size * sizeof *all);
    }
    free(all);
    return info;
}

/* A = Q T Q', the k largest of T, back by Q. */
static int by_dstemr(kn_eig_top_work *w, lapack_int n, lapack_int k, double *s, kn_mat V)
{
    lapack_int ld = (lapack_int)w->A.ld, ldz = (lapack_int)w->Z.ld, found = 0, info;
    lapack_logical accurate = 1;
    info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n, w->A.data, ld, w->d, w->e, w->tau, w->work,
                               (lapack_int)w->lwork);
    if (info != 0)
        return (int)info;
    memcpy(w->d0, w->d, (size_t)n * sizeof *w->d);
    memcpy(w->e0, w->e, (size_t)n * sizeof *w->e);
    if (!w->careful)
        info = LAPACKE_dstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n, w->d, w->e, 0, 0, n - k + 1, n,
                                   &found, w->w, w->Z.data, ldz, k, w->support, &accurate, w->work,
                                   (lapack_int)w->lwork, w->iwork, (lapack_int)w->liwork);
    if (w->careful || info != 0 || found != k)
        info = by_dstedc(w, n, k);
    if (info == 0)
        info = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, k, w->A.data, ld, w->tau,
                                   w->Z.data, ldz, w->work, (lapack_int)w->lwork);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        s[j] = w->w[k - 1 - j];
        memcpy(kn_col(V, j), kn_col(w->Z, k - 1 - j), (size_t)n * sizeof(double));
    }
    return (int)info;
}

static int by_dsyevd(kn_eig_top_work *w, lapack_int n, lapack_int k, double *s, kn_mat V)
{
    lapack_int info =
        LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, w->A.data, (lapack_int)w->A.ld, w->w,
                            w->work, (lapack_int)w->lwork, w->iwork, (lapack_int)w->liwork);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        s[j] = w->w[n - 1 - j];
        memcpy(kn_col(V, j), kn_col(w->A, n - 1 - j), (size_t)n * sizeof(double));
    }
    return (int)info;
}

int kn_eig_top(kn_eig_top_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V)
{
    assert(n <= w->A.rows && k <= w->Z.cols && k <= n && V.rows == n && V.cols == k);
    if (k == 0)
        return 0;
    for (ptrdiff_t j = 0; j < n; j++) /* LAPACK may loop for ever on NaN */
        for (ptrdiff_t i = j; i < n; i++)
            if (!isfinite(kn_at(w->A, i, j)))
                return -1;
    return w->few ? by_dstemr(w, (lapack_int)n, (lapack_int)k, s, V)
                  : by_dsyevd(w, (lapack_int)n, (lapack_int)k, s, V);
}
