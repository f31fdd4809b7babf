/* Implements responses.h: values are loaded in tiles of rows and columns, for either memory order,
 * and standardised in double. The block loops of gp read the responses only through these
 * functions. */
#include "data/responses/responses.h"

#include <math.h>

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "la/vec.h"

void kn_scaling_clear(kn_scaling *s)
{
    kn_free(s->kept);
    kn_free(s->mean);
    kn_free(s->sd);
    kn_free(s->mean0);
    kn_free(s->sd0);
    kn_free(s->n);
    *s = (kn_scaling){0};
}

/* ---- tiles: some rows of some columns of the caller's values, as doubles ------------------- */

/* 16 KB of doubles: what is loaded by rows is still in the nearest cache when it is written by
 * columns. A row's share is whole cache lines of either type. */
enum { TILE_ROWS = 8, TILE_COLS = KN_MOMENTS_COLUMNS / 2 };

typedef struct columns {
    ptrdiff_t n, index[TILE_COLS];
    bool adjacent; /* index[c] = index[0] + c */
} columns;

typedef struct tile {
    double at[TILE_ROWS][TILE_COLS];
} tile;

/* Sets c->adjacent: the c->n indices of responses are consecutive. */
static void columns_end(columns *c)
{
    c->adjacent = true;
    for (ptrdiff_t k = 1; k < c->n; k++)
        c->adjacent &= c->index[k] == c->index[0] + k;
}

/* Prefetches the selected responses of row i of Y into the cache, a tile before they are read: rows
 * are far apart in memory, so the hardware prefetcher does not help. */
static void ask_for_row(kn_view Y, ptrdiff_t i, const columns *c)
{
    enum { LINE = 64 };
    size_t element = Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    if (!c->adjacent || Y.col_stride != 1)
        return;
    const char *y = (const char *)Y.data + (i * Y.row_stride + c->index[0]) * (ptrdiff_t)element;
    for (size_t b = 0; b < (size_t)c->n * element; b += LINE)
        __builtin_prefetch(y + b);
}

/* Returns whether the columns are contiguous float32 values, so that a row can be copied at once.
 */
static bool is_run(kn_view Y, const columns *c) /* contiguous float32 */
{
    return c->adjacent && Y.col_stride == 1 && Y.type == KN_F32;
}

/* Copies the c->n selected responses of row i of Y to `to` as doubles; fast if they are contiguous
 * floats. */
static void load_row(kn_view Y, ptrdiff_t i, const columns *c, double *restrict to)
{
    ptrdiff_t at = i * Y.row_stride;
    if (is_run(Y, c)) {
        const float *restrict y = (const float *)Y.data + at + c->index[0];
        for (ptrdiff_t k = 0; k < c->n; k++)
            to[k] = y[k];
    } else if (Y.type == KN_F32) {
        const float *restrict y = (const float *)Y.data + at;
        for (ptrdiff_t k = 0; k < c->n; k++)
            to[k] = y[c->index[k] * Y.col_stride];
    } else {
        const double *restrict y = (const double *)Y.data + at;
        for (ptrdiff_t k = 0; k < c->n; k++)
            to[k] = y[c->index[k] * Y.col_stride];
    }
}

/* ---- moments ------------------------------------------------------------------------------- */

typedef struct moments_job {
    const kn_ctx *ctx;
    kn_view Y;
    ptrdiff_t own; /* first response of this rank */
    double *mean, *sd;
} moments_job;

/* Updates mean and S (cols each) by a tile of rows x cols values; `before` rows were added already.
 * With m the mean of the n rows before and d = y - m in the b rows of the tile, mean = m + sum d /
 * (n+b)      S = S + sum d^2 - (sum d)^2 / (n+b) where the term subtracted is at most b/(n+b) of
 * the one added (Cauchy-Schwarz), so that data far from zero lose no digits; for the first tile m
 * is its own mean. */
static void add_moments(const tile *t, ptrdiff_t before, ptrdiff_t rows, ptrdiff_t cols,
                        double *restrict mean, double *restrict S)
{
    double sum[TILE_COLS] = {0}, sq[TILE_COLS] = {0}, all = (double)(before + rows);
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t k = 0; k < cols; k++) {
            double d = t->at[r][k] - mean[k];
            sum[k] += d;
            sq[k] += d * d;
        }
    for (ptrdiff_t k = 0; k < cols; k++) {
        S[k] += sq[k] - sum[k] * sum[k] / all;
        mean[k] += sum[k] / all;
    }
}

