/* Symmetric eigenproblem of la.h by LAPACK's dsyevd or dsyevr. dsyevd is faster, dsyevr needs less
 * memory and is used for very large problems. */
#include "la/la.h"

#include <lapacke.h>
#include <limits.h>
#include <math.h>

enum { ONE_THREAD = 256 };     /* up to this size a second thread does not make it faster */
enum { DSYEVD_LIMIT = 32767 }; /* 1 + 6n + 2n^2 no longer fits a 32-bit integer */

/* Fails with KN_ERR_NUMERIC, naming the entry, if the lower triangle of A has a value that is not
 * finite. */
static kn_status check_finite(kn_ctx *ctx, kn_mat A)
{
    for (ptrdiff_t j = 0; j < A.cols; j++)
        for (ptrdiff_t i = j; i < A.rows; i++)
            if (!isfinite(kn_at(A, i, j)))
                return kn_fail(ctx, KN_ERR_NUMERIC,
                               "eigenproblem of size %td: entry (%td, %td) is not finite", A.rows,
                               i + 1, j + 1);
    return KN_OK;
}

/* Returns the doubles of work space that dsyevd needs for size n. */
static ptrdiff_t count_dsyevd_work(ptrdiff_t n)
{
    return 1 + 6 * n + 2 * n * n;
}

/* Computes eigenvalues w (n, ascending) and eigenvectors, which replace A (n x n, lower
 * triangle), by divide and conquer. Needs 2 n^2 doubles. KN_ERR_NUMERIC if there is no
 * convergence. */
static kn_status solve_dsyevd(kn_ctx *ctx, kn_mat A, double *w)
{
    lapack_int n = (lapack_int)A.rows, ld = (lapack_int)A.ld, iwork_size, info;
    double work_size, *work = NULL;
    void *iwork = NULL;
    kn_status status;

    info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, A.data, ld, w, &work_size, -1,
                               &iwork_size, -1);
    if (info != 0)
        return kn_fail(ctx, KN_ERR_NUMERIC, "dsyevd refused size %d (info %d)", (int)n, (int)info);
    /* The query returns a double, which may be rounded down. */
    ptrdiff_t lwork = count_dsyevd_work(n);
    if ((ptrdiff_t)work_size > lwork)
        lwork = (ptrdiff_t)work_size;
    KN_TRY(kn_alloc_d(ctx, lwork, &work));
    KN_TRY(kn_alloc(ctx, iwork_size, sizeof(lapack_int), &iwork));
    info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, A.data, ld, w, work,
                               (lapack_int)lwork, iwork, iwork_size);
    if (info != 0)
        status = kn_fail(ctx, KN_ERR_NUMERIC, "eigenproblem of size %d did not converge (info %d)",
                         (int)n, (int)info);
out:
    kn_free(iwork);
    kn_free(work);
    return status;
}

/* Computes eigenvalues w (n, ascending) and eigenvectors, which replace A, by relatively robust
 * representations, for large n: slower than dsyevd, but it needs only n^2 doubles for the
 * vectors. KN_ERR_NUMERIC if there is no convergence. */
static kn_status solve_dsyevr(kn_ctx *ctx, kn_mat A, double *w)
{
    lapack_int n = (lapack_int)A.rows, found = 0, iwork_size = 0, info;
    double work_size, *work = NULL;
    void *iwork = NULL, *support = NULL;
    kn_mat Q = {0};
    kn_status status;

    KN_TRY(kn_mat_new(ctx, n, n, &Q));
    KN_TRY(kn_alloc(ctx, 2 * (ptrdiff_t)n, sizeof(lapack_int), &support));
    LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'V', 'A', 'L', n, A.data, (lapack_int)A.ld, 0, 0, 0, 0, 0,
                        &found, w, Q.data, n, support, &work_size, -1, &iwork_size, -1);
    KN_TRY(kn_alloc_d(ctx, (ptrdiff_t)work_size, &work));
    KN_TRY(kn_alloc(ctx, iwork_size, sizeof(lapack_int), &iwork));
    info = LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'V', 'A', 'L', n, A.data, (lapack_int)A.ld, 0, 0,
                               0, 0, 0, &found, w, Q.data, n, support, work, (lapack_int)work_size,
                               iwork, iwork_size);
    if (info != 0 || found != n)
        status = kn_fail(ctx, KN_ERR_NUMERIC, "eigenproblem of size %d did not converge (info %d)",
                         (int)n, (int)info);
    else
        kn_mat_set(A, Q);
