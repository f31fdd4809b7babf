/* Likelihood of MT-Kronsum: full covariances of the responses for signal (C) and noise (S)
 * [METHOD 1g].
 *
 *     vec(Y) ~ N(0, C (x) R0 + S (x) O)      C, S  T x T, C may be singular      O = I + tau G
 *     W'S W = I  W'C W = diag(c)  Q = S W     U'O U = I  U'R0 U = diag(r)
 *     A = U'Y W     k_np = r_n c_p + 1        V = A ./ k
 *     LML = -1/2 [NT ln 2pi + sum ln k + N ln|S| + T ln|O| + sum A.*V]
 *
 * Directions outside the m columns of U have r = 0 and k = 1: they enter by E = Y'O^-1 Y -
 * (U'Y)'(U'Y). An evaluation is dpotrf, 2 trsm and dsyevd at T, 6 m T^2 flops, and 4 T^3 with E. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>

#include "la/la.h"

static const double LN_2PI = 1.8378770664093455;
static const double NO_SIGNAL = 1e-12; /* r c of a row whose k is 1 up to rounding */

void kn_kronsum_clear(kn_kronsum *k)
{
    kn_mat *m[] = {&k->W, &k->Q, &k->V, &k->F, &k->MC, &k->MS, &k->one, &k->two};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        kn_mat_clear(m[i]);
    kn_free(k->c);
    kn_free(k->b);
    kn_free(k->e);
    *k = (kn_kronsum){0};
}

kn_status kn_kronsum_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t m, kn_kronsum *out)
{
    kn_status status;
    *out = (kn_kronsum){.T = T};
    kn_mat *square[] = {&out->W, &out->Q, &out->MC, &out->MS, &out->one, &out->two};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        KN_TRY(kn_mat_new(ctx, T, T, square[i]));
    KN_TRY(kn_mat_new(ctx, m, T, &out->V));
    KN_TRY(kn_mat_new(ctx, m, T, &out->F));
    KN_TRY(kn_alloc_d(ctx, T, &out->c));
    KN_TRY(kn_alloc_d(ctx, T, &out->b));
    KN_TRY(kn_alloc_d(ctx, T, &out->e));
out:
    if (status != KN_OK)
        kn_kronsum_clear(out);
    return status;
}

kn_status kn_kronsum_rows(kn_ctx *ctx, ptrdiff_t m, kn_kronsum *k)
{
    kn_status status = KN_OK;
    if (k->V.rows == m)
        return KN_OK;
    kn_mat_clear(&k->V);
    kn_mat_clear(&k->F);
    KN_TRY(kn_mat_new(ctx, m, k->T, &k->V));
    KN_TRY(kn_mat_new(ctx, m, k->T, &k->F));
out:
    return status;
}

void kn_kronsum_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m)
{
    kn_plan_alloc_d(r, KN_NEED_BASIS, 6 * T, T);
    kn_plan_alloc_d(r, KN_NEED_WORK, 2 * m, T);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 3);
    kn_eig_need(r, KN_NEED_BASIS, T);
}

/* Computes V = A/k, F, b and e, with k_np = r_n c_p + 1, from A (m x T), which k->V holds on
 * entry; returns sum ln k + sum A.*V over the m rows. */
static double compute_spectra(const kn_kronsum_data *data, kn_kronsum *k)
{
    double sum = 0;
    ptrdiff_t m = data->A.rows;
    for (ptrdiff_t p = 0; p < k->T; p++) {
        double *v = kn_col(k->V, p), *f = kn_col(k->F, p), c = k->c[p];
        double b = 0, e = (double)(data->N - m), weight = 0;
        for (ptrdiff_t n = 0; n < m; n++) {
            double r = data->r[n], K = r * c + 1, a = v[n];
            v[n] = a / K;
            f[n] = sqrt(r) * v[n];
            weight += log(K) + a * v[n];
            b += r / K;
            e += 1 / K;
        }
        k->b[p] = b;
        k->e[p] = e;
        sum += weight;
    }
    return sum;
}

