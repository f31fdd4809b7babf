/* Implements eigen_dense.h: fills R0, applies H^-1/2 from both sides if there are groups, and
 * calls LAPACK's symmetric eigensolver. This is the one cubic step of a dense fit. */
#include "cov/eigen_dense.h"

#include <assert.h>
#include <math.h>

#include "la/la.h"

kn_status kn_decomp_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, kn_decomp *out)
{
    assert(cov->n == cov->n_between);
    kn_status status;
    *out = (kn_decomp){.N = N, .m = N, .cov = *cov};
    KN_TRY(kn_mat_new(ctx, N, N, &out->U));
    KN_TRY(kn_alloc_d(ctx, N, &out->r));
out:
    if (status != KN_OK)
        kn_decomp_clear(out);
    return status;
}

void kn_decomp_need(kn_mem_plan *r, ptrdiff_t N)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, N);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, 1);
    kn_eig_need(r, KN_NEED_SAMPLES, N);
}

void kn_decomp_clear(kn_decomp *d)
{
    kn_mat_clear(&d->U);
    kn_free(d->r);
    kn_free(d->pivot);
    kn_mat_clear(&d->base);
    kn_mat_clear(&d->map);
    kn_mat_clear(&d->rotation);
    *d = (kn_decomp){0};
}

/* Computes U <- H^-1/2 U H^-1/2 for symmetric U (N x N, lower triangle) and the noise covariance
 * H at gamma: both sides are applied to rows, with a transposition in between. */
static void apply_inverse_root(const kn_groups *groups, double gamma, kn_mat U)
{
    kn_mirror(U);
    kn_groups_half(groups, gamma, U);
    for (ptrdiff_t j = 0; j < U.cols; j++)
        for (ptrdiff_t i = 0; i < j; i++) {
            double t = kn_at(U, i, j);
            kn_col(U, j)[i] = kn_at(U, j, i);
            kn_col(U, i)[j] = t;
        }
    kn_groups_half(groups, gamma, U);
}

kn_status kn_decomp_compute(kn_ctx *ctx, kn_decomp *d, const kn_pairs *pairs,
                            const kn_groups *groups, const double *theta)
{
    bool grouped = groups && d->gamma > 0;
    for (int k = 0; k < d->cov.n_theta; k++)
        d->theta[k] = theta[k];
    kn_cov_fill(&d->cov, theta, pairs, d->U);
    if (grouped)
        apply_inverse_root(groups, d->gamma, d->U);
    kn_status status = (d->steady ? kn_eig_reproducible : kn_eig)(ctx, d->U, d->r);
    if (status != KN_OK)
        return status;
    if (grouped)
        kn_groups_half(groups, d->gamma, d->U);
    /* R0 is positive semidefinite: eigenvalues below zero are rounding. */
    for (ptrdiff_t i = 0; i < d->m; i++)
        if (d->r[i] < 0)
            d->r[i] = 0;
    return KN_OK;
}

void kn_decomp_contract(kn_ctx *ctx, const kn_decomp *d, kn_mat M, const double *w, kn_mat V,
                        bool first, kn_mat H)
{
    kn_mat UM = kn_cols(V, 0, M.cols);
    kn_gemm(ctx, 1, KN_N, d->U, KN_N, M, 0, UM);   /* V = U M   N x P */
    kn_syrk(ctx, 0.5, KN_N, UM, first ? 0 : 1, H); /* H += 1/2 V V' */
    /* H -= 1/2 (U w^1/2)(U w^1/2)', through V in slices so that no second N x N is needed */
    for (ptrdiff_t j = 0; j < d->m; j += V.cols) {
        ptrdiff_t n = d->m - j < V.cols ? d->m - j : V.cols;
        for (ptrdiff_t k = 0; k < n; k++) {
            double s = sqrt(w[j + k]);
            const double *u = kn_col(d->U, j + k);
            double *v = kn_col(V, k);
            for (ptrdiff_t i = 0; i < d->N; i++)
                v[i] = s * u[i];
        }
        kn_syrk(ctx, -0.5, KN_N, kn_cols(V, 0, n), 1, H);
    }
}
