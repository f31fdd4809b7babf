/* Implements eig_leading.h. The method depends on the sizes alone, so that results do not depend
 * on threads. */
#include "la/eig_leading.h"

#include <assert.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- LAPACK workspace ------------------------------------------------------------------------ */

enum { BLOCKING = 64 }; /* largest block size of xSYTRD and xORMTR */
enum { COLUMNS = 6 };   /* w, d, e, d0, e0, tau */

ptrdiff_t kn_eig_workspace_min(ptrdiff_t n) /* xSTEMR needs 18 n */
{
    return BLOCKING * n + (BLOCKING + 1) * BLOCKING;
}

static ptrdiff_t count_integers(ptrdiff_t n) /* xSTEMR needs 10 n, xSYEVD 3 + 5 n */
{
    return 10 * n + 3;
}

void kn_eig_workspace_clear(kn_eig_workspace *r)
{
    void *arrays[] = {r->w, r->d, r->e, r->d0, r->e0, r->tau, r->work, r->iwork, r->support};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        kn_free(arrays[i]);
    *r = (kn_eig_workspace){0};
}

kn_status kn_eig_workspace_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t lwork, size_t value,
                               kn_eig_workspace *out)
{
    kn_status status;
    *out = (kn_eig_workspace){.lwork = lwork, .liwork = count_integers(n)};
    void **column[COLUMNS] = {&out->w, &out->d, &out->e, &out->d0, &out->e0, &out->tau};
    for (int i = 0; i < COLUMNS; i++)
        KN_TRY(kn_alloc(ctx, n, value, column[i]));
    KN_TRY(kn_alloc(ctx, lwork, value, &out->work));
    KN_TRY(kn_alloc(ctx, out->liwork, sizeof(lapack_int), &out->iwork));
    KN_TRY(kn_alloc(ctx, 2 * n, sizeof(lapack_int), &out->support));
out:
    if (status != KN_OK)
        kn_eig_workspace_clear(out);
    return status;
}

void kn_eig_workspace_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t lwork,
                           size_t value)
{
    for (int i = 0; i < COLUMNS; i++)
        kn_plan_alloc(r, category, n, value);
    kn_plan_alloc(r, category, lwork, value);
    kn_plan_alloc(r, category, count_integers(n), sizeof(lapack_int));
    kn_plan_alloc(r, category, 2 * n, sizeof(lapack_int));
}

/* ---- double ---------------------------------------------------------------------------------- */

enum { SHARE = 4 }; /* dstemr up to k = n / SHARE */

void kn_eig_leading_clear(kn_eig_leading_work *w)
{
    kn_mat_clear(&w->A);
    kn_mat_clear(&w->Z);
    kn_eig_workspace_clear(&w->workspace);
    *w = (kn_eig_leading_work){0};
}

/* True if k of n eigenvectors are so few that dstemr is used instead of dsyevd. */
static bool is_few(ptrdiff_t n, ptrdiff_t k)
{
    return k <= n / SHARE;
}

/* Returns the doubles of work space for size n, with dstemr (`some`) or dsyevd, which needs 1 +
 * 6n + 2n^2. */
static ptrdiff_t count_work(ptrdiff_t n, bool some)
{
    return some ? kn_eig_workspace_min(n) : 1 + 6 * n + 2 * n * n;
}

void kn_eig_leading_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t k)
{
    kn_plan_alloc_d(r, category, n, n);
    kn_plan_alloc_d(r, category, n, k);
    kn_eig_workspace_need(r, category, n, count_work(n, is_few(n, k)), sizeof(double));
}

kn_status kn_eig_leading_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k, kn_eig_leading_work *out)
{
    kn_status status;
    enum { LARGEST = 32766 }; /* dsyevd's work space size must fit a 32-bit integer */
    *out = (kn_eig_leading_work){.few = is_few(n, k)};
    if (n > LARGEST)
        return kn_fail(ctx, KN_ERR_SHAPE, "leading eigenvectors of size %td, expected at most %d",
                       n, LARGEST);
    KN_TRY(kn_mat_new(ctx, n, n, &out->A));
    KN_TRY(kn_mat_new(ctx, n, k, &out->Z));
    KN_TRY(kn_eig_workspace_new(ctx, n, count_work(n, out->few), sizeof(double), &out->workspace));
out:
    if (status != KN_OK)
        kn_eig_leading_clear(out);
    return status;
}

