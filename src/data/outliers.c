/* Implements outliers.h. Two passes: the fences of every response in parallel, by selection and not
 * by sorting, then the list of cells of the few responses that have any. */
#include "data/outliers.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "stats/order_statistics.h"

/* Distances from the median in units of a tail's scale [METHOD 0c]. */
static const double FENCE = 12, FENCE_OF_ZERO = 6;
static const double IQR_OF_NORMAL = 1.349, TAIL_OF_NORMAL = 2.3263; /* in standard deviations */

void kn_outliers_clear(kn_outliers *o)
{
    kn_free(o->cell);
    *o = (kn_outliers){0};
}

/* ---- tails ----------------------------------------------------------------------------------- */

/* Returns the number of errors that a tail of n values may have without moving its fence. */
static ptrdiff_t errors_of(ptrdiff_t n)
{
    return (n + 99) / 100 + 1;
}

/* Returns the quantile p of y (n values), with linear interpolation between neighbours. Reorders
 * y. */
static double quantile(double *y, ptrdiff_t n, double p)
{
    double at = (double)(n - 1) * p;
    ptrdiff_t i = (ptrdiff_t)at;
    kn_select_largest(y, n, n - i);
    double low = INFINITY, next = INFINITY;
    for (ptrdiff_t k = 0; k < n - i; k++)
        if (y[k] < low) {
            next = low;
            low = y[k];
        } else if (y[k] < next) {
            next = y[k];
        }
    return at > (double)i ? low + (at - (double)i) * (next - low) : low;
}

/* Returns the k-th largest value, k from 1. Reorders y. */
static double kth_largest(double *y, ptrdiff_t n, ptrdiff_t k)
{
    kn_select_largest(y, n, k);
    double x = y[0];
    for (ptrdiff_t i = 1; i < k; i++)
        x = fmin(x, y[i]);
    return x;
}

kn_tails kn_tails_of(double *y, ptrdiff_t n)
{
    ptrdiff_t k = errors_of(n);
    double q1 = quantile(y, n, 0.25), q3 = quantile(y, n, 0.75);
    double rsd = (q3 - q1) / IQR_OF_NORMAL;
    kn_tails t = {quantile(y, n, 0.5), rsd, rsd};
    t.upper = fmax(rsd, (kth_largest(y, n, k + 1) - t.median) / TAIL_OF_NORMAL);
    t.lower = fmax(rsd, (t.median - kth_largest(y, n, n - k)) / TAIL_OF_NORMAL);
    return t;
}

/* ---- fences ---------------------------------------------------------------------------------- */

typedef struct fence {
    kn_tails tails;
    double low, high; /* cells outside [low, high] are outlying */
} fence;

/* Returns whether no value of y (n) can be outlying, from the extremes alone: true for most
 * responses, and cheap. */
static bool surely_inside(const double *y, ptrdiff_t n, double median, double rsd)
{
    double low = INFINITY, high = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    return low != 0 && low >= median - FENCE * rsd && high <= median + FENCE * rsd;
}

/* Returns whether no value of y (n) can be outlying, from moments and counts alone, which cost less
 * than a selection: true for most responses.
 *
 *     a = mean - 0.4 sd,  b = mean + 0.4 sd,  more than a quarter of the values below a, and above
 * b
 *
 * so that q1 < a and q3 > b, rsd > 0.8 sd/1.349, and median within one sd of the mean. The counts
 * need 2 values more because quantiles are interpolated. */
static bool clearly_inside(const double *y, ptrdiff_t n)
{
    static const double NARROW = 0.4;
    double sum = 0, squares = 0, low = y[0], high = y[0];
    ptrdiff_t below = 0, above = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        sum += y[i];
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
    }
    double mean = sum / (double)n;
    for (ptrdiff_t i = 0; i < n; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    double sd = sqrt(squares / (double)n), a = mean - NARROW * sd, b = mean + NARROW * sd;
    double reach = (FENCE * 2 * NARROW / IQR_OF_NORMAL - 1) * sd;
    if (low == 0 || !(low >= mean - reach && high <= mean + reach))
        return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        below += y[i] < a;
        above += y[i] > b;
    }
    return 4 * (below - 2) > n && 4 * (above - 2) > n;
}

