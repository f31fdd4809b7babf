#include "gp/pairs.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "la/la.h"
#include "la/vec.h"

void kn_pairs_clear(kn_pairs *pairs)
{
    kn_mat_clear(&pairs->dot);
    kn_mat_clear(&pairs->d2);
}

typedef struct distance_job {
    kn_mat X, Y, d2;
    bool symmetric;
} distance_job;

/* Differences first, then squares: exact zeros between equal rows and no cancellation, which
 * |x|^2 + |y|^2 - 2 x.y cannot give. N^2 F flops, once. */
static void distance_columns(void *self, ptrdiff_t first, ptrdiff_t last)
{
    distance_job *job = self;
    for (ptrdiff_t j = first; j < last; j++) {
        ptrdiff_t i0 = job->symmetric ? j : 0;
        for (ptrdiff_t f = 0; f < job->X.cols; f++)
            kn_vec_add_sqdiff(job->X.rows - i0, kn_col(job->X, f) + i0, kn_at(job->Y, j, f),
                              kn_col(job->d2, j) + i0);
    }
}

static kn_status make(kn_ctx *ctx, kn_mat X, kn_mat Y, bool symmetric, unsigned kernels,
                      kn_pairs *out)
{
    kn_status status = KN_OK;
    *out = (kn_pairs){.symmetric = symmetric};
    if (kernels & KN_LINEAR) {
        KN_TRY(kn_mat_new(ctx, X.rows, Y.rows, &out->dot));
        if (symmetric)
            kn_syrk(1, KN_N, X, 0, out->dot);
        else
            kn_gemm(1, KN_N, X, KN_T, Y, 0, out->dot);
    }
    if (kernels & KN_SE) {
        KN_TRY(kn_mat_new(ctx, X.rows, Y.rows, &out->d2));
        distance_job job = {X, Y, out->d2, symmetric};
        kn_parallel(ctx, Y.rows, 64, distance_columns, &job);
    }
out:
    if (status != KN_OK)
        kn_pairs_clear(out);
    return status;
}

kn_status kn_pairs_between(kn_ctx *ctx, kn_mat X, kn_mat Y, unsigned kernels, kn_pairs *out)
{
    return make(ctx, X, Y, false, kernels, out);
}

kn_status kn_pairs_within(kn_ctx *ctx, kn_mat X, unsigned kernels, kn_pairs *out)
{
    return make(ctx, X, X, true, kernels, out);
}

static double lower(kn_mat S, ptrdiff_t i, ptrdiff_t j)
{
    return i >= j ? kn_at(S, i, j) : kn_at(S, j, i);
}

static kn_status pick(kn_ctx *ctx, kn_mat S, const ptrdiff_t *rows, ptrdiff_t n,
                      const ptrdiff_t *cols, ptrdiff_t m, bool symmetric, kn_mat *out)
{
    *out = kn_mat_none();
    if (!S.data)
        return KN_OK;
    kn_status status = kn_mat_new(ctx, n, m, out);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < n; i++)
            kn_col(*out, j)[i] = lower(S, rows[i], cols[j]);
    return KN_OK;
}

kn_status kn_pairs_cross(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *rows, ptrdiff_t n,
                         const ptrdiff_t *cols, ptrdiff_t m, kn_pairs *out)
{
    kn_status status;
    *out = (kn_pairs){.symmetric = rows == cols};
    KN_TRY(pick(ctx, pairs->dot, rows, n, cols, m, out->symmetric, &out->dot));
    KN_TRY(pick(ctx, pairs->d2, rows, n, cols, m, out->symmetric, &out->d2));
out:
    if (status != KN_OK)
        kn_pairs_clear(out);
    return status;
}

kn_status kn_pairs_subset(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *index, ptrdiff_t n,
                          kn_pairs *out)
{
    return kn_pairs_cross(ctx, pairs, index, n, index, n, out);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_root(double *v, ptrdiff_t n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n > 0 ? sqrt(v[n / 2]) : 0;
}

kn_status kn_pairs_distances(kn_ctx *ctx, const kn_pairs *pairs, kn_distances *out)
{
    enum { ENOUGH = 1000 };
    ptrdiff_t N = pairs->d2.rows, step = (N + ENOUGH - 1) / ENOUGH, n = (N + step - 1) / step;
    double *all = NULL, *nearest = NULL;
    ptrdiff_t n_all = 0, n_nearest = 0;
    kn_status status;
    *out = (kn_distances){0};
    KN_TRY(kn_alloc_d(ctx, n * (n - 1) / 2, &all));
    KN_TRY(kn_alloc_d(ctx, n, &nearest));
    for (ptrdiff_t a = 0; a < n; a++) {
        double least = INFINITY;
        for (ptrdiff_t i = 0; i < N; i++) {
            double d2 = lower(pairs->d2, a * step, i);
            if (d2 > 0 && d2 < least)
                least = d2;
        }
        if (isfinite(least))
            nearest[n_nearest++] = least;
        for (ptrdiff_t b = 0; b < a; b++) {
            double d2 = lower(pairs->d2, a * step, b * step);
            if (d2 > 0)
                all[n_all++] = d2;
        }
    }
    out->median = median_root(all, n_all);
    out->nearest = median_root(nearest, n_nearest);
out:
    kn_free(all);
    kn_free(nearest);
    return status;
}
