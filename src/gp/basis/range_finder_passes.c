/* The passes of the range finder as block visitors over strips of responses. Each pass multiplies
 * the responses by a matrix of few columns; sums are exact over ranks. */
#include "gp/basis/internal.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "base/sum/block_sums.h"
#include "data/mpi/gather_responses.h"
#include "gp/block_visitor.h"
#include "la/la.h"
#include "la/vec.h"

enum { STREAM_RANGE = 211 };

/* Ratio of the largest second moment of a response to their mean above which float32 products are
 * added in two limbs: the grid of one limb would be too coarse for the other responses. */
static const double UNEVEN = 1e4;

/* Safety factor of the bounds of exact sums, for rounding. */
static const double GENEROUS = 2;

void kn_readings_clear(kn_readings *w)
{
    kn_mat_clear(&w->Q);
    kn_mat_clear(&w->M);
    kn_fmat_clear(&w->Q32);
    kn_fmat_clear(&w->W);
}

/* Returns the block size for n participants, a power of two: strips of at most 64 MB of float32
 * or 128 MB of doubles, unless they would be too thin for the BLAS. No strip crosses a cut of
 * wider blocks. */
static ptrdiff_t strip_cut(ptrdiff_t n)
{
    enum { MIN = 64, MAX_SIZE = 1 << 24 };
    ptrdiff_t cut = KN_BLOCK;
    while (cut > MIN && cut * n > MAX_SIZE)
        cut /= 2;
    return cut;
}

/* Returns the number of limbs (double words) of the exact sums: 2 if one response has much more
 * energy than the mean of all (ratio above UNEVEN), else 1. */
static int count_limbs(const kn_scaling *s)
{
    double sum = 0, limit = 0;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        sum += sd * sd + shift * shift;
        limit = fmax(limit, sd * sd + shift * shift);
    }
    return limit > UNEVEN * sum / (double)s->n_kept ? 2 : 1;
}

/* Returns the block loop of one reading, with the progress of the readings before it. */
static kn_block_loop reading_loop(const kn_readings *w)
{
    kn_block_loop loop = {.Y = w->Y, .stage = "basis", .cut = w->cut};
    loop.done = w->done;
    loop.total = w->total;
    return loop;
}

kn_status kn_readings_new(kn_ctx *ctx, kn_readings *w)
{
    kn_status status;
    w->cut = strip_cut(w->n);
    w->energy = kn_responses_energy(&w->Y);
    w->limbs = count_limbs(w->Y.scaling);
    kn_block_loop loop = reading_loop(w);
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->Q));
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->M));
    KN_TRY(kn_fmat_new(ctx, w->n, w->k, &w->Q32));
    KN_TRY(kn_fmat_new(ctx, kn_block_loop_plan_of(&loop).width, w->k, &w->W));
out:
    return status;
}

/* The running sum over blocks of n x k products. */
typedef struct product_sum {
    kn_sum M;
    kn_mat part; /* n x k  of one block; either this or part_f32 is used */
    kn_fmat part_f32;
} product_sum;

/* Adds strip' W (n x k) of one block to the running sum; strip: count x n, W: count x k,
 * products in float32. Cannot fail. */
static kn_status add_product_f32(kn_ctx *ctx, product_sum *a, kn_fmat strip, kn_fmat W)
{
    kn_gemm_f32(ctx, 1, KN_T, strip, KN_N, W, 0, a->part_f32);
    kn_sum_add_f32(ctx, &a->M, a->part_f32);
    return KN_OK;
}

/* Adds strip' W (n x k) of one block to the running sum; strip: count x n, W: count x k, in
 * double. Cannot fail. */
static kn_status add_product(kn_ctx *ctx, product_sum *a, kn_mat strip, kn_mat W)
{
    kn_gemm(ctx, 1, KN_T, strip, KN_N, W, 0, a->part);
    kn_sum_add(ctx, &a->M, a->part);
    return KN_OK;
}

/* Runs one reading: a loop over all blocks in which the visitor adds n x k products to a; their
 * exact sum goes to w->M. bound: largest |entry| of the sum. Collective. */