/* Sets mean (cols, zero before) to the means of the first tile (rows x cols); add_moments()
 * subtracts them, so that sums lose no digits. */
static void first_means(const tile *t, ptrdiff_t rows, ptrdiff_t cols, double *restrict mean)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t k = 0; k < cols; k++)
            mean[k] += t->at[r][k];
    for (ptrdiff_t k = 0; k < cols; k++)
        mean[k] /= (double)rows;
}

/* Thread task (self: moments_job): mean and population sd of responses first .. last - 1, counted
 * from job->own, in one pass over the rows in tiles. */
static void compute_moments(void *self, ptrdiff_t first, ptrdiff_t last)
{
    moments_job *job = self;
    tile t;
    last += job->own;
    for (ptrdiff_t j = first + job->own; j < last; j += TILE_COLS) {
        columns c = {.n = kn_min_size(last - j, TILE_COLS)};
        for (ptrdiff_t k = 0; k < c.n; k++) {
            c.index[k] = j + k;
            job->mean[j + k] = job->sd[j + k] = 0;
        }
        columns_end(&c);
        for (ptrdiff_t i = 0; i < job->Y.rows; i += TILE_ROWS) {
            ptrdiff_t rows = kn_min_size(job->Y.rows - i, TILE_ROWS);
            for (ptrdiff_t r = 0; r < rows; r++) {
                if (i + r + TILE_ROWS < job->Y.rows)
                    ask_for_row(job->Y, i + r + TILE_ROWS, &c);
                load_row(job->Y, i + r, &c, t.at[r]);
            }
            if (i == 0)
                first_means(&t, rows, c.n, job->mean + j);
            add_moments(&t, i, rows, c.n, job->mean + j, job->sd + j);
        }
        for (ptrdiff_t k = 0; k < c.n; k++)
            job->sd[j + k] = sqrt(fmax(job->sd[j + k], 0) / (double)job->Y.rows);
        kn_view_done(job->ctx, job->Y, j, c.n);
    }
}

/* Sets mean and population sd of the finite cells of column j of Y, in two passes; returns their
 * number. */
static ptrdiff_t observed_moments(kn_view Y, ptrdiff_t j, double *mean, double *sd)
{
    ptrdiff_t n = 0;
    double m = 0, S = 0;
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        double y = kn_view_at(Y, i, j);
        if (isfinite(y))
            m += (y - m) / (double)++n;
    }
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        double y = kn_view_at(Y, i, j);
        S += isfinite(y) ? (y - m) * (y - m) : 0;
    }
    *mean = m;
    *sd = n > 0 ? sqrt(S / (double)n) : 0;
    return n;
}

typedef struct observed_job {
    moments_job moments;
    ptrdiff_t *n;
} observed_job;

/* Thread task (self: observed_job): for responses first .. last - 1, counted from the first of this
 * rank, sets n[j], and recomputes non-finite moments from the finite cells. */
static void recompute_moments(void *self, ptrdiff_t first, ptrdiff_t last)
{
    observed_job *job = self;
    moments_job *m = &job->moments;
    for (ptrdiff_t j = first + m->own; j < last + m->own; j++) {
        job->n[j] = m->Y.rows;
        if (!isfinite(m->mean[j]) || !isfinite(m->sd[j]))
            job->n[j] = observed_moments(m->Y, j, &m->mean[j], &m->sd[j]);
    }
}

void kn_moments(kn_ctx *ctx, kn_view Y, kn_index_range range, double *mean, double *sd)
{
    moments_job job = {.ctx = ctx, .Y = Y, .own = range.first, .mean = mean, .sd = sd};
    kn_parallel(ctx, range.last - range.first, KN_MOMENTS_COLUMNS, compute_moments, &job);
}

void kn_moments_observed(kn_ctx *ctx, kn_view Y, kn_index_range range, double *mean, double *sd,
                         ptrdiff_t *n)
{
    observed_job job = {{.ctx = ctx, .Y = Y, .own = range.first, .mean = mean, .sd = sd}, n};
    kn_parallel(ctx, range.last - range.first, KN_MOMENTS_COLUMNS, recompute_moments, &job);
}

/* ---- index ranges of MPI ranks -------------------------------------------------------------- */

