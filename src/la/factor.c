/* Matrix factors of la.h: Cholesky, pivoted Cholesky, Cholesky of a band matrix, and QR. A matrix
 * that is not positive definite is an error with a sentence. */
#include "la/la.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

#include "la/openblas.h"

/* ---- Cholesky -------------------------------------------------------------------------------- */

kn_status kn_chol(kn_ctx *ctx, kn_mat A, const char *what)
{
    if (A.rows != A.cols || A.rows > INT_MAX || A.ld > INT_MAX)
        return kn_fail(ctx, KN_ERR_SHAPE, "Cholesky factor of %s, %td x %td", what, A.rows, A.cols);
    if (A.rows == 0)
        return KN_OK;
    kn_blas_begin(A.rows <= KN_CHOL_ONE_THREAD ? 1 : kn_threads(ctx));
    lapack_int info =
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)A.rows, A.data, (lapack_int)A.ld);
    kn_blas_end();
    if (info != 0)
        return kn_fail(ctx, KN_ERR_NUMERIC, "%s is not positive definite (pivot %d of %td)", what,
                       (int)info, A.rows);
    return KN_OK;
}

/* l -= L_{1..k} (row p of L)', whose k entries are ld apart. */
typedef struct update {
    kn_mat L;
    ptrdiff_t k, p;
    double *l;
} update;

/* Parallel task (self: update) for rows first .. last - 1 of the new column of a pivoted
 * Cholesky factor: subtracts the product of earlier columns with row p of L. */
static void subtract_rows(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    (void)worker;
    const update *u = self;
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)(last - first), (int)u->k, -1.0,
                u->L.data + first, (int)u->L.ld, u->L.data + u->p, (int)u->L.ld, 1.0, u->l + first,
                1);
}

/* Returns the index of the largest of n entries; of those that differ by rounding only, the one
 * with the smallest place (NULL: index). */
static ptrdiff_t find_largest_entry(ptrdiff_t n, const double *diag, const ptrdiff_t *place)
{
    static const double EQUAL = 1e-10;
    ptrdiff_t p = 0;
    for (ptrdiff_t i = 1; i < n; i++)
        if (diag[i] > diag[p])
            p = i;
    double lowest = (1 - EQUAL) * diag[p];
    for (ptrdiff_t i = 0; place && i < n; i++)
        if (diag[i] >= lowest && place[i] < place[p])
            p = i;
    return p;
}

/* Harbrecht, Peters & Schneider 2012, algorithm 1: the largest residual diagonal is the pivot. */
kn_status kn_pivoted_chol(kn_ctx *ctx, double *diag, const ptrdiff_t *place, kn_column_fn column,
                          void *self, double tol, kn_mat L, ptrdiff_t *pivot, ptrdiff_t *rank,
                          double *residual)
{
    enum { ENTRIES = 1 << 18 }; /* of L per thread at least: 2 MB to read */
    ptrdiff_t n = L.rows;
    double trace = 0, left;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!(diag[i] >= 0))
            return kn_fail(ctx, KN_ERR_NUMERIC,
                           "pivoted Cholesky: diagonal entry %td is negative or not a number",
                           i + 1);
        trace += diag[i];
    }
    left = trace;
    *rank = 0;
    while (*rank < L.cols && *rank < n && left > tol * trace) {
        ptrdiff_t k = *rank, p = find_largest_entry(n, diag, place);
        if (!(diag[p] > 0))
            break;
        double *l = kn_col(L, k), scale = 1.0 / sqrt(diag[p]);
        column(self, p, l);
        if (k > 0)
            kn_la_parallel(ctx, n, 1 + ENTRIES / k, subtract_rows, &(update){L, k, p, l});
        left = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            l[i] *= scale;
            double d = diag[i] - l[i] * l[i];
            diag[i] = d > 0 ? d : 0;
            left += diag[i];
        }
        diag[p] = 0; /* zero in exact arithmetic */
        pivot[k] = p;
        ++*rank;
    }
    *residual = trace > 0 ? left / trace : 0;
    return KN_OK;
}

/* ---- band matrices --------------------------------------------------------------------------- */

double kn_band_bytes(ptrdiff_t n, ptrdiff_t width)
{
    return kn_alloc_bytes((double)n * ((double)width + 1) * sizeof(double));
}

kn_status kn_band_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t width, kn_band *out)
{
    *out = (kn_band){.n = n, .width = width};
    if (n > INT_MAX || width >= n || (width + 1) > PTRDIFF_MAX / 16 / (n > 0 ? n : 1))
        return kn_fail(ctx, KN_ERR_SHAPE, "a band of %td below the diagonal of %td rows", width, n);
    return kn_alloc_d(ctx, n * (width + 1), &out->data);
}

