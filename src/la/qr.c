/* QR decomposition of la.h by dgeqrf and dorgqr. */
#include <lapacke.h>
#include <limits.h>
#include <math.h>

#include "la/la.h"

static ptrdiff_t work_size(ptrdiff_t p)
{
    enum { BLOCK = 64 }; /* at least the block size of LAPACK */
    return BLOCK * (p > 0 ? p : 1);
}

kn_status kn_qr(kn_ctx *ctx, kn_mat *A, kn_mat R)
{
    kn_status status;
    ptrdiff_t n = A->rows, p = A->cols, k = n < p ? n : p;
    double *tau = NULL, *work = NULL;
    if (n > INT_MAX || A->ld > INT_MAX || work_size(p) > INT_MAX)
        return kn_fail(ctx, KN_ERR_SHAPE, "orthonormal columns of %td x %td", n, p);
    lapack_int rows = (lapack_int)n, cols = (lapack_int)p, ld = (lapack_int)A->ld;
    lapack_int least = (lapack_int)k, size = (lapack_int)work_size(p), info = 0;
    KN_TRY(kn_alloc_d(ctx, k, &tau));
    KN_TRY(kn_alloc_d(ctx, work_size(p), &work));
    for (ptrdiff_t j = 0; j < p; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (!isfinite(kn_at(*A, i, j)))
                KN_TRY(kn_fail(ctx, KN_ERR_NUMERIC,
                               "orthonormal columns of %td x %td: entry (%td, %td) is not finite",
                               n, p, i + 1, j + 1));
    if (k == 0)
        goto out;
    kn_blas_begin(1);
    info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, cols, A->data, ld, tau, work, size);
    for (ptrdiff_t j = 0; j < p; j++)
        for (ptrdiff_t i = 0; i < k; i++)
            kn_col(R, j)[i] = i <= j ? kn_at(*A, i, j) : 0;
    if (info == 0)
        info =
            LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, least, least, A->data, ld, tau, work, size);
    kn_blas_end();
    if (info != 0)
        status = kn_fail(ctx, KN_ERR_NUMERIC, "orthonormal columns of %td x %td (info %d)", n, p,
                         (int)info);
    A->cols = k;
out:
    kn_free(work);
    kn_free(tau);
    return status;
}

void kn_qr_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t p)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, part, n < p ? n : p, 1);
    kn_plan_alloc_d(r, part, work_size(p), 1);
    kn_plan_free_to(r, mark);
}