out:
    kn_free(iwork);
    kn_free(work);
    kn_free(support);
    kn_mat_clear(&Q);
    return status;
}

/* Checks A (n x n, lower triangle), then solves it with so many BLAS threads by the method for
 * its size: A becomes the eigenvectors, w (n) the eigenvalues. Errors as kn_eig. */
static kn_status solve_eigenproblem(kn_ctx *ctx, kn_mat A, double *w, int threads)
{
    if (A.rows != A.cols)
        return kn_fail(ctx, KN_ERR_SHAPE, "eigenproblem of a %td x %td matrix", A.rows, A.cols);
    if (A.rows == 0)
        return KN_OK;
    if (A.rows > INT_MAX / 4 || A.ld > INT_MAX)
        return kn_fail(ctx, KN_ERR_SHAPE, "an eigenproblem of size %td is too large for LAPACK",
                       A.rows);
    /* LAPACK may loop for ever on NaN. */
    kn_status status = check_finite(ctx, A);
    if (status != KN_OK)
        return status;
    kn_blas_begin(threads);
    status = A.rows < DSYEVD_LIMIT ? solve_dsyevd(ctx, A, w) : solve_dsyevr(ctx, A, w);
    kn_blas_end();
    return status;
}

kn_status kn_eig(kn_ctx *ctx, kn_mat A, double *w)
{
    return solve_eigenproblem(ctx, A, w, A.rows <= ONE_THREAD ? 1 : kn_threads(ctx));
}

kn_status kn_eig_reproducible(kn_ctx *ctx, kn_mat A, double *w)
{
    return solve_eigenproblem(ctx, A, w, 1);
}

void kn_eig_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n)
{
    enum { DSYEVR_WORK = 64 + 26, INTEGERS = 12 }; /* values per row, at most */
    kn_mem_usage mark = r->now;
    if (n < DSYEVD_LIMIT) {
        kn_plan_alloc_d(r, category, count_dsyevd_work(n), 1);
    } else {
        kn_plan_alloc_d(r, category, n, n);
        kn_plan_alloc_d(r, category, n, DSYEVR_WORK);
    }
    kn_plan_alloc(r, category, n * INTEGERS, sizeof(lapack_int));
    kn_plan_free_to(r, mark);
}

/* ---- generalised problem --------------------------------------------------------------------- */

kn_status kn_eig_generalized(kn_ctx *ctx, kn_mat C, kn_mat S, const kn_eig_generalized_out *out)
{
    ptrdiff_t n = C.rows;
    kn_status status = kn_chol(ctx, S, "the second matrix of a pair");
    if (status != KN_OK)
        return status;
    kn_mirror(C);
    kn_trsm_left(ctx, KN_N, S, C);
    kn_trsm_right(ctx, KN_T, S, C); /* L^-1 C L^-T */
    status = kn_eig(ctx, C, out->c);
    if (status != KN_OK)
        return status;
    *out->log_det = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        *out->log_det += 2 * log(kn_at(S, j, j));
        out->c[j] = fmax(out->c[j], 0); /* positive semidefinite up to rounding */
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(S, j)[i] = 0;
    }
    kn_gemm(ctx, 1, KN_N, S, KN_N, C, 0, out->Q);
    kn_mat_set(out->W, C);
    kn_trsm_left(ctx, KN_T, S, out->W);
    return KN_OK;
}

bool kn_is_positive(kn_ctx *ctx, kn_mat A)
{
    for (ptrdiff_t j = 0; j < A.cols; j++)
        for (ptrdiff_t i = j; i < A.rows; i++)
            if (!isfinite(kn_at(A, i, j)))
                return false;
    kn_blas_begin(A.rows <= KN_CHOL_ONE_THREAD ? 1 : kn_threads(ctx));
    lapack_int info =
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)A.rows, A.data, (lapack_int)A.ld);
    kn_blas_end();
    return info == 0;
}