void kn_band_clear(kn_band *band)
{
    kn_free(band->data);
    *band = (kn_band){0};
}

kn_status kn_band_chol(kn_ctx *ctx, kn_band *band, const char *what)
{
    kn_blas_begin(1);
    lapack_int info =
        LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)band->n, (lapack_int)band->width,
                            band->data, (lapack_int)(band->width + 1));
    kn_blas_end();
    return info == 0 ? KN_OK
                     : kn_fail(ctx, KN_ERR_NUMERIC, "%s is not positive definite (pivot %d of %td)",
                               what, (int)info, band->n);
}

typedef struct solving {
    const kn_band *factor;
    kn_mat B;
} solving;

/* Parallel task (self: solving): solves columns from .. to - 1 of B in place with the band
 * Cholesky factor. */
static void solve_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const solving *s = self;
    const kn_band *f = s->factor;
    (void)worker;
    LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)f->n, (lapack_int)f->width,
                        (lapack_int)(to - from), f->data, (lapack_int)(f->width + 1),
                        kn_col(s->B, from), (lapack_int)s->B.ld);
}

void kn_band_solve(kn_ctx *ctx, const kn_band *factor, kn_mat B)
{
    solving s = {factor, B};
    kn_la_parallel(ctx, B.cols, 1, solve_columns, &s);
}

/* ---- QR by dgeqrf and dorgqr ----------------------------------------------------------------- */

/* Returns the doubles of work space of dgeqrf and dorgqr for p columns. */
static ptrdiff_t count_work(ptrdiff_t p)
{
    enum { BLOCK = 64 }; /* at least the block size of LAPACK */
    return BLOCK * (p > 0 ? p : 1);
}

/* Replaces the first p columns of A (n rows) by `wanted` orthonormal columns of Q, A = QR, and
 * writes R (min(n, p) x p). KN_ERR_NUMERIC if A is not finite, KN_ERR_SHAPE if it is too large
 * for LAPACK. */
static kn_status orthonormalise(kn_ctx *ctx, kn_mat A, ptrdiff_t p, ptrdiff_t wanted, kn_mat R)
{
    kn_status status;
    ptrdiff_t n = A.rows, k = n < p ? n : p, most = p > wanted ? p : wanted;
    double *tau = NULL, *work = NULL;
    if (n > INT_MAX || A.ld > INT_MAX || count_work(most) > INT_MAX)
        return kn_fail(ctx, KN_ERR_SHAPE, "orthonormal columns of %td x %td", n, p);
    lapack_int rows = (lapack_int)n, cols = (lapack_int)p, ld = (lapack_int)A.ld;
    lapack_int lowest = (lapack_int)k, size = (lapack_int)count_work(most), info = 0;
    KN_TRY(kn_alloc_d(ctx, k, &tau));
    KN_TRY(kn_alloc_d(ctx, count_work(most), &work));
    for (ptrdiff_t j = 0; j < p; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (!isfinite(kn_at(A, i, j)))
                KN_TRY(kn_fail(ctx, KN_ERR_NUMERIC,
                               "orthonormal columns of %td x %td: entry (%td, %td) is not finite",
                               n, p, i + 1, j + 1));
    if (k == 0)
        goto out;
    kn_blas_begin(1);
    info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, cols, A.data, ld, tau, work, size);
    for (ptrdiff_t j = 0; j < p; j++)
        for (ptrdiff_t i = 0; i < k; i++)
            kn_col(R, j)[i] = i <= j ? kn_at(A, i, j) : 0;
    if (info == 0)
        info = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, (lapack_int)wanted, lowest, A.data, ld,
                                   tau, work, size);
    kn_blas_end();
    if (info != 0)
        status = kn_fail(ctx, KN_ERR_NUMERIC, "orthonormal columns of %td x %td (info %d)", n, p,
                         (int)info);
out:
    kn_free(work);
    kn_free(tau);
    return status;
}

kn_status kn_qr(kn_ctx *ctx, kn_mat *A, kn_mat R)
{
    ptrdiff_t k = A->rows < A->cols ? A->rows : A->cols;
    kn_status status = orthonormalise(ctx, *A, A->cols, k, R);
    if (status == KN_OK)
        A->cols = k;
    return status;
}

kn_status kn_qr_complete(kn_ctx *ctx, kn_mat A, kn_mat R)
{
    return orthonormalise(ctx, A, R.rows, A.cols, R);
}

void kn_qr_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t p)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, category, n < p ? n : p, 1);
    kn_plan_alloc_d(r, category, count_work(p), 1);
    kn_plan_free_to(r, mark);
}