static kn_status run_reading(kn_ctx *ctx, kn_readings *w, double bound, const kn_visitor *visitor,
                             product_sum *a)
{
    kn_status status;
    kn_block_loop loop = reading_loop(w);
    bool single = visitor->needs == KN_BLOCK_STRIP_F32;
    KN_TRY(kn_sum_new(ctx, w->n, w->k, bound, single ? w->limbs : 2, &a->M));
    KN_TRY(single ? kn_fmat_new(ctx, w->n, w->k, &a->part_f32)
                  : kn_mat_new(ctx, w->n, w->k, &a->part));
    KN_TRY(kn_block_loop_run(ctx, &loop, visitor, 1));
    KN_TRY(kn_sum_value(ctx, &a->M, w->M));
    w->done += w->T;
out:
    kn_mat_clear(&a->part);
    kn_fmat_clear(&a->part_f32);
    kn_sum_clear(&a->M);
    return status;
}

/* ---- products in float32 ---- */

/* Subtracts from each column of M its mean. For M = Y W (n x k) this gives A W, because it
 * subtracts mean' W, where A is Y with centred responses. */
static void subtract_column_means(kn_mat M)
{
    for (ptrdiff_t p = 0; p < M.cols; p++) {
        double *m = kn_col(M, p), mean = 0;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            mean += m[i];
        mean /= (double)M.rows;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            m[i] -= mean;
    }
}

typedef struct draw_job {
    uint64_t seed;
    ptrdiff_t first;
    const uint64_t *key; /* of the responses; NULL: their indices */
    kn_fmat to;
} draw_job;

/* Parallel task (self: draw_job): fills rows from .. to - 1 of a block of random directions
 * (responses x k) with standard normal numbers. Every response has its own stream: the numbers
 * do not depend on strip or thread. */
static void draw_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const draw_job *job = self;
    for (ptrdiff_t j = from; j < to; j++) {
        kn_rng rng;
        uint64_t own = job->key ? job->key[job->first + j] : (uint64_t)(job->first + j);
        kn_rng_init(&rng, job->seed, ((uint64_t)STREAM_RANGE << 32) + own);
        for (ptrdiff_t p = 0; p < job->to.cols; p++)
            kn_fcol(job->to, p)[j] = (float)kn_rng_normal(&rng);
    }
}

typedef struct sketching {
    kn_readings *w;
    const kn_range_options *o;
    product_sum M;
} sketching;

/* Block visitor of kn_reading_sketch (self: sketching): adds y_block W to M (n x k), W (count x
 * k) being standard normal numbers that depend on seed and response. */
static kn_status sketch_block(kn_ctx *ctx, void *self, kn_block *b)
{
    sketching *s = self;
    kn_fmat W = kn_fsub(s->w->W, 0, 0, b->count, s->w->k);
    draw_job job = {s->o->seed, b->first, s->w->Y.key, W};
    kn_parallel(ctx, b->count, 64, draw_columns, &job);
    return add_product_f32(ctx, &s->M, b->strip_f32, W);
}

kn_status kn_reading_sketch(kn_ctx *ctx, const kn_range_options *o, kn_readings *w)
{
    enum { FARTHEST = 16 }; /* bound of |kn_rng_normal()| */
    kn_status status = KN_OK;
    ptrdiff_t given = o->sketch.data ? kn_min_size(o->sketch.cols, w->k) : 0;
    kn_readings rest = *w; /* the columns that the sketch does not give */
    sketching s = {.w = &rest, .o = o};
    kn_visitor visitor = {&s, KN_BLOCK_STRIP_F32, NULL, sketch_block, NULL};
    double bound = FARTHEST * sqrt((double)w->T * w->energy);
    rest.k = w->k - given;
    rest.M = kn_cols(w->M, given, rest.k);
    if (given > 0)
        kn_mat_set(kn_cols(w->M, 0, given), kn_cols(o->sketch, 0, given));
    if (rest.k > 0)
        status = run_reading(ctx, &rest, bound, &visitor, &s.M);
    w->done = rest.done;
    if (w->centre)
        subtract_column_means(w->M);
    return status;
}

typedef struct powering {
    kn_readings *w;
    kn_fmat Q;
    product_sum M;
} powering;

/* Block visitor of a power pass in float32 (self: powering): W_b = Y_b' Q (count x k), kept in
 * w->W, and M += Y_b W_b (n x k). */
static kn_status power_block(kn_ctx *ctx, void *self, kn_block *b)
{
    powering *p = self;
    kn_fmat W = kn_fsub(p->w->W, 0, 0, b->count, p->w->k);
    kn_gemm_f32(ctx, 1, KN_N, b->strip_f32, KN_N, p->Q, 0, W); /* W_b = Y_b' Q */
    return add_product_f32(ctx, &p->M, b->strip_f32, W);       /* M += Y_b W_b */
}

