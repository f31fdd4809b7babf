/* Implements pairs.h. Products are made by BLAS, squared distances by sums of squared differences.
 */
#include "cov/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "la/la.h"
#include "la/vec.h"
#include "stats/order_statistics.h"

void kn_pairs_clear(kn_pairs *pairs)
{
    for (int k = 0; k < pairs->n; k++)
        kn_mat_clear(&pairs->stat[k]);
    *pairs = (kn_pairs){0};
}

kn_mat kn_columns(kn_mat X, ptrdiff_t first, ptrdiff_t count)
{
    return kn_cols(X, first, count == KN_ALL_COLUMNS ? X.cols - first : count);
}

typedef struct distance_job {
    kn_mat X, Y, d2;
    bool symmetric;
} distance_job;

/* Parallel task (self: distance_job) for columns first .. last - 1: squared distances by
 * differences of columns, with exact zeros between equal rows and no cancellation, unlike |x|^2
 * + |y|^2 - 2 x.y. N^2 F flops in all. */
static void compute_distances(void *self, ptrdiff_t first, ptrdiff_t last)
{
    distance_job *job = self;
    for (ptrdiff_t j = first; j < last; j++) {
        ptrdiff_t i0 = job->symmetric ? j : 0;
        for (ptrdiff_t f = 0; f < job->X.cols; f++)
            kn_vec_add_sqdiff(job->X.rows - i0, kn_col(job->X, f) + i0, kn_at(job->Y, j, f),
                              kn_col(job->d2, j) + i0);
    }
}

/* Computes one pair statistic (products or squared distances) between the rows of X and Y into
 * out (n x m), zero on entry; symmetric: lower triangle. */
static void compute_statistic(kn_ctx *ctx, const kn_stat *stat, kn_mat X, kn_mat Y, bool symmetric,
                              kn_mat out)
{
    X = kn_columns(X, stat->first, stat->count);
    Y = kn_columns(Y, stat->first, stat->count);
    switch (stat->kind) {
    case KN_STAT_DOT:
        if (symmetric)
            kn_syrk(ctx, 1, KN_N, X, 0, out);
        else
            kn_gemm(ctx, 1, KN_N, X, KN_T, Y, 0, out);
        break;
    case KN_STAT_D2: {
        distance_job job = {X, Y, out, symmetric};
        kn_parallel(ctx, Y.rows, 64, compute_distances, &job);
        break;
    }
    case KN_STAT_NONE: break;
    }
}

/* Computes all statistics between rows of X and Y. `symmetric`: X is Y, and only lower triangles
 * are used. out owns the matrices; on error it is empty. Cost F N M per statistic. */
static kn_status compute_pairs(kn_ctx *ctx, kn_mat X, kn_mat Y, bool symmetric,
                               const kn_stats *stats, kn_pairs *out)
{
    kn_status status = KN_OK;
    *out = (kn_pairs){.n = stats->n, .symmetric = symmetric};
    for (int k = 0; k < stats->n; k++) {
        KN_TRY(kn_mat_new(ctx, X.rows, Y.rows, &out->stat[k]));
        compute_statistic(ctx, &stats->at[k], X, Y, symmetric, out->stat[k]);
    }
out:
    if (status != KN_OK)
        kn_pairs_clear(out);
    return status;
}

void kn_pairs_need(kn_mem_plan *r, kn_mem_category part, int stats, ptrdiff_t n, ptrdiff_t m)
{
    for (int k = 0; k < stats; k++)
        kn_plan_alloc_d(r, part, n, m);
}

kn_status kn_pairs_between(kn_ctx *ctx, kn_mat X, kn_mat Y, const kn_stats *stats, kn_pairs *out)
{
    return compute_pairs(ctx, X, Y, false, stats, out);
}

kn_status kn_pairs_within(kn_ctx *ctx, kn_mat X, const kn_stats *stats, kn_pairs *out)
{
    return compute_pairs(ctx, X, X, true, stats, out);
}

kn_status kn_pairs_copy(kn_ctx *ctx, const kn_pairs *pairs, kn_pairs *out)
{
    kn_status status = KN_OK;
    *out = (kn_pairs){.n = pairs->n, .symmetric = pairs->symmetric};
    for (int k = 0; k < pairs->n; k++)
        KN_TRY(kn_mat_copy(ctx, pairs->stat[k], &out->stat[k]));
out:
    if (status != KN_OK)
        kn_pairs_clear(out);
    return status;
}

void kn_stat_column(const kn_stat *stat, kn_mat X, ptrdiff_t first, kn_mat Y, ptrdiff_t j,
                    kn_mat out)
{
    X = kn_columns(X, stat->first, stat->count);
    Y = kn_columns(Y, stat->first, stat->count);
    kn_mat_zero(out);
    for (ptrdiff_t f = 0; f < X.cols; f++) {
        const double *x = kn_col(X, f) + first, y = kn_at(Y, j, f);
        if (stat->kind == KN_STAT_D2)
            kn_vec_add_sqdiff(out.rows, x, y, out.data);
        else
            for (ptrdiff_t i = 0; i < out.rows; i++)
                out.data[i] += x[i] * y;
    }
}