/* Returns whether the zeros of y (n values) are few and all other values are above 0. */
static bool few_zeros(const double *y, ptrdiff_t n)
{
    ptrdiff_t zeros = 0, below = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        zeros += y[i] == 0;
        below += y[i] < 0;
    }
    return zeros > 0 && below == 0 && 100 * zeros < n;
}

/* Returns the fences of a response by its n observed values, which are reordered. O(n). */
static fence fence_of(double *y, ptrdiff_t n)
{
    fence f = {.low = -INFINITY, .high = INFINITY};
    if (n < KN_OUTLIERS_MIN || clearly_inside(y, n))
        return f;
    double q1 = quantile(y, n, 0.25), q3 = quantile(y, n, 0.75);
    if (surely_inside(y, n, quantile(y, n, 0.5), (q3 - q1) / IQR_OF_NORMAL))
        return f;
    bool zeros = few_zeros(y, n);
    kn_tails *t = &f.tails;
    *t = kn_tails_of(y, n);
    if (t->upper > 0)
        f.high = t->median + FENCE * t->upper;
    if (t->lower > 0)
        f.low = t->median - FENCE * t->lower;
    if (zeros && t->lower > 0 && t->median - FENCE_OF_ZERO * t->lower > 0)
        f.low = fmax(f.low, DBL_MIN); /* of these values 0 alone is below it */
    return f;
}

/* ---- all responses --------------------------------------------------------------------------- */

enum { COLUMNS = 32 }; /* responses whose values are collected at a time */

typedef struct search {
    kn_ctx *ctx;
    kn_view Y;
    kn_index_range own;
    fence *fence;   /* own.last - own.first */
    double *work;   /* workers x COLUMNS x rows */
    ptrdiff_t *out; /* own.last - own.first: number of outlying cells */
} search;

/* Thread task: fences and counts of the responses first .. last - 1 of `own`. */
static void judge_responses(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    const search *s = self;
    ptrdiff_t N = s->Y.rows, n[COLUMNS];
    double *y = s->work + worker * COLUMNS * N;
    for (ptrdiff_t j = first; j < last; j += COLUMNS) {
        ptrdiff_t count = kn_min_size(COLUMNS, last - j);
        for (ptrdiff_t c = 0; c < count; c++)
            n[c] = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            for (ptrdiff_t c = 0; c < count; c++) {
                double x = kn_view_at(s->Y, i, s->own.first + j + c);
                if (isfinite(x))
                    y[c * N + n[c]++] = x;
            }
        for (ptrdiff_t c = 0; c < count; c++) {
            fence f = s->fence[j + c] = fence_of(y + c * N, n[c]);
            for (ptrdiff_t i = 0; i < n[c]; i++)
                s->out[j + c] += y[c * N + i] < f.low || y[c * N + i] > f.high;
        }
        if (s->Y.col_stride != 1)
            kn_view_done(s->ctx, s->Y, s->own.first + j, count);
    }
}

/* Appends the cells of response own.first + j outside its fences to out->cell, which has room. */
static void list_cells(const search *s, ptrdiff_t j, kn_outliers *out)
{
    const fence *f = &s->fence[j];
    for (ptrdiff_t i = 0; i < s->Y.rows; i++) {
        double x = kn_view_at(s->Y, i, s->own.first + j), from = x - f->tails.median;
        if (isfinite(x) && (x < f->low || x > f->high))
            out->cell[out->n++] = (kn_outlier){i, s->own.first + j, x,
                                               from / (from < 0 ? f->tails.lower : f->tails.upper)};
    }
}