/* Computes all eigenvectors of the tridiagonal matrix d0, e0 by divide and conquer; Z = the last
 * k of them. Fallback for clustered eigenvalues on which dstemr fails. Allocates n^2 doubles.
 * Returns LAPACK's info. */
static lapack_int solve_dstedc(kn_eig_leading_work *w, lapack_int n, lapack_int k)
{
    size_t size = (size_t)n;
    const kn_eig_workspace *r = &w->workspace;
    double *values = r->w, *d0 = r->d0;
    double *all = malloc(size * size * sizeof *all);
    if (!all)
        return 1;
    lapack_int info = LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', n, d0, r->e0, all, n);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        values[j] = d0[n - k + j];
        memcpy(kn_col(w->Z, j), all + (size_t)(n - k + j) * size, size * sizeof *all);
    }
    free(all);
    return info;
}

/* Computes the k largest eigenvalues s, descending, and their vectors V (n x k) of w->A = Q T Q'
 * (dsytrd): eigenpairs of T (dstemr), vectors times Q (dormtr). Returns info. */
static int solve_dstemr(kn_eig_leading_work *w, lapack_int n, lapack_int k, double *s, kn_mat V)
{
    const kn_eig_workspace *r = &w->workspace;
    const double *values = r->w;
    lapack_int ld = (lapack_int)w->A.ld, ldz = (lapack_int)w->Z.ld, found = 0, info;
    lapack_logical accurate = 1;
    info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n, w->A.data, ld, r->d, r->e, r->tau, r->work,
                               (lapack_int)r->lwork);
    if (info != 0)
        return (int)info;
    memcpy(r->d0, r->d, (size_t)n * sizeof(double));
    memcpy(r->e0, r->e, (size_t)n * sizeof(double));
    if (!w->careful)
        info = LAPACKE_dstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n, r->d, r->e, 0, 0, n - k + 1, n,
                                   &found, r->w, w->Z.data, ldz, k, r->support, &accurate, r->work,
                                   (lapack_int)r->lwork, r->iwork, (lapack_int)r->liwork);
    if (w->careful || info != 0 || found != k)
        info = solve_dstedc(w, n, k);
    if (info == 0)
        info = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, k, w->A.data, ld, r->tau,
                                   w->Z.data, ldz, r->work, (lapack_int)r->lwork);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        s[j] = values[k - 1 - j];
        memcpy(kn_col(V, j), kn_col(w->Z, k - 1 - j), (size_t)n * sizeof(double));
    }
    return (int)info;
}

/* Computes the k largest eigenvalues s, descending, and their vectors V (n x k) from all
 * eigenpairs of w->A. Returns info. */
static int solve_dsyevd(kn_eig_leading_work *w, lapack_int n, lapack_int k, double *s, kn_mat V)
{
    const kn_eig_workspace *r = &w->workspace;
    const double *values = r->w;
    lapack_int info =
        LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, w->A.data, (lapack_int)w->A.ld, r->w,
                            r->work, (lapack_int)r->lwork, r->iwork, (lapack_int)r->liwork);
    for (lapack_int j = 0; info == 0 && j < k; j++) {
        s[j] = values[n - 1 - j];
        memcpy(kn_col(V, j), kn_col(w->A, n - 1 - j), (size_t)n * sizeof(double));
    }
    return (int)info;
}

int kn_eig_leading(kn_eig_leading_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V)
{
    assert(n <= w->A.rows && k <= w->Z.cols && k <= n && V.rows == n && V.cols == k);
    if (k == 0)
        return 0;
    for (ptrdiff_t j = 0; j < n; j++) /* LAPACK may loop for ever on NaN */
        for (ptrdiff_t i = j; i < n; i++)
            if (!isfinite(kn_at(w->A, i, j)))
                return -1;
    return w->few ? solve_dstemr(w, (lapack_int)n, (lapack_int)k, s, V)
                  : solve_dsyevd(w, (lapack_int)n, (lapack_int)k, s, V);
}
