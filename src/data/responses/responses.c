/* Implements responses.h: values are loaded in tiles of rows and columns, for either memory order,
 * and standardised in double. */
#include "data/responses/responses.h"

#include <math.h>

#include "base/memory/mmap_hint.h"
#include "base/parallel/parallel_for.h"
#include "data/mpi/partition_responses.h"
#include "la/target_clones.h"

/* Variation below this share of the mean is rounding: float32 has none below 6e-8. */
static const double CONSTANT = 1e-10;

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

static void columns_end(columns *c)
{
    c->adjacent = true;
    for (ptrdiff_t k = 1; k < c->n; k++)
        c->adjacent &= c->index[k] == c->index[0] + k;
}

/* Prefetches row i a tile ahead: rows are far apart in memory, so the hardware prefetcher does not
 * help. */
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

static bool is_run(kn_view Y, const columns *c) /* contiguous float32 */
{
    return c->adjacent && Y.col_stride == 1 && Y.type == KN_F32;
}

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

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* ---- scaling ------------------------------------------------------------------------------- */

typedef struct moments_job {
    const kn_ctx *ctx;
    kn_view Y;
    ptrdiff_t own; /* first response of this rank */
    double *mean, *sd;
} moments_job;

/* Updates the moments in one pass. With m the mean of the n rows before and d = y - m in the b
 * rows of a tile,
 *     mean = m + sum d / (n+b)      S = S + sum d^2 - (sum d)^2 / (n+b)
 * where the term subtracted is at most b/(n+b) of the one added (Cauchy-Schwarz), so that data far
 * from zero lose no digits; for the first tile m is its own mean. */
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

static void first_means(const tile *t, ptrdiff_t rows, ptrdiff_t cols, double *restrict mean)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t k = 0; k < cols; k++)
            mean[k] += t->at[r][k];
    for (ptrdiff_t k = 0; k < cols; k++)
        mean[k] /= (double)rows;
}

/* Thread task: means and sd of responses first .. last - 1 of this rank. */
static void moments(void *self, ptrdiff_t first, ptrdiff_t last)
{
    moments_job *job = self;
    tile t;
    last += job->own;
    for (ptrdiff_t j = first + job->own; j < last; j += TILE_COLS) {
        columns c = {.n = smaller(last - j, TILE_COLS)};
        for (ptrdiff_t k = 0; k < c.n; k++) {
            c.index[k] = j + k;
            job->mean[j + k] = job->sd[j + k] = 0;
        }
        columns_end(&c);
        for (ptrdiff_t i = 0; i < job->Y.rows; i += TILE_ROWS) {
            ptrdiff_t rows = smaller(job->Y.rows - i, TILE_ROWS);
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

/* Computes mean and sd of the observed cells of response j in two passes; returns their number. */
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

/* Recomputes the moments of responses that have non-finite cells, from the observed ones. */
static void observe(void *self, ptrdiff_t first, ptrdiff_t last)
{
    observed_job *job = self;
    moments_job *m = &job->moments;
    for (ptrdiff_t j = first + m->own; j < last + m->own; j++) {
        job->n[j] = m->Y.rows;
        if (!isfinite(m->mean[j]) || !isfinite(m->sd[j]))
            job->n[j] = observed_moments(m->Y, j, &m->mean[j], &m->sd[j]);
    }
}

/* Decides which responses are kept, by their moments. n: number of values per response; NULL:
 * missing cells are not allowed. */
static void keep(const moments_job *job, const ptrdiff_t *n, bool standardise, kn_scaling *out)
{
    for (ptrdiff_t j = 0; j < job->Y.cols; j++) {
        bool finite = isfinite(job->mean[j]) && isfinite(job->sd[j]);
        bool few = n && n[j] < job->Y.rows && n[j] < KN_LEAST_VALUES;
        bool constant = job->sd[j] <= CONSTANT * fabs(job->mean[j]);
        out->n_few += few;
        out->n_constant += !few && finite && constant;
        if (!finite || few || constant)
            continue;
        ptrdiff_t k = out->n_kept++;
        out->kept[k] = j;
        out->mean0[k] = job->mean[j];
        out->sd0[k] = job->sd[j];
        out->mean[k] = standardise ? job->mean[j] : 0;
        out->sd[k] = standardise ? job->sd[j] : 1;
        if (out->n)
            out->n[k] = n[j];
    }
}

/* Computes the moments of this rank's responses, gathers them, and decides which responses are
 * kept. Collective. */
static kn_status make_scaling(kn_ctx *ctx, kn_view Y, bool standardise, bool observed,
                              kn_scaling *out)
{
    kn_status status;
    observed_job job = {.moments = {.ctx = ctx, .Y = Y}};
    bool missing = false;
    kn_responses all = {.T = Y.cols};
    kn_range own = kn_response_range(ctx, &all);
    job.moments.own = own.first;
    *out = (kn_scaling){.n_all = Y.cols};
    KN_TRY(kn_alloc_d(ctx, Y.cols, &job.moments.mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &job.moments.sd));
    KN_TRY(kn_alloc_i(ctx, Y.cols, &out->kept));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean0));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd0));
    kn_parallel(ctx, own.last - own.first, KN_MOMENTS_COLUMNS, moments, &job.moments);
    KN_TRY(kn_allgather_responses_d(ctx, &all, job.moments.mean));
    KN_TRY(kn_allgather_responses_d(ctx, &all, job.moments.sd));
    for (ptrdiff_t j = 0; observed && j < Y.cols; j++)
        missing = missing || !isfinite(job.moments.mean[j]) || !isfinite(job.moments.sd[j]);
    if (missing) {
        KN_TRY(kn_alloc_i(ctx, Y.cols, &job.n));
        KN_TRY(kn_alloc_i(ctx, Y.cols, &out->n));
        kn_parallel(ctx, own.last - own.first, KN_MOMENTS_COLUMNS, observe, &job);
        KN_TRY(kn_allgather_responses_d(ctx, &all, job.moments.mean));
        KN_TRY(kn_allgather_responses_d(ctx, &all, job.moments.sd));
        KN_TRY(kn_allgather_responses(ctx, &all, (kn_of_responses){job.n, 1, 0, sizeof *job.n}));
    }
    keep(&job.moments, job.n, standardise, out);
    missing = false;
    for (ptrdiff_t k = 0; out->n && k < out->n_kept; k++)
        missing = missing || out->n[k] < Y.rows;
    if (!missing) { /* responses with missing cells were left out, or there were none */
        kn_free(out->n);
        out->n = NULL;
    }
