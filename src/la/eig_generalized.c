/* Generalised eigenproblem and test for positive definiteness of la.h. */
#include <lapacke.h>
#include <math.h>

#include "la/la.h"

kn_status kn_eig_pair(kn_ctx *ctx, kn_mat C, kn_mat S, const kn_eig_pair_out *out)
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
    kn_blas_begin(A.rows <= KN_CHOL_ALONE ? 1 : kn_threads(ctx));
    lapack_int info =
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)A.rows, A.data, (lapack_int)A.ld);
    kn_blas_end();
    return info == 0;
}