kn_status kn_reading_power(kn_ctx *ctx, kn_readings *w)
{
    powering p = {.w = w, .Q = kn_fcols(w->Q32, 0, w->k)};
    kn_visitor visitor = {&p, KN_BLOCK_STRIP_F32, NULL, power_block, NULL};
    kn_fmat_set(p.Q, w->Q);
    kn_status status = run_reading(ctx, w, GENEROUS * w->energy, &visitor, &p.M);
    if (w->centre)
        subtract_column_means(w->M);
    return status;
}

/* ---- the last reading in float32 ---- */

typedef struct last_single {
    powering p;
    kn_basis *b;
    double *mean;
    double *square; /* width  |a_j|^2 within a block */
    kn_slots total;
} last_single;

typedef struct moments_job {
    kn_fmat strip;
    bool centre;
    double *mean, *square; /* of its responses */
} moments_job;

/* Adds n responses y of one participant to sum and their squares to square (n each), in double
 * precision: there the square of a float is exact, so that a fused multiply-add gives the same
 * bits. */
KN_CLONES
static void add_sample(ptrdiff_t n, const float *restrict y, double *restrict sum,
                       double *restrict square)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        double a = (double)y[j];
        sum[j] += a;
        square[j] += a * a;
    }
}

/* Parallel task (self: moments_job) for the responses from .. to - 1 of a strip: mean[j] over
 * participants (0 unless centred) and square[j] = sum_i (y_ij - mean_j)^2. */
static void strip_moments(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const moments_job *b = self;
    double n = (double)b->strip.cols;
    for (ptrdiff_t j = from; j < to; j++)
        b->mean[j] = b->square[j] = 0;
    for (ptrdiff_t i = 0; i < b->strip.cols; i++)
        add_sample(to - from, kn_fcol(b->strip, i) + from, b->mean + from, b->square + from);
    for (ptrdiff_t j = from; j < to; j++) {
        b->mean[j] = b->centre ? b->mean[j] / n : 0;
        b->square[j] = fmax(b->square[j] - n * b->mean[j] * b->mean[j], 0);
    }
}

/* Begins the last reading in float32 (self: last_single): allocates the energy of each response
 * of a block, and one sum per block. */
static kn_status begin_single(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    last_single *l = self;
    KN_TRY(kn_alloc_d(ctx, plan->width, &l->square));
    KN_TRY(kn_slots_new(ctx, plan->blocks, 1, &l->total));
out:
    return status;
}

/* Block visitor of the last reading in float32 (self: last_single): means and energies of the
 * block's responses, W_b = Y_b' Q as the block's rows of B (T x k), and M += Y_b W_b. */
static kn_status single_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 256 };
    last_single *l = self;
    const kn_readings *w = l->p.w;
    moments_job job = {b->strip_f32, w->centre, l->mean + b->first, l->square};
    kn_parallel(ctx, b->count, RESPONSES, strip_moments, &job);
    for (ptrdiff_t j = 0; j < b->count; j++)
        *kn_slot(&l->total, b->number) += l->square[j];
    kn_status status = power_block(ctx, &l->p, b);
    for (ptrdiff_t p = 0; status == KN_OK && p < w->k; p++) {
        const float *from = kn_fcol(w->W, p);
        double *to = kn_col(l->b->B, p) + b->first;
        for (ptrdiff_t j = 0; j < b->count; j++)
            to[j] = (double)from[j];
    }
    return status;
}

kn_status kn_reading_last_single(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean)
{
    kn_status status;
    last_single l = {.p = {.w = w, .Q = kn_fcols(w->Q32, 0, w->k)}, .b = b, .mean = mean};
    kn_visitor visitor = {&l, KN_BLOCK_STRIP_F32, begin_single, single_block, NULL};
    kn_fmat_set(l.p.Q, w->Q);
    KN_TRY(run_reading(ctx, w, GENEROUS * w->energy, &visitor, &l.p.M));
    if (w->centre)
        subtract_column_means(w->M);
    KN_TRY(kn_slots_sum(ctx, &l.total, &b->total));
    KN_TRY(kn_allgather_response_rows(ctx, &w->Y, kn_cols(b->B, 0, w->k)));
    KN_TRY(kn_allgather_responses_d(ctx, &w->Y, w->centre ? mean : NULL));
out:
    kn_slots_clear(&l.total);
    kn_free(l.square);
    return status;
}

/* ---- the last reading in double ---- */

typedef struct last_reading {
    kn_readings *w;
    kn_basis *b;
    double *mean;
    product_sum M;
    double *sample; /* n  |a_i|^2 within a block */
    kn_slots total;
} last_reading;

