#include "cov/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            kn_syrk(ctx, 1, KN_N, X, 0, out->dot);
        else
            kn_gemm(ctx, 1, KN_N, X, KN_T, Y, 0, out->dot);
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

/* Distances from every step-th row, of which there are at most ENOUGH: to one another, and to the
 * nearest of all. */
typedef struct gathering {
    ptrdiff_t N, step, n; /* rows; every step-th; how many these are */
    double *all, *nearest;
    ptrdiff_t n_all, n_nearest;
} gathering;

static kn_status gathering_new(kn_ctx *ctx, ptrdiff_t N, gathering *g)
{
    enum { ENOUGH = 1000 };
    kn_status status;
    *g = (gathering){.N = N, .step = (N + ENOUGH - 1) / ENOUGH};
    g->n = (N + g->step - 1) / g->step;
    KN_TRY(kn_alloc_d(ctx, g->n * (g->n - 1) / 2, &g->all));
    KN_TRY(kn_alloc_d(ctx, g->n, &g->nearest));
out:
    return status;
}

/* d2: squared distances of the a-th of these rows to all N */
static void gather(gathering *g, ptrdiff_t a, const double *d2)
{
    double least = INFINITY;
    for (ptrdiff_t i = 0; i < g->N; i++)
        if (d2[i] > 0 && d2[i] < least)
            least = d2[i];
    if (isfinite(least))
        g->nearest[g->n_nearest++] = least;
    for (ptrdiff_t b = 0; b < a; b++)
        if (d2[b * g->step] > 0)
            g->all[g->n_all++] = d2[b * g->step];
}

static void gathering_end(gathering *g, kn_distances *out)
{
    out->median = g->n_all > 0 ? median_root(g->all, g->n_all) : 0;
    out->nearest = g->n_nearest > 0 ? median_root(g->nearest, g->n_nearest) : 0;
    kn_free(g->all);
    kn_free(g->nearest);
}

kn_status kn_pairs_distances(kn_ctx *ctx, const kn_pairs *pairs, kn_distances *out)
{
    gathering g;
    double *row = NULL;
    kn_status status;
    *out = (kn_distances){0};
    KN_TRY(gathering_new(ctx, pairs->d2.rows, &g));
    KN_TRY(kn_alloc_d(ctx, g.N, &row));
    for (ptrdiff_t a = 0; a < g.n; a++) {
        for (ptrdiff_t i = 0; i < g.N; i++)
            row[i] = lower(pairs->d2, a * g.step, i);
        gather(&g, a, row);
    }
out:
    kn_free(row);
    gathering_end(&g, out);
    return status;
}

kn_status kn_row_distances(kn_ctx *ctx, kn_mat X, kn_distances *out)
{
    gathering g;
    double *row = NULL;
    kn_status status;
    *out = (kn_distances){0};
    KN_TRY(gathering_new(ctx, X.rows, &g));
    KN_TRY(kn_alloc_d(ctx, g.N, &row));
    for (ptrdiff_t a = 0; a < g.n; a++) {
        memset(row, 0, (size_t)g.N * sizeof *row);
        for (ptrdiff_t f = 0; f < X.cols; f++)
            kn_vec_add_sqdiff(g.N, kn_col(X, f), kn_at(X, a * g.step, f), row);
        gather(&g, a, row);
    }
out:
    kn_free(row);
    gathering_end(&g, out);
    return status;
}