kn_status kn_kronsum_evaluate(kn_ctx *ctx, const kn_kronsum_data *data, kn_mat C, kn_mat S,
                              kn_kronsum *k)
{
    double N = (double)data->N, T = (double)k->T;
    kn_mat_set(k->one, C);
    kn_mat_set(k->two, S);
    k->V.rows = k->F.rows = data->A.rows;
    kn_status status = kn_eig_generalized(ctx, k->one, k->two,
                                          &(kn_eig_generalized_out){k->W, k->Q, k->c, &k->log_det});
    if (status != KN_OK)
        return status;
    kn_gemm(ctx, 1, KN_N, data->A, KN_N, k->W, 0, k->V); /* A   m x T */
    double sum = compute_spectra(data, k);
    kn_syrk(ctx, 1, KN_T, k->F, 0, k->MC);
    kn_mirror(k->MC);
    if (data->E.data) {
        kn_gemm(ctx, 1, KN_N, data->E, KN_N, k->W, 0, k->one);
        kn_gemm(ctx, 1, KN_T, k->W, KN_N, k->one, 0, k->MS);
        for (ptrdiff_t p = 0; p < k->T; p++)
            sum += kn_at(k->MS, p, p);
    }
    kn_syrk(ctx, 1, KN_T, k->V, data->E.data ? 1 : 0, k->MS);
    kn_mirror(k->MS);
    k->lml = -0.5 * (N * T * LN_2PI + sum + N * k->log_det + T * data->log_det);
    return KN_OK;
}

/* Computes out = alpha L M L' (T x T); work: T x T. */
static void multiply_both_sides(kn_ctx *ctx, double alpha, kn_mat L, kn_mat M, kn_mat work,
                                kn_mat out)
{
    kn_gemm(ctx, 1, KN_N, L, KN_N, M, 0, work);
    kn_gemm(ctx, alpha, KN_N, work, KN_T, L, 0, out);
}

/* Adds alpha d_p to each diagonal entry of M. */
static void add_diagonal(kn_mat M, double alpha, const double *d)
{
    for (ptrdiff_t p = 0; p < M.rows; p++)
        kn_col(M, p)[p] += alpha * d[p];
}

void kn_kronsum_gradient(kn_ctx *ctx, kn_kronsum *k, kn_mat GC, kn_mat GS)
{
    kn_mat_set(k->two, k->MC);
    add_diagonal(k->two, -1, k->b);
    multiply_both_sides(ctx, 0.5, k->W, k->two, k->one, GC);
    kn_mat_set(k->two, k->MS);
    add_diagonal(k->two, -1, k->e);
    multiply_both_sides(ctx, 0.5, k->W, k->two, k->one, GS);
}

/* Averages a sum with a prior matrix: M <- (M + nu M0)/(n + nu); nu = 0: M0 is not used. */
static void average_with_prior(kn_mat M, double n, double nu, kn_mat M0)
{
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++) {
            double *x = kn_col(M, j) + i;
            *x = (*x + (nu > 0 ? nu * kn_at(M0, i, j) : 0)) / (n + nu);
        }
}

ptrdiff_t kn_kronsum_em(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_prior *prior,
                        kn_kronsum *k, kn_mat C, kn_mat S)
{
    ptrdiff_t T = k->T, m = data->A.rows, rows = 0;
    double top = k->c[T - 1];
    for (ptrdiff_t n = 0; n < m; n++)
        rows += data->r[n] * top > NO_SIGNAL;
    for (ptrdiff_t p = 0; p < T; p++) {
        double c = k->c[p], explained = 0; /* sum of c/k over rows with signal */
        for (ptrdiff_t n = 0; n < m; n++)
            explained += data->r[n] * top > NO_SIGNAL ? c / (data->r[n] * c + 1) : 0;
        for (ptrdiff_t q = 0; q < T; q++)
            kn_col(k->two, p)[q] = k->c[q] * kn_at(k->MC, q, p) * c;
        kn_col(k->two, p)[p] += explained;
    }
    if (rows > 0) {
        multiply_both_sides(ctx, 1, k->Q, k->two, k->one, C);
        average_with_prior(C, (double)rows, prior->nu, prior->C0);
    }
    kn_mat_set(k->two, k->MS);
    for (ptrdiff_t p = 0; p < T; p++)
        kn_col(k->two, p)[p] += (double)data->N - k->e[p];
    multiply_both_sides(ctx, 1, k->Q, k->two, k->one, S);
    average_with_prior(S, (double)data->N, prior->nu, prior->S0);
    kn_mirror(C);
    kn_mirror(S);
    return rows;
}