typedef struct strip_job {
    kn_mat strip;
    const double *mean; /* NULL: nothing to subtract */
    double *sample;
} strip_job;

/* Parallel task (self: strip_job) for participants from .. to - 1 of a strip (responses x n):
 * subtracts mean (unless NULL) and sets sample[i] = |a_i|^2, the energy of participant i in the
 * strip. */
static void centre_samples(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const strip_job *b = self;
    for (ptrdiff_t i = from; i < to; i++) {
        double *y = kn_col(b->strip, i);
        for (ptrdiff_t j = 0; b->mean && j < b->strip.rows; j++)
            y[j] -= b->mean[j];
        b->sample[i] = kn_vec_dot(b->strip.rows, y, y);
    }
}

/* Parallel task (self: strip_job): writes the mean over participants of responses from .. to - 1
 * of a strip (responses x n) to job->sample. */
static void compute_means(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const strip_job *b = self;
    double *mean = b->sample, n = (double)b->strip.cols;
    for (ptrdiff_t j = from; j < to; j++)
        mean[j] = 0;
    for (ptrdiff_t i = 0; i < b->strip.cols; i++)
        for (ptrdiff_t j = from; j < to; j++)
            mean[j] += kn_at(b->strip, j, i);
    for (ptrdiff_t j = from; j < to; j++)
        mean[j] /= n;
}

/* Begins the last reading in double (self: last_reading): allocates one sum of energies per
 * block. */
static kn_status begin_last(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    last_reading *l = self;
    return kn_slots_new(ctx, plan->blocks, 1, &l->total);
}

/* Block visitor of the last reading in double (self: last_reading): centres the strip in place,
 * W_b = strip Q as the block's rows of B (T x k), its energies, and M += strip' W_b. */
static kn_status last_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 256, SAMPLES = 64 };
    last_reading *l = self;
    const kn_readings *w = l->w;
    kn_mat W = kn_sub(l->b->B, b->first, 0, b->count, w->k);
    double *mean = l->mean + b->first;
    if (w->centre)
        kn_parallel(ctx, b->count, RESPONSES, compute_means, &(strip_job){b->strip, NULL, mean});
    strip_job job = {b->strip, w->centre ? mean : NULL, l->sample};
    kn_parallel(ctx, w->n, SAMPLES, centre_samples, &job);
    kn_gemm(ctx, 1, KN_N, b->strip, KN_N, w->Q, 0, W);
    for (ptrdiff_t i = 0; i < w->n; i++)
        *kn_slot(&l->total, b->number) += l->sample[i];
    return add_product(ctx, &l->M, b->strip, W);
}

kn_status kn_reading_last(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean)
{
    kn_status status;
    last_reading l = {.w = w, .b = b, .mean = mean};
    kn_visitor visitor = {&l, KN_BLOCK_STRIP, begin_last, last_block, NULL};
    KN_TRY(kn_alloc_d(ctx, w->n, &l.sample));
    KN_TRY(run_reading(ctx, w, GENEROUS * w->energy, &visitor, &l.M));
    KN_TRY(kn_slots_sum(ctx, &l.total, &b->total));
    KN_TRY(kn_allgather_response_rows(ctx, &w->Y, kn_cols(b->B, 0, w->k)));
    KN_TRY(kn_allgather_responses_d(ctx, &w->Y, w->centre ? mean : NULL));
out:
    kn_slots_clear(&l.total);
    kn_free(l.sample);
    return status;
}

void kn_readings_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t k)
{
    ptrdiff_t width = kn_block_loop_width(strip_cut(n), T);
    kn_mem_usage mark;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, 2 * k); /* Q, M */
    kn_plan_alloc_f(r, KN_NEED_SAMPLES, n, k);
    kn_plan_alloc_f(r, KN_NEED_WORK, width, k);
    mark = r->now;
    kn_sum_need(r, KN_NEED_SAMPLES, (kn_sum){n, k, false, {0}}, 1);
    kn_plan_alloc_f(r, KN_NEED_SAMPLES, n, k);
    kn_block_loop_need(r, n, width, KN_BLOCK_STRIP_F32);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_BASIS, T, k);
    mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 1);
    kn_sum_need(r, KN_NEED_SAMPLES, (kn_sum){n, k, false, {0}}, 2);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, k);
    kn_block_loop_need(r, n, width, KN_BLOCK_STRIP);
    kn_plan_free_to(r, mark);
}