ptrdiff_t kn_first_from(const kn_responses *Y, kn_index_range among, ptrdiff_t limit)
{
    const ptrdiff_t *kept = Y->scaling ? Y->scaling->kept : NULL;
    ptrdiff_t low = among.first,
              high = among.last; /* invariant: low - 1 is below the limit, high is not */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if ((kept ? kept[middle] : middle) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kn_index_range kn_response_range_of(const kn_responses *Y, int rank, int ranks)
{
    ptrdiff_t all = Y->scaling ? Y->scaling->n_all : Y->T, blocks = (all + KN_BLOCK - 1) / KN_BLOCK;
    kn_index_range used = {0, Y->T};
    if (ranks == 1)
        return used;
    return (kn_index_range){kn_first_from(Y, used, blocks * rank / ranks * KN_BLOCK),
                            kn_first_from(Y, used, blocks * (rank + 1) / ranks * KN_BLOCK)};
}

kn_index_range kn_response_range(const kn_ctx *ctx, const kn_responses *Y)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    return kn_response_range_of(Y, c->rank, c->size);
}

kn_index_range kn_responses_own(const kn_ctx *ctx, ptrdiff_t T)
{
    return kn_response_range(ctx, &(kn_responses){.T = T});
}

kn_index_range kn_sample_range_of(ptrdiff_t n, int rank, int ranks)
{
    return (kn_index_range){n * rank / ranks, n * (rank + 1) / ranks};
}

/* ---- blocks -------------------------------------------------------------------------------- */

kn_responses kn_responses_of(kn_view Y, const kn_scaling *scaling)
{
    return (kn_responses){.Y = Y, .scaling = scaling, .N = Y.rows, .T = scaling->n_kept};
}

kn_responses kn_responses_rows(const kn_responses *Y, const ptrdiff_t *rows, ptrdiff_t n)
{
    kn_responses some = *Y;
    some.N = n;
    some.rows = rows;
    return some;
}

double kn_responses_energy(const kn_responses *Y)
{
    static const double ROUNDING = 1e-6;
    const kn_scaling *s = Y->scaling;
    double sum = 0;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        sum += sd * sd + shift * shift;
    }
    sum *= (double)Y->Y.rows;
    for (ptrdiff_t k = 0; Y->imputed && k < Y->missing->cells; k++)
        sum += isfinite(Y->imputed[k]) ? Y->imputed[k] * Y->imputed[k] : 0;
    return (1 + ROUNDING) * sum;
}

double kn_responses_variance(const kn_responses *Y, ptrdiff_t j, double own)
{
    static const double ROUNDING = 1e-12;
    double sd = Y->scaling->sd0[j] / Y->scaling->sd[j];
    return own > ROUNDING * sd * sd ? own : sd * sd;
}

typedef struct block_job {
    const kn_ctx *ctx;
    const kn_responses *Y;
    ptrdiff_t first;
    const ptrdiff_t *index; /* NULL: first, first + 1, ... */
    kn_mat block;
} block_job;

/* y[k] = (y[k] - mean[k]) scale[k] for n responses of one participant, in place; scale is 1 / sd.
 */
static void standardise_row(double *restrict y, const double *restrict mean,
                            const double *restrict scale, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        y[k] = (y[k] - mean[k]) * scale[k];
}

/* Replaces the missing cells among y, n standardised responses of one row, by imputed values, or by
 * NaN if there are none. The responses are at, at + 1, ..., or those of `index` if it is not NULL.
 */
static void set_missing_cells(const kn_responses *Y, ptrdiff_t row, ptrdiff_t at,
                              const ptrdiff_t *index, ptrdiff_t n, double *y)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t j = index ? index[k] : at + k;
        if (kn_is_missing(Y->missing, row, j))
            y[k] = Y->imputed ? Y->imputed[kn_missing_at(Y->missing, row, j)] : NAN;
    }
}

/* Stores a tile (rows x cols, row by row) into `block` (column by column) at row i and column j. */
static inline void transpose_tile(const tile *t, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j,
                                  ptrdiff_t cols, kn_mat block)
{
    for (ptrdiff_t k = 0; k < cols; k++) {
        double *restrict to = kn_col(block, j + k) + i;
        for (ptrdiff_t r = 0; r < rows; r++)
            to[r] = t->at[r][k];
    }
}

/* Returns the row of the view that holds participant i. */
static ptrdiff_t row_of(const kn_responses *Y, ptrdiff_t i)
{
    return Y->rows ? Y->rows[i] : i;
}

/* Tells the system that the pages of columns first to last of Y are no longer needed, if Y is
 * stored by columns; stored by rows, later blocks still need them. */
static void columns_done(const kn_ctx *ctx, kn_view Y, ptrdiff_t first, ptrdiff_t last)
{
    if (Y.col_stride != 1)
        kn_view_done(ctx, Y, first, last - first + 1);
}

