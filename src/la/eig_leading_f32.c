/* Implements eig_leading.h. Single precision suffices for the directions of the whole-map
 * deviance. */
#include "la/eig_leading.h"

#include <assert.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kn_eig_leading_f32_clear(kn_eig_leading_f32_work *w)
{
    kn_mat_clear(&w->A);
    kn_mat_clear(&w->AV);
    kn_fmat_clear(&w->F);
    kn_fmat_clear(&w->Z);
    kn_eig_workspace_clear(&w->workspace);
    *w = (kn_eig_leading_f32_work){0};
}

void kn_eig_leading_f32_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, ptrdiff_t k)
{
    kn_plan_alloc_d(r, category, n, n);
    kn_plan_alloc_d(r, category, n, k);
    kn_plan_alloc_f(r, category, n, n);
    kn_plan_alloc_f(r, category, n, k);
    kn_eig_workspace_need(r, category, n, kn_eig_workspace_min(n), sizeof(float));
}

kn_status kn_eig_leading_f32_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t k,
                                 kn_eig_leading_f32_work *out)
{
    kn_status status;
    *out = (kn_eig_leading_f32_work){0};
    KN_TRY(kn_mat_new(ctx, n, n, &out->A));
    KN_TRY(kn_mat_new(ctx, n, k, &out->AV));
    KN_TRY(kn_fmat_new(ctx, n, n, &out->F));
    KN_TRY(kn_fmat_new(ctx, n, k, &out->Z));
    KN_TRY(kn_eig_workspace_new(ctx, n, kn_eig_workspace_min(n), sizeof(float), &out->workspace));
out:
    if (status != KN_OK)
        kn_eig_leading_f32_clear(out);
    return status;
}

/* Computes all eigenvectors of the tridiagonal matrix d0, e0; Z = the last k of them. Fallback
 * for clustered eigenvalues on which sstemr fails. Allocates n^2 floats. Returns LAPACK's info. */
static lapack_int solve_sstedc(kn_eig_leading_f32_work *w, lapack_int n, lapack_int k)
{
    size_t size = (size_t)n;
    float *all = malloc(size * size * sizeof *all);
    if (!all)
        return 1;
    lapack_int info =
        LAPACKE_sstedc(LAPACK_COL_MAJOR, 'I', n, w->workspace.d0, w->workspace.e0, all, n);
    for (lapack_int j = 0; info == 0 && j < k; j++)
        memcpy(kn_fcol(w->Z, j), all + (size_t)(n - k + j) * size, size * sizeof *all);
    free(all);
    return info;
}

/* Computes w->Z (n x k), the vectors of the k largest eigenvalues of w->F = Q T Q', ascending:
 * those of T times Q. Returns info. */
static lapack_int compute_leading_vectors(kn_eig_leading_f32_work *w, lapack_int n, lapack_int k)
{
    const kn_eig_workspace *r = &w->workspace;
    lapack_int ld = (lapack_int)w->F.ld, ldz = (lapack_int)w->Z.ld, found = 0, info;
    lapack_logical accurate = 1;
    info = LAPACKE_ssytrd_work(LAPACK_COL_MAJOR, 'L', n, w->F.data, ld, r->d, r->e, r->tau, r->work,
                               (lapack_int)r->lwork);
    if (info != 0)
        return info;
    memcpy(r->d0, r->d, (size_t)n * sizeof(float));
    memcpy(r->e0, r->e, (size_t)n * sizeof(float));
    info = LAPACKE_sstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n, r->d, r->e, 0, 0, n - k + 1, n,
                               &found, r->w, w->Z.data, ldz, k, r->support, &accurate, r->work,
                               (lapack_int)r->lwork, r->iwork, (lapack_int)r->liwork);
    if (info != 0 || found != k)
        info = solve_sstedc(w, n, k);
    if (info == 0)
        info = LAPACKE_sormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, k, w->F.data, ld, r->tau,
                                   w->Z.data, ldz, r->work, (lapack_int)r->lwork);
    return info;
}

/* Sets w->F = A divided by its largest element, which is on the diagonal (A is positive
 * semidefinite, n x n). False if an element is not finite. */
static bool scale_matrix(kn_eig_leading_f32_work *w, ptrdiff_t n)
{
    double limit = 0;
    for (ptrdiff_t j = 0; j < n; j++)
        limit = fmax(limit, kn_at(w->A, j, j));
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = j; i < n; i++) {
            double a = kn_at(w->A, i, j);
            if (!isfinite(a))
                return false;
            kn_fcol(w->F, j)[i] = (float)(limit > 0 ? a / limit : a);
        }
    return true;
}

int kn_eig_leading_f32(kn_eig_leading_f32_work *w, ptrdiff_t n, ptrdiff_t k, double *s, kn_mat V)
{
    assert(n <= w->A.rows && k <= w->Z.cols && k <= n && V.rows == n && V.cols == k);
    kn_mat A = kn_sub(w->A, 0, 0, n, n), AV = kn_sub(w->AV, 0, 0, n, k);
    if (k == 0)
        return 0;
    if (!scale_matrix(w, n))
        return -1;
    lapack_int info = compute_leading_vectors(w, (lapack_int)n, (lapack_int)k);
    if (info != 0)
        return (int)info;
    for (ptrdiff_t j = 0; j < k; j++) {
        const float *z = kn_fcol(w->Z, k - 1 - j);
        double *v = kn_col(V, j), length = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            length += (double)z[i] * (double)z[i];
        for (ptrdiff_t i = 0; i < n; i++)
            v[i] = (double)z[i] / sqrt(length);
    }
    kn_mirror(A);
    kn_gemm(NULL, 1, KN_N, A, KN_N, V, 0, AV);
    for (ptrdiff_t j = 0; j < k; j++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            sum += kn_at(V, i, j) * kn_at(AV, i, j);
        s[j] = j > 0 ? fmin(sum, s[j - 1]) : sum;
    }
    return 0;
}