out:
    kn_free(job.n);
    kn_free(job.moments.mean);
    kn_free(job.moments.sd);
    if (status != KN_OK)
        kn_scaling_clear(out);
    return status;
}

kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out)
{
    return make_scaling(ctx, Y, standardise, false, out);
}

kn_status kn_scaling_observed(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out)
{
    return make_scaling(ctx, Y, standardise, true, out);
}

void kn_scaling_need(kn_mem_plan *r, ptrdiff_t T)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 5);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2);
    kn_plan_free_to(r, mark);
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
    for (ptrdiff_t k = 0; Y->filled && k < Y->holes->cells; k++)
        sum += isfinite(Y->filled[k]) ? Y->filled[k] * Y->filled[k] : 0;
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

static void standardise(double *restrict y, const double *restrict mean,
                        const double *restrict scale, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        y[k] = (y[k] - mean[k]) * scale[k];
}

/* Replaces the missing cells of one row by imputed values, or NaN: responses at, at + 1, ..., or
 * those of `index`. */
static void mend(const kn_responses *Y, ptrdiff_t row, ptrdiff_t at, const ptrdiff_t *index,
                 ptrdiff_t n, double *y)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t j = index ? index[k] : at + k;
        if (kn_is_missing(Y->holes, row, j))
            y[k] = Y->filled ? Y->filled[kn_missing_at(Y->holes, row, j)] : NAN;
    }
}

static inline void put(const tile *t, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t cols,
                       kn_mat block)
{
    for (ptrdiff_t k = 0; k < cols; k++) {
        double *restrict to = kn_col(block, j + k) + i;
        for (ptrdiff_t r = 0; r < rows; r++)
            to[r] = t->at[r][k];
    }
}

static ptrdiff_t row_of(const kn_responses *Y, ptrdiff_t i)
{
    return Y->rows ? Y->rows[i] : i;
}

/* Releases the pages of columns that are done, if the scratch file is stored by columns; stored by
 * rows, later blocks still need them. */