/* Thread task (self: block_job): standardises columns from .. to - 1 of job->block (N x count),
 * tile by tile; missing cells are imputed values or NaN. */
static void fill_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_responses *Y = job->Y;
    const kn_scaling *s = Y->scaling;
    double mean[TILE_COLS], scale[TILE_COLS];
    tile t;
    for (ptrdiff_t j = from; j < to; j += TILE_COLS) {
        columns c = {.n = kn_min_size(to - j, TILE_COLS)};
        for (ptrdiff_t k = 0; k < c.n; k++) {
            ptrdiff_t at = job->index ? job->index[j + k] : job->first + j + k;
            c.index[k] = s->kept[at];
            mean[k] = s->mean[at];
            scale[k] = 1 / s->sd[at];
        }
        columns_end(&c);
        for (ptrdiff_t i = 0; i < Y->N; i += TILE_ROWS) {
            ptrdiff_t rows = kn_min_size(Y->N - i, TILE_ROWS);
            for (ptrdiff_t r = 0; r < rows; r++) {
                if (i + r + TILE_ROWS < Y->N)
                    ask_for_row(Y->Y, row_of(Y, i + r + TILE_ROWS), &c);
                load_row(Y->Y, row_of(Y, i + r), &c, t.at[r]);
                standardise_row(t.at[r], mean, scale, c.n);
                if (Y->missing)
                    set_missing_cells(Y, row_of(Y, i + r), job->first + j,
                                      job->index ? job->index + j : NULL, c.n, t.at[r]);
            }
            if (rows == TILE_ROWS) /* constant length, so that the compiler unrolls */
                transpose_tile(&t, i, TILE_ROWS, j, c.n, job->block);
            else
                transpose_tile(&t, i, rows, j, c.n, job->block);
        }
        columns_done(job->ctx, Y->Y, c.index[0], c.index[c.n - 1]);
    }
}

/* Fills the `cols` columns of job->block in parallel, in chunks of at least a tile that are large
 * enough for a thread. */
static void fill_block(kn_ctx *ctx, block_job *job, ptrdiff_t cols)
{
    ptrdiff_t grain = 1 + 100000 / (job->Y->N + 1);
    kn_parallel(ctx, cols, grain > TILE_COLS ? grain : TILE_COLS, fill_columns, job);
}

void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block)
{
    fill_block(ctx, &(block_job){.ctx = ctx, .Y = Y, .first = first, .block = block}, block.cols);
}

void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block)
{
    fill_block(ctx, &(block_job){.ctx = ctx, .Y = Y, .index = index, .block = block}, block.cols);
}

/* ---- strips: transposed blocks ------------------------------------------------------------- */

typedef struct strip_job {
    const kn_responses *Y;
    ptrdiff_t first;
    kn_mat strip; /* one of the two */
    kn_fmat strip_f32;
} strip_job;

/* to = (y - mean) scale for one participant's part of a strip; float32 rows in which no response
 * is left out are read sequentially. */
KN_CLONES
/* to[k] = (y[k] - mean[k]) scale[k] as float, for n consecutive float32 responses of one
 * participant; scale is 1 / sd. */
static void narrow_f32(const float *restrict y, const double *restrict mean,
                       const double *restrict scale, ptrdiff_t n, float *restrict to)
{
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] = (float)((y[k] - mean[k]) * scale[k]);
}

KN_CLONES
/* to[k] = (y[k] - mean[k]) scale[k] as float, for n responses of one participant in double; scale
 * is 1 / sd. */
static void narrow_f64(const double *restrict y, const double *restrict mean,
                       const double *restrict scale, ptrdiff_t n, float *restrict to)
{
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] = (float)((y[k] - mean[k]) * scale[k]);
}

/* Thread task (self: strip_job): standardises the participants from .. to - 1, one per column of a
 * strip (responses x participants) in double or float32; missing cells are imputed values or NaN.
 */
