/* Cholesky factor and pivoted Cholesky factor of la.h. */
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

#include "la/la.h"

kn_status kn_chol(kn_ctx *ctx, kn_mat A, const char *what)
{
    if (A.rows != A.cols || A.rows > INT_MAX || A.ld > INT_MAX)
        return kn_fail(ctx, KN_ERR_SHAPE, "Cholesky factor of %s, %td x %td", what, A.rows, A.cols);
    if (A.rows == 0)
        return KN_OK;
    kn_blas_begin(A.rows <= KN_CHOL_ALONE ? 1 : kn_threads(ctx));
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

static void subtract_rows(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    (void)worker;
    const update *u = self;
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)(last - first), (int)u->k, -1.0,
                u->L.data + first, (int)u->L.ld, u->L.data + u->p, (int)u->L.ld, 1.0, u->l + first,
                1);
}

/* Harbrecht, Peters & Schneider 2012, algorithm 1: the largest residual diagonal is the pivot. */
kn_status kn_pivoted_chol(kn_ctx *ctx, double *diag, kn_column_fn column, void *self, double tol,
                          kn_mat L, ptrdiff_t *pivot, ptrdiff_t *rank, double *residual)
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
        ptrdiff_t k = *rank, p = 0;
        for (ptrdiff_t i = 1; i < n; i++)
            if (diag[i] > diag[p])
                p = i;
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