void kn_stat_self(const kn_stat *stat, kn_mat X, double *out)
{
    X = kn_columns(X, stat->first, stat->count);
    memset(out, 0, (size_t)X.rows * sizeof *out);
    for (ptrdiff_t f = 0; stat->kind == KN_STAT_DOT && f < X.cols; f++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            out[i] += kn_at(X, i, f) * kn_at(X, i, f);
}

/* Returns entry (i, j) of a symmetric matrix whose lower triangle is stored. */
static double lower_entry(kn_mat S, ptrdiff_t i, ptrdiff_t j)
{
    return i >= j ? kn_at(S, i, j) : kn_at(S, j, i);
}

/* Sets out (n x m) to the entries (rows[i], cols[j]) of the symmetric S; symmetric: lower
 * triangle of out only. */
static void pick_entries(kn_mat S, const ptrdiff_t *rows, const ptrdiff_t *cols, bool symmetric,
                         kn_mat out)
{
    for (ptrdiff_t j = 0; j < out.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < out.rows; i++)
            kn_col(out, j)[i] = lower_entry(S, rows[i], cols[j]);
}

kn_status kn_pairs_cross(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *rows, ptrdiff_t n,
                         const ptrdiff_t *cols, ptrdiff_t m, kn_pairs *out)
{
    kn_status status = KN_OK;
    *out = (kn_pairs){.n = pairs->n, .symmetric = rows == cols};
    for (int k = 0; k < pairs->n; k++) {
        KN_TRY(kn_mat_new(ctx, n, m, &out->stat[k]));
        pick_entries(pairs->stat[k], rows, cols, out->symmetric, out->stat[k]);
    }
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

kn_status kn_pairs_select(kn_ctx *ctx, const kn_pairs *all, const ptrdiff_t *index, kn_mat X,
                          const kn_stats *stats, kn_pairs *out)
{
    kn_status status = KN_OK;
    *out = (kn_pairs){.n = stats->n, .symmetric = true};
    for (int k = 0; k < stats->n; k++) {
        KN_TRY(kn_mat_new(ctx, X.rows, X.rows, &out->stat[k]));
        if (stats->at[k].kind == KN_STAT_D2)
            pick_entries(all->stat[k], index, index, true, out->stat[k]);
        else
            compute_statistic(ctx, &stats->at[k], X, X, true, out->stat[k]);
    }
out:
    if (status != KN_OK)
        kn_pairs_clear(out);
    return status;
}

/* Returns the root of the median of the n values v (n/2 values are below it), which are rearranged;
 * 0 if n is 0. O(n). */
static double find_median_root(double *v, ptrdiff_t n)
{
    double median = n > 0 ? v[0] : 0;
    kn_select_largest(v, n, n - n / 2);
    for (ptrdiff_t i = 0; i < n - n / 2; i++)
        median = i == 0 ? v[0] : fmin(median, v[i]);
    return sqrt(median);
}

/* ---- rows by value ---- */

typedef struct valued_row {
    const kn_mat *X;
    ptrdiff_t row;
} valued_row;

/* Comparison for qsort: rows of a matrix by their first values, then by their second and so on,
 * then by index. */
static int compare_rows(const void *a, const void *b)
{
    const valued_row *x = a, *y = b;
    for (ptrdiff_t f = 0; f < x->X->cols; f++) {
        double u = kn_at(*x->X, x->row, f), v = kn_at(*y->X, y->row, f);
        if (u != v)
            return u < v ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

kn_status kn_row_places(kn_ctx *ctx, kn_mat X, ptrdiff_t *place)
{
    void *memory;
    kn_status status = kn_alloc(ctx, X.rows, sizeof(valued_row), &memory);
    valued_row *rows = memory;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < X.rows; i++)
        rows[i] = (valued_row){&X, i};
    qsort(rows, (size_t)X.rows, sizeof *rows, compare_rows);
    for (ptrdiff_t k = 0; k < X.rows; k++)
        place[rows[k].row] = k;
    kn_free(memory);
    return KN_OK;
}

void kn_row_places_need(kn_mem_plan *r, ptrdiff_t N)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc(r, KN_NEED_WORK, N, sizeof(valued_row));
    kn_plan_free_to(r, mark);
}

/* ---- distances ---- */

/* Squared distances from every step-th row (at most KN_DISTANCES_ROWS of them): to one another, and
 * to the nearest of all rows. */
typedef struct distance_sample {
    ptrdiff_t N, step, n; /* all rows; step; number of rows sampled */
    ptrdiff_t *row;       /* n, the rows sampled */
    double *all, *nearest;
    ptrdiff_t n_all, n_nearest;
} distance_sample;

/* Returns the sizes of a sample of N rows: every step-th, at most KN_DISTANCES_ROWS. */
static distance_sample distance_sample_of(ptrdiff_t N)
{
    ptrdiff_t step = (N + KN_DISTANCES_ROWS - 1) / KN_DISTANCES_ROWS;
    return (distance_sample){.N = N, .step = step, .n = (N + step - 1) / step};
}

/* Allocates the distances between g->n of the N rows, of all pairs and to the nearest row. The
 * caller frees them, also after an error. */
static kn_status distance_sample_new(kn_ctx *ctx, ptrdiff_t N, distance_sample *g)
{
    kn_status status;
    *g = distance_sample_of(N);
    KN_TRY(kn_alloc_i(ctx, g->n, &g->row));
    for (ptrdiff_t a = 0; a < g->n; a++)
        g->row[a] = a * g->step;
    KN_TRY(kn_alloc_d(ctx, g->n * (g->n - 1) / 2, &g->all));
    KN_TRY(kn_alloc_d(ctx, g->n, &g->nearest));
out:
    return status;
}

/* Replaces the sampled rows by every step-th one of X in the order of their values. */
static kn_status spread_by_value(kn_ctx *ctx, kn_mat X, distance_sample *g)
{
    ptrdiff_t *place;
    kn_status status = kn_alloc_i(ctx, g->N, &place);
    if (status == KN_OK)
        status = kn_row_places(ctx, X, place);
    for (ptrdiff_t i = 0; status == KN_OK && i < g->N; i++)
        if (place[i] % g->step == 0)
            g->row[place[i] / g->step] = i;
    kn_free(place);
    return status;
}

void kn_distances_need(kn_mem_plan *r, ptrdiff_t N)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t n = distance_sample_of(N).n;
    kn_plan_alloc_d(r, KN_NEED_WORK, n * (n - 1) / 2, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, N, 2);
    kn_row_places_need(r, N);
    kn_plan_free_to(r, mark);
}

/* Adds the squared distances d2 (N) of the a-th sampled row to all rows: those to earlier
 * sampled rows, and the smallest. Equal rows (distance 0) do not count. */
static void add_distances(distance_sample *g, ptrdiff_t a, const double *d2)
{
    double lowest = INFINITY;
    for (ptrdiff_t i = 0; i < g->N; i++)
        if (d2[i] > 0 && d2[i] < lowest)
            lowest = d2[i];
    if (isfinite(lowest))
        g->nearest[g->n_nearest++] = lowest;
    for (ptrdiff_t b = 0; b < a; b++)
        if (d2[g->row[b]] > 0)
            g->all[g->n_all++] = d2[g->row[b]];
}

/* Sets *out to the medians of the collected distances (rearranged); 0 without any. */
static void set_medians(distance_sample *g, kn_distances *out)
{
    out->median = g->n_all > 0 ? find_median_root(g->all, g->n_all) : 0;
    out->nearest = g->n_nearest > 0 ? find_median_root(g->nearest, g->n_nearest) : 0;
    kn_free(g->row);
    kn_free(g->all);
    kn_free(g->nearest);
}

kn_status kn_pairs_distances(kn_ctx *ctx, kn_mat d2, kn_distances *out)
{
    distance_sample g;
    double *row = NULL;
    kn_status status;
    *out = (kn_distances){0};
    KN_TRY(distance_sample_new(ctx, d2.rows, &g));
    KN_TRY(kn_alloc_d(ctx, g.N, &row));
    for (ptrdiff_t a = 0; a < g.n; a++) {
        for (ptrdiff_t i = 0; i < g.N; i++)
            row[i] = lower_entry(d2, g.row[a], i);
        add_distances(&g, a, row);
    }
out:
    kn_free(row);
    set_medians(&g, out);
    return status;
}

kn_status kn_row_distances(kn_ctx *ctx, kn_mat X, kn_distances *out)
{
    distance_sample g;
    double *row = NULL;
    kn_status status;
    *out = (kn_distances){0};
    KN_TRY(distance_sample_new(ctx, X.rows, &g));
    KN_TRY(kn_alloc_d(ctx, g.N, &row));
    if (g.step > 1)
        KN_TRY(spread_by_value(ctx, X, &g));
    for (ptrdiff_t a = 0; a < g.n; a++) {
        memset(row, 0, (size_t)g.N * sizeof *row);
        for (ptrdiff_t f = 0; f < X.cols; f++)
            kn_vec_add_sqdiff(g.N, kn_col(X, f), kn_at(X, g.row[a], f), row);
        add_distances(&g, a, row);
    }
out:
    kn_free(row);
    set_medians(&g, out);
    return status;
}