static void columns_done(const kn_ctx *ctx, kn_view Y, ptrdiff_t first, ptrdiff_t last)
{
    if (Y.col_stride != 1)
        kn_view_done(ctx, Y, first, last - first + 1);
}

/* Thread task: columns from .. to - 1 of a block. */
static void fill_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_responses *Y = job->Y;
    const kn_scaling *s = Y->scaling;
    double mean[TILE_COLS], scale[TILE_COLS];
    tile t;
    for (ptrdiff_t j = from; j < to; j += TILE_COLS) {
        columns c = {.n = smaller(to - j, TILE_COLS)};
        for (ptrdiff_t k = 0; k < c.n; k++) {
            ptrdiff_t at = job->index ? job->index[j + k] : job->first + j + k;
            c.index[k] = s->kept[at];
            mean[k] = s->mean[at];
            scale[k] = 1 / s->sd[at];
        }
        columns_end(&c);
        for (ptrdiff_t i = 0; i < Y->N; i += TILE_ROWS) {
            ptrdiff_t rows = smaller(Y->N - i, TILE_ROWS);
            for (ptrdiff_t r = 0; r < rows; r++) {
                if (i + r + TILE_ROWS < Y->N)
                    ask_for_row(Y->Y, row_of(Y, i + r + TILE_ROWS), &c);
                load_row(Y->Y, row_of(Y, i + r), &c, t.at[r]);
                standardise(t.at[r], mean, scale, c.n);
                if (Y->holes)
                    mend(Y, row_of(Y, i + r), job->first + j, job->index ? job->index + j : NULL,
                         c.n, t.at[r]);
            }
            if (rows == TILE_ROWS) /* constant length, so that the compiler unrolls */
                put(&t, i, TILE_ROWS, j, c.n, job->block);
            else
                put(&t, i, rows, j, c.n, job->block);
        }
        columns_done(job->ctx, Y->Y, c.index[0], c.index[c.n - 1]);
    }
}

/* Chunks are at least a tile wide, and large enough for a thread. */
static void fill(kn_ctx *ctx, block_job *job, ptrdiff_t cols)
{
    ptrdiff_t grain = 1 + 100000 / (job->Y->N + 1);
    kn_parallel(ctx, cols, grain > TILE_COLS ? grain : TILE_COLS, fill_columns, job);
}

void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block)
{
    fill(ctx, &(block_job){.ctx = ctx, .Y = Y, .first = first, .block = block}, block.cols);
}

void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block)
{
    fill(ctx, &(block_job){.ctx = ctx, .Y = Y, .index = index, .block = block}, block.cols);
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
static void narrow_f32(const float *restrict y, const double *restrict mean,
                       const double *restrict scale, ptrdiff_t n, float *restrict to)
{
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] = (float)((y[k] - mean[k]) * scale[k]);
}

KN_CLONES
static void narrow_f64(const double *restrict y, const double *restrict mean,
                       const double *restrict scale, ptrdiff_t n, float *restrict to)
{
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] = (float)((y[k] - mean[k]) * scale[k]);
}

/* Thread task: columns from .. to - 1 of a strip, one per participant. */
static void fill_samples(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const strip_job *job = self;
    const kn_responses *Y = job->Y;
    const kn_scaling *s = Y->scaling;
    ptrdiff_t count = job->strip.data ? job->strip.rows : job->strip_f32.rows;
    double scale[TILE_COLS], wide[TILE_COLS];
    for (ptrdiff_t j = 0; j < count; j += TILE_COLS) {
        columns c = {.n = smaller(count - j, TILE_COLS)};
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
                standardise(y, mean, scale, c.n);
                if (Y->holes)
                    mend(Y, row, job->first + j, NULL, c.n, y);
            } else if (Y->holes) {
                float *y = kn_fcol(job->strip_f32, i) + j;
                load_row(Y->Y, row, &c, wide);
                standardise(wide, mean, scale, c.n);
                mend(Y, row, job->first + j, NULL, c.n, wide);
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

static void lay(kn_ctx *ctx, strip_job *job, ptrdiff_t count)
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
    lay(ctx, &(strip_job){.Y = Y, .first = first, .strip = strip}, strip.rows);
}

void kn_responses_strip_f32(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_fmat strip)
{
    lay(ctx, &(strip_job){.Y = Y, .first = first, .strip_f32 = strip}, strip.rows);
}