double kn_kronsum_log_prior(kn_ctx *ctx, const kn_kronsum_prior *prior, kn_kronsum *k, kn_mat *GC,
                            kn_mat *GS)
{
    double nu = prior->nu, sum = 2 * k->log_det;
    if (!(nu > 0))
        return 0;
    /* C^-1 = W diag(1/c) W', S^-1 = W W': of each G += nu/2 W (D W'M0 W D - D) W' */
    for (int which = 0; which < 2; which++) {
        kn_mat M0 = which ? prior->S0 : prior->C0;
        kn_gemm(ctx, 1, KN_N, M0, KN_N, k->W, 0, k->one);
        kn_gemm(ctx, 1, KN_T, k->W, KN_N, k->one, 0, k->two);
        for (ptrdiff_t p = 0; p < k->T; p++) {
            double D = which ? 1 : 1 / k->c[p];
            sum += kn_at(k->two, p, p) * D - log(D);
        }
        if (!GC)
            continue;
        for (ptrdiff_t p = 0; p < k->T; p++) {
            double D = which ? 1 : 1 / k->c[p];
            for (ptrdiff_t q = 0; q < k->T; q++)
                kn_col(k->two, p)[q] *= D * (which ? 1 : 1 / k->c[q]);
            kn_col(k->two, p)[p] -= D;
        }
        kn_gemm(ctx, 1, KN_N, k->W, KN_N, k->two, 0, k->one);
        kn_gemm(ctx, 0.5 * nu, KN_N, k->one, KN_T, k->W, 1, which ? *GS : *GC);
    }
    return -0.5 * nu * sum;
}

void kn_kronsum_outer(const kn_kronsum_data *data, const kn_kronsum *k, bool noise, kn_mat M,
                      double *w)
{
    for (ptrdiff_t n = 0; n < M.rows; n++)
        w[n] = 0;
    for (ptrdiff_t p = 0; p < k->T; p++) {
        double c = k->c[p], weight = noise ? 1 : c;
        for (ptrdiff_t n = 0; n < M.rows; n++) {
            kn_col(M, p)[n] = sqrt(weight) * kn_at(k->V, n, p);
            w[n] += weight / (data->r[n] * c + 1);
        }
    }
}

kn_status kn_kronsum_floor(kn_ctx *ctx, kn_mat S, double floor, kn_mat work, bool *floored)
{
    kn_status status = KN_OK;
    double *w = NULL;
    kn_mat V = {0};
    kn_mat_set(work, S);
    for (ptrdiff_t j = 0; j < S.cols; j++)
        kn_col(work, j)[j] -= floor;
    if (kn_is_positive(ctx, work))
        return KN_OK;
    *floored = true;
    KN_TRY(kn_alloc_d(ctx, S.cols, &w));
    KN_TRY(kn_mat_copy(ctx, S, &V));
    KN_TRY(kn_eig(ctx, V, w));
    for (ptrdiff_t p = 0; p < S.cols; p++)
        for (ptrdiff_t j = 0; j < S.cols; j++)
            kn_col(work, p)[j] = kn_at(V, j, p) * fmax(w[p], floor);
    kn_gemm(ctx, 1, KN_N, work, KN_T, V, 0, S);
    kn_mirror(S);
out:
    kn_mat_clear(&V);
    kn_free(w);
    return status;
}
