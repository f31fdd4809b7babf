/* Fixed effects of covariates by least squares; convolved processes then smooth the residuals
 * [METHOD 1i].
 *
 *     X  columns of the design, centred: numbers, levels of categories, slopes of each level
 *     W = (X'X)^+      beta = W X'Z      leverage of x*:  h* = 1/N + x*'W x*
 *
 * The levels of a category are collinear, so W is a pseudo-inverse over the eigenvalues of X'X
 * above rounding: the minimum-norm solution, in which the effects of the levels of a category sum
 * to zero. A level that is not in training has effect zero, that of the average level, and the
 * variance of the known effects. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"

/* Share of the largest eigenvalue of X'X below which a direction is rounding. */
static const double ROUNDING = 1e-10;

void kn_fixed_clear(kn_fixed *f)
{
    kn_mat_clear(&f->mean);
    kn_mat_clear(&f->W);
    kn_mat_clear(&f->beta);
    kn_mat_clear(&f->spread);
    kn_mat_clear(&f->level);
    *f = (kn_fixed){0};
}

/* Sets Xc (N x n) to the columns of the design X (N x F) that have fixed effects, minus `mean`
 * (n x 1). */
static void centre_columns(const kn_fixed_columns *columns, kn_mat mean, kn_mat X, kn_mat Xc)
{
    for (ptrdiff_t j = 0; j < columns->n; j++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(Xc, j)[i] = kn_at(X, i, columns->column[j]) - mean.data[j];
}

/* Sets mean (n x 1) to the means of the columns of the design X (N x F) that have fixed effects. */
static void compute_means(const kn_fixed_columns *columns, kn_mat X, kn_mat mean)
{
    for (ptrdiff_t j = 0; j < columns->n; j++) {
        const double *x = kn_col(X, columns->column[j]);
        double sum = 0;
        for (ptrdiff_t i = 0; i < X.rows; i++)
            sum += x[i];
        mean.data[j] = sum / (double)X.rows;
    }
}

/* Sets f->W (n x n) = (Xc'Xc)^+, the pseudo-inverse, and f->rank, by eigenvectors with
 * eigenvalue above rounding. Xc: N x n. */
static kn_status invert_products(kn_ctx *ctx, kn_mat Xc, kn_fixed *f)
{
    kn_status status;
    kn_mat V = {0};
    double *w = NULL;
    ptrdiff_t n = Xc.cols;
    KN_TRY(kn_mat_new(ctx, n, n, &V));
    KN_TRY(kn_alloc_d(ctx, n, &w));
    kn_syrk(ctx, 1, KN_T, Xc, 0, V);
    KN_TRY(kn_eig_reproducible(ctx, V, w));
    for (ptrdiff_t k = 0; k < n; k++) {
        bool more = w[k] > ROUNDING * w[n - 1] && w[k] > 0;
        double scale = more ? 1 / sqrt(w[k]) : 0;
        f->rank += more;
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(V, k)[i] *= scale;
    }
    kn_syrk(ctx, 1, KN_N, V, 0, f->W);
    kn_mirror(f->W);
out:
    kn_mat_clear(&V);
    kn_free(w);
    return status;
}

/* Sets f->spread (n x P) for columns that are zero in the training sample Xc (N x n), such as an
 * unseen level: their effect is unknown, and its variance is the mean square of the known
 * effects of the same block of columns. */
static void set_spread(const kn_fixed_columns *columns, kn_mat Xc, kn_fixed *f)
{
    for (ptrdiff_t j = 0; j < columns->n; j++) {
        if (columns->block[j] < 0 || kn_sumsq(kn_cols(Xc, j, 1)) > 0)
            continue;
        for (ptrdiff_t p = 0; p < f->beta.cols; p++) {
            double sum = 0, n = 0;
            for (ptrdiff_t k = 0; k < columns->n; k++)
                if (columns->block[k] == columns->block[j] && kn_sumsq(kn_cols(Xc, k, 1)) > 0) {
                    sum += kn_at(f->beta, k, p) * kn_at(f->beta, k, p);
                    n++;
                }
            kn_col(f->spread, p)[j] = n > 0 ? sum / n : 0;
        }
    }
}

kn_status kn_fixed_new(kn_ctx *ctx, const kn_fixed_columns *columns, kn_mat X, kn_mat Z,
                       kn_fixed *out)
{
    kn_status status;
    kn_mat Xc = {0}, XZ = {0};
    ptrdiff_t n = columns->n, N = X.rows, P = Z.cols;
    *out = (kn_fixed){.N = N};
    KN_TRY(kn_mat_new(ctx, n, 1, &out->mean));
    KN_TRY(kn_mat_new(ctx, n, n, &out->W));
    KN_TRY(kn_mat_new(ctx, n, P, &out->beta));
    KN_TRY(kn_mat_new(ctx, n, P, &out->spread));
    KN_TRY(kn_mat_new(ctx, 1, P, &out->level));
    KN_TRY(kn_mat_new(ctx, N, n, &Xc));
    KN_TRY(kn_mat_new(ctx, n, P, &XZ));
    compute_means(columns, X, out->mean);
    centre_columns(columns, out->mean, X, Xc);
    KN_TRY(invert_products(ctx, Xc, out));
    kn_gemm(ctx, 1, KN_T, Xc, KN_N, Z, 0, XZ);
    kn_gemm(ctx, 1, KN_N, out->W, KN_N, XZ, 0, out->beta);
    for (ptrdiff_t p = 0; p < P; p++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            sum += kn_at(Z, i, p);
        out->level.data[p] = sum / (double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Z, p)[i] -= out->level.data[p];
    }
    kn_gemm(ctx, -1, KN_N, Xc, KN_N, out->beta, 1, Z);
    set_spread(columns, Xc, out);
out:
    kn_mat_clear(&Xc);
    kn_mat_clear(&XZ);
    if (status != KN_OK)
        kn_fixed_clear(out);
    return status;
}

kn_status kn_fixed_predict(kn_ctx *ctx, const kn_fixed_columns *columns, const kn_fixed *f,
                           kn_mat X, kn_fixed_prediction out)
{
    kn_status status;
    kn_mat Xc = {0}, XW = {0};
    ptrdiff_t n = columns->n;
    KN_TRY(kn_mat_new(ctx, X.rows, n, &Xc));
    KN_TRY(kn_mat_new(ctx, X.rows, n, &XW));
    centre_columns(columns, f->mean, X, Xc);
    if (out.mean.data)
        kn_gemm(ctx, 1, KN_N, Xc, KN_N, f->beta, 0, out.mean);
    for (ptrdiff_t p = 0; out.mean.data && p < out.mean.cols; p++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(out.mean, p)[i] += f->level.data[p];
    if (out.leverage) {
        kn_gemm(ctx, 1, KN_N, Xc, KN_N, f->W, 0, XW);
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            out.leverage[i] = 1 / (double)f->N;
            for (ptrdiff_t j = 0; j < n; j++)
                out.leverage[i] += kn_at(Xc, i, j) * kn_at(XW, i, j);
        }
    }
    if (out.spread.data) { /* columns that are zero in training have mean zero */
        for (ptrdiff_t j = 0; j < Xc.rows * n; j++)
            Xc.data[j] *= Xc.data[j];
        kn_gemm(ctx, 1, KN_N, Xc, KN_N, f->spread, 0, out.spread);
    }
out:
    kn_mat_clear(&Xc);
    kn_mat_clear(&XW);
    return status;
}

void kn_fixed_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n, ptrdiff_t P)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 1 + n + 2 * P);
    kn_plan_alloc_d(r, KN_NEED_WORK, 1, P);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, N, n);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, P);
    kn_mem_usage before = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, n + 1);
    kn_eig_need(r, KN_NEED_WORK, n);
    kn_plan_free_to(r, before);
    kn_plan_free_to(r, mark);
}

void kn_fixed_predict_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, N, 2 * n);
    kn_plan_free_to(r, mark);
}