static void fill_samples(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const strip_job *job = self;
    const kn_responses *Y = job->Y;
    const kn_scaling *s = Y->scaling;
    ptrdiff_t count = job->strip.data ? job->strip.rows : job->strip_f32.rows;
    double scale[TILE_COLS], wide[TILE_COLS];
    for (ptrdiff_t j = 0; j < count; j += TILE_COLS) {
        columns c = {.n = kn_min_size(count - j, TILE_COLS)};
        const double *mean = s->mean + job->first + j;
        for (ptrdiff_t k = 0; k < c.n; k++) {
            c.index[k] = s->kept[job->first + j + k];
            scale[k] = 1 / s->sd[job->first + j + k];
        }
        columns_end(&c);
        for (ptrdiff_t i = from; i < to; i++) {
            ptrdiff_t row = row_of(Y, i);
            if (job->strip.data) {
                double *y = kn_col(job->strip, i) + j;
                load_row(Y->Y, row, &c, y);
                standardise_row(y, mean, scale, c.n);
                if (Y->missing)
                    set_missing_cells(Y, row, job->first + j, NULL, c.n, y);
            } else if (Y->missing) {
                float *y = kn_fcol(job->strip_f32, i) + j;
                load_row(Y->Y, row, &c, wide);
                standardise_row(wide, mean, scale, c.n);
                set_missing_cells(Y, row, job->first + j, NULL, c.n, wide);
                for (ptrdiff_t k = 0; k < c.n; k++)
                    y[k] = (float)wide[k];
            } else if (is_run(Y->Y, &c)) {
                const float *y = (const float *)Y->Y.data + row * Y->Y.row_stride + c.index[0];
                narrow_f32(y, mean, scale, c.n, kn_fcol(job->strip_f32, i) + j);
            } else {
                load_row(Y->Y, row, &c, wide);
                narrow_f64(wide, mean, scale, c.n, kn_fcol(job->strip_f32, i) + j);
            }
        }
    }
}

/* Fills a strip (count responses x N participants) in parallel over participants, then lets the
 * system drop the pages of Y that were read. */
static void fill_strip(kn_ctx *ctx, strip_job *job, ptrdiff_t count)
{
    ptrdiff_t grain = 1 + 100000 / (count + 1);
    kn_parallel(ctx, job->Y->N, grain > 16 ? grain : 16, fill_samples, job);
    if (count > 0) {
        const ptrdiff_t *kept = job->Y->scaling->kept + job->first;
        columns_done(ctx, job->Y->Y, kept[0], kept[count - 1]);
    }
}

void kn_responses_strip(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat strip)
{
    fill_strip(ctx, &(strip_job){.Y = Y, .first = first, .strip = strip}, strip.rows);
}

void kn_responses_strip_f32(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_fmat strip)
{
    fill_strip(ctx, &(strip_job){.Y = Y, .first = first, .strip_f32 = strip}, strip.rows);
}

/* ---- missing cells --------------------------------------------------------------------------- */

enum { COLUMNS = 64, ROWS = 64 }; /* tile size: one word of rows */

void kn_missing_mask_clear(kn_missing_mask *h)
{
    kn_free(h->bits);
    kn_free(h->before);
    *h = (kn_missing_mask){0};
}

typedef struct marking {
    const kn_ctx *ctx;
    kn_view Y;
    const ptrdiff_t *kept;
    kn_missing_mask *h;
} marking;

/* Thread task (self: marking): sets the bits of the missing (non-finite) cells of responses from ..
 * to - 1, in tiles of 64 rows because Y may be stored by rows or by columns. */
static void mark_missing(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const marking *m = self;
    kn_missing_mask *h = m->h;
    for (ptrdiff_t w = 0; w < h->words; w++)
        for (ptrdiff_t i = w * ROWS; i < h->N && i < (w + 1) * ROWS; i++)
            for (ptrdiff_t j = from; j < to; j++)
                if (!isfinite(kn_view_at(m->Y, i, m->kept[j])))
                    h->bits[j * h->words + w] |= UINT64_C(1) << (i % 64);
    if (m->Y.col_stride != 1)
        kn_view_done(m->ctx, m->Y, m->kept[from], m->kept[to - 1] - m->kept[from] + 1);
}

kn_status kn_missing_mask_new(kn_ctx *ctx, kn_view Y, const ptrdiff_t *kept, ptrdiff_t T,
                              kn_missing_mask *out)
{
    kn_status status;
    void *memory;
    *out = (kn_missing_mask){.N = Y.rows, .T = T, .words = (Y.rows + 63) / 64};
    marking job = {ctx, Y, kept, out};
    KN_TRY(kn_alloc(ctx, out->words * T, sizeof *out->bits, &memory));
    out->bits = memory;
    KN_TRY(kn_alloc_i(ctx, out->words * T + 1, &out->before));
    kn_parallel(ctx, T, COLUMNS, mark_missing, &job);
    for (ptrdiff_t w = 0; w < out->words * T; w++)
        out->before[w + 1] = out->before[w] + __builtin_popcountll(out->bits[w]);
    out->cells = out->before[out->words * T];
out:
    if (status != KN_OK)
        kn_missing_mask_clear(out);
    return status;
}