kn_status kn_outliers_find(kn_ctx *ctx, kn_view Y, kn_index_range own, kn_outliers *out)
{
    kn_status status;
    ptrdiff_t T = own.last - own.first, cells = 0;
    search s = {.ctx = ctx, .Y = Y, .own = own};
    void *memory = NULL, *list;
    *out = (kn_outliers){0};
    KN_TRY(kn_alloc_raw(ctx, T, sizeof *s.fence, &memory));
    s.fence = memory;
    KN_TRY(kn_alloc_i(ctx, T, &s.out));
    KN_TRY(kn_alloc_d(ctx, kn_workers(ctx, T, COLUMNS) * COLUMNS * Y.rows, &s.work));
    kn_parallel_workers(ctx, T, COLUMNS, judge_responses, &s);
    for (ptrdiff_t j = 0; j < T; j++)
        cells += s.out[j];
    if (cells == 0)
        goto out;
    KN_TRY(kn_alloc(ctx, cells, sizeof *out->cell, &list));
    out->cell = list;
    for (ptrdiff_t j = 0; j < T; j++)
        if (s.out[j] > 0)
            list_cells(&s, j, out);
out:
    kn_free(memory);
    kn_free(s.out);
    kn_free(s.work);
    return status;
}

/* ---- use of the list ------------------------------------------------------------------------- */

/* Compares two outlying cells by response, then by row, for bsearch. */
static int by_cell(const void *a, const void *b)
{
    const kn_outlier *x = a, *y = b;
    return x->response != y->response ? (x->response > y->response ? 1 : -1)
                                      : (x->row > y->row) - (x->row < y->row);
}

bool kn_is_outlier(const kn_outliers *o, ptrdiff_t row, ptrdiff_t response)
{
    kn_outlier sought = {.row = row, .response = response};
    return o->n > 0 && bsearch(&sought, o->cell, (size_t)o->n, sizeof sought, by_cell) != NULL;
}

void kn_outlier_set(kn_view Y, const kn_outlier *c, double value)
{
    ptrdiff_t at = c->row * Y.row_stride + c->response * Y.col_stride;
    if (Y.type == KN_F32)
        ((float *)(uintptr_t)Y.data)[at] = (float)value;
    else
        ((double *)(uintptr_t)Y.data)[at] = value;
}

/* Returns whether a cell belongs to the responses own.first .. own.last - 1. */
static bool is_own(const kn_outlier *c, kn_index_range own)
{
    return c->response >= own.first && c->response < own.last;
}

void kn_outliers_hide(const kn_outliers *o, kn_view Y, kn_index_range own)
{
    for (ptrdiff_t k = 0; k < o->n; k++)
        if (is_own(&o->cell[k], own))
            kn_outlier_set(Y, &o->cell[k], NAN);
}

void kn_outliers_restore(const kn_outliers *o, kn_view Y, kn_index_range own)
{
    for (ptrdiff_t k = 0; k < o->n; k++)
        if (is_own(&o->cell[k], own))
            kn_outlier_set(Y, &o->cell[k], o->cell[k].value);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

kn_status kn_outliers_gather(kn_ctx *ctx, const kn_outliers *mine, kn_outliers *list)
{
    enum { NUMBERS = 4 }; /* row, response, value, distance */
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    double *count = NULL, *number = NULL;
    void *memory;
    ptrdiff_t n = 0, before = 0;
    *list = (kn_outliers){0};
    KN_TRY(kn_alloc_d(ctx, c->size, &count));
    count[c->rank] = (double)mine->n;
    KN_TRY(kn_comm_sum(ctx, count, c->size));
    for (int r = 0; r < c->size; r++) {
        n += (ptrdiff_t)count[r];
        before += r < c->rank ? (ptrdiff_t)count[r] : 0;
    }
    if (n == 0)
        goto out;
    KN_TRY(kn_alloc_d(ctx, NUMBERS * n, &number));
    for (ptrdiff_t k = 0; k < mine->n; k++) {
        const kn_outlier *o = &mine->cell[k];
        double *to = number + NUMBERS * (before + k);
        to[0] = (double)o->row;
        to[1] = (double)o->response;
        to[2] = o->value;
        to[3] = o->distance;
    }
    KN_TRY(kn_comm_sum(ctx, number, NUMBERS * n));
    KN_TRY(kn_alloc(ctx, n, sizeof *list->cell, &memory));
    list->cell = memory;
    list->n = n;
    for (ptrdiff_t k = 0; k < n; k++) {
        const double *from = number + NUMBERS * k;
        list->cell[k] = (kn_outlier){(ptrdiff_t)from[0], (ptrdiff_t)from[1], from[2], from[3]};
    }
out:
    kn_free(count);
    kn_free(number);
    return status;
}
