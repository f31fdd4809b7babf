#include "gp/latent.h"

#include <math.h>

#include "la/la.h"

enum { ROWS = 1024 }; /* new samples at a time: bounds the work space at ROWS x N */

void kn_latent_clear(kn_latent *l)
{
    kn_mat_clear(&l->X);
    kn_decomp_clear(&l->R0);
    kn_mat_clear(&l->A);
    kn_free(l->c);
    kn_free(l->d);
    *l = (kn_latent){0};
}

kn_status kn_latent_new(kn_ctx *ctx, kn_mat *X, kn_decomp *R0, kn_mat *A, const double *c,
                        const double *d, double iso, kn_latent *out)
{
    kn_status status;
    ptrdiff_t P = A->cols;
    *out = (kn_latent){.iso = iso};
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->d));
    for (ptrdiff_t p = 0; p < P; p++) {
        out->c[p] = c[p];
        out->d[p] = d[p];
    }
    if (A->ld == A->rows) {
        out->A = *A;
        *A = kn_mat_none();
    } else { /* room for more rows than the decomposition has */
        KN_TRY(kn_mat_copy(ctx, *A, &out->A));
    }
    out->X = *X;
    out->R0 = *R0;
    *X = kn_mat_none();
    *R0 = (kn_decomp){0};
out:
    if (status != KN_OK)
        kn_latent_clear(out);
    return status;
}

double kn_at_least_zero(double v, double scale, double *clamped)
{
    if (v >= 0)
        return v;
    if (scale > 0 && -v / scale > *clamped)
        *clamped = -v / scale;
    return 0;
}

/* inverse (m x P) = 1/(c_p r_i + d_p); weights (m x P) = A c/(c r + d) where wanted */
static void inverse_spectrum(const kn_latent *l, kn_mat inverse, kn_mat weights)
{
    for (ptrdiff_t p = 0; p < l->A.cols; p++) {
        double c = l->c[p], d = l->d[p];
        for (ptrdiff_t i = 0; i < l->R0.m; i++) {
            double k = c * l->R0.r[i] + d, v = k > 0 ? 1 / k : 0; /* 0: no energy at all */
            kn_col(inverse, p)[i] = v;
            if (weights.data)
                kn_col(weights, p)[i] = kn_at(l->A, i, p) * c * v;
        }
    }
}

static void square(kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(M, j)[i] *= kn_at(M, i, j);
}

kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, kn_mat mean,
                            kn_mat variance, double *clamped)
{
    kn_status status;
    kn_pairs pairs = {0};
    kn_mat Rs = {0}, RU = {0}, inverse = {0}, weights = {0};
    double *self = NULL, *sq = NULL;
    /* R0* U = K(*, base) map: all training samples and U, or the pivots and their map */
    kn_mat base = l->R0.n_pivots > 0 ? l->R0.base : l->X;
    kn_mat map = l->R0.n_pivots > 0 ? l->R0.map : l->R0.U;
    ptrdiff_t N = base.rows, m = l->R0.m, P = l->A.cols;
    ptrdiff_t most = Xs.rows < ROWS ? Xs.rows : ROWS;

    KN_TRY(kn_mat_new(ctx, m, P, &inverse));
    KN_TRY(kn_mat_new(ctx, m, P, &weights));
    KN_TRY(kn_mat_new(ctx, most, N, &Rs));
    KN_TRY(kn_mat_new(ctx, most, m, &RU));
    KN_TRY(kn_alloc_d(ctx, most, &self));
    KN_TRY(kn_alloc_d(ctx, most, &sq));
    inverse_spectrum(l, inverse, weights);
    for (ptrdiff_t i = 0; i < Xs.rows; i += ROWS) {
        ptrdiff_t n = Xs.rows - i < ROWS ? Xs.rows - i : ROWS;
        kn_mat xs = kn_sub(Xs, i, 0, n, Xs.cols), rs = kn_sub(Rs, 0, 0, n, N);
        kn_mat ru = kn_sub(RU, 0, 0, n, m), v = kn_sub(variance, i, 0, n, P);
        KN_TRY(kn_check_cancel(ctx));
        kn_pairs_clear(&pairs);
        KN_TRY(kn_pairs_between(ctx, xs, base, l->R0.kernels, &pairs));
        kn_kernel_fill(l->R0.kernels, l->R0.theta, &pairs, rs);
        kn_kernel_self(l->R0.kernels, l->R0.theta, xs, sq, self);
        kn_gemm(1, KN_N, rs, KN_N, map, 0, ru);
        kn_gemm(1, KN_N, ru, KN_N, weights, 0, kn_sub(mean, i, 0, n, P));
        square(ru);
        kn_gemm(1, KN_N, ru, KN_N, inverse, 0, v); /* H of METHOD 4 */
        for (ptrdiff_t p = 0; p < P; p++)
            for (ptrdiff_t k = 0; k < n; k++) {
                double c = l->c[p], prior = c * (self[k] + l->iso);
                kn_col(v, p)[k] = kn_at_least_zero(prior - c * c * kn_at(v, k, p), prior, clamped);
            }
    }
out:
    kn_free(sq);
    kn_free(self);
    kn_mat_clear(&RU);
    kn_mat_clear(&Rs);
    kn_mat_clear(&weights);
    kn_mat_clear(&inverse);
    kn_pairs_clear(&pairs);
    return status;
}

/* With directions outside U, k_ip = sum_n U_in^2 (1/k_np - 1/d_p) + 1/d_p and
 * q = U (A (1/k - 1/d)) + z/d                                                          [SCALE 3] */
kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_mat Z, kn_mat mean, kn_mat variance,
                        double *clamped)
{
    kn_status status;
    kn_mat U = {0}, inverse = {0}, Yt = {0};
    ptrdiff_t N = l->X.rows, m = l->R0.m, P = l->A.cols;
    bool low = l->R0.n_pivots > 0;
    KN_TRY(kn_mat_new(ctx, m, P, &inverse));
    KN_TRY(kn_mat_new(ctx, m, P, &Yt));
    if (low) {
        KN_TRY(kn_mat_new(ctx, N, m, &U));
        KN_TRY(kn_decomp_vectors(ctx, &l->R0, l->X, U));
    } else {
        KN_TRY(kn_mat_copy(ctx, l->R0.U, &U));
    }
    inverse_spectrum(l, inverse, kn_mat_none());
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < m; i++) {
            if (low) /* 1/k - 1/d = -c r/(k d) */
                kn_col(inverse, p)[i] *= -l->c[p] * l->R0.r[i] / l->d[p];
            kn_col(Yt, p)[i] = kn_at(l->A, i, p) * kn_at(inverse, i, p);
        }
    kn_gemm(1, KN_N, U, KN_N, Yt, 0, mean); /* q   N x P */
    square(U);
    kn_gemm(1, KN_N, U, KN_N, inverse, 0, variance); /* k   N x P */
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < N; i++) {
            double k = kn_at(variance, i, p) + (low ? 1 / l->d[p] : 0);
            double q = kn_at(mean, i, p) + (low ? kn_at(Z, i, p) / l->d[p] : 0);
            double v = 1 / k - l->d[p] + l->c[p] * l->iso;
            kn_col(mean, p)[i] = kn_at(Z, i, p) - q / k;
            kn_col(variance, p)[i] = kn_at_least_zero(v, 1 / k, clamped);
        }
out:
    kn_mat_clear(&Yt);
    kn_mat_clear(&inverse);
    kn_mat_clear(&U);
    return status;
}
