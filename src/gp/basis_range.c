#include "gp/basis_range.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "base/reduce.h"
#include "base/rng.h"
#include "gp/walk.h"
#include "la/la.h"
#include "la/vec.h"

enum { STREAM_RANGE = 211 };

/* Directions shorter than this, relative to the longest, are what float32 products round to. */
static const double LOST = 1e-6;

/* A residual that another pass in float32 would not improve. */
static const double CONVERGED = 1e-6;

/* Singular values spread wider than this make Z = M R^-1 lose more than half its digits in the
 * smallest column: error eps (s_1/s_P)^2. */
static const double WIDE = 1e4;

/* The largest second moment of a response over their mean from which float32 products are added in
 * two limbs: the grid of one would be too coarse for the others. */
static const double UNEVEN = 1e4;

/* Bounds of sums are taken so many times, for what rounding may add. */
static const double GENEROUS = 2;

typedef struct work {
    kn_responses Y;
    bool centre;
    ptrdiff_t n, T, k;
    ptrdiff_t cut;  /* blocks are strips of at most 128 MB */
    double energy;  /* at least |A|^2 */
    int limbs;      /* of sums of float32 products */
    kn_mat Q, M;    /* n x k */
    kn_fmat Q32;    /* n x k */
    kn_fmat W;      /* width x k */
    ptrdiff_t done; /* responses read so far, of all readings */
    ptrdiff_t total;
    kn_range_info info;
} work;

static void work_clear(work *w)
{
    kn_mat_clear(&w->Q);
    kn_mat_clear(&w->M);
    kn_fmat_clear(&w->Q32);
    kn_fmat_clear(&w->W);
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* Strips of at most 64 MB of float32, 128 MB of doubles, unless they would be too thin for the
 * BLAS; a power of two, so that none lies across a cut of wider ones. */
static ptrdiff_t strip_cut(ptrdiff_t n)
{
    enum { LEAST = 64, MOST = 1 << 24 };
    ptrdiff_t cut = KN_BLOCK;
    while (cut > LEAST && cut * n > MOST)
        cut /= 2;
    return cut;
}

static int limbs_for(const kn_scaling *s)
{
    double sum = 0, most = 0;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        sum += sd * sd + shift * shift;
        most = fmax(most, sd * sd + shift * shift);
    }
    return most > UNEVEN * sum / (double)s->n_kept ? 2 : 1;
}

static kn_walk walk_of(const work *w)
{
    return (
        kn_walk){.Y = w->Y, .stage = "basis", .cut = w->cut, .done = w->done, .total = w->total};
}

static kn_status work_new(kn_ctx *ctx, work *w)
{
    kn_status status;
    w->cut = strip_cut(w->n);
    w->energy = kn_responses_energy(&w->Y);
    w->limbs = limbs_for(w->Y.scaling);
    kn_walk walk = walk_of(w);
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->Q));
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->M));
    KN_TRY(kn_fmat_new(ctx, w->n, w->k, &w->Q32));
    KN_TRY(kn_fmat_new(ctx, kn_walk_plan_of(&walk).width, w->k, &w->W));
out:
    return status;
}

/* A sum over blocks of n x k products, under way. */
typedef struct adding {
    kn_sum M;
    kn_mat part; /* n x k, of one block; one of the two */
    kn_fmat part_f32;
} adding;

/* M += strip' W */
static kn_status add_product_f32(kn_ctx *ctx, adding *a, kn_fmat strip, kn_fmat W)
{
    kn_gemm_f32(ctx, 1, KN_T, strip, KN_N, W, 0, a->part_f32);
    kn_sum_add_f32(ctx, &a->M, a->part_f32);
    return KN_OK;
}

static kn_status add_product(kn_ctx *ctx, adding *a, kn_mat strip, kn_mat W)
{
    kn_gemm(ctx, 1, KN_T, strip, KN_N, W, 0, a->part);
    kn_sum_add(ctx, &a->M, a->part);
    return KN_OK;
}

/* w->M = the sum that the visitor adds to as it walks, its entries at most `bound`. */
static kn_status add_up(kn_ctx *ctx, work *w, double bound, const kn_visitor *visitor, adding *a)
{
    kn_status status;
    kn_walk walk = walk_of(w);
    bool single = visitor->needs == KN_WALK_STRIP_F32;
    KN_TRY(kn_sum_new(ctx, w->n, w->k, bound, single ? w->limbs : 2, &a->M));
    KN_TRY(single ? kn_fmat_new(ctx, w->n, w->k, &a->part_f32)
                  : kn_mat_new(ctx, w->n, w->k, &a->part));
    KN_TRY(kn_walk_run(ctx, &walk, visitor, 1));
    KN_TRY(kn_sum_value(ctx, &a->M, w->M));
    w->done += w->T;
out:
    kn_mat_clear(&a->part);
    kn_fmat_clear(&a->part_f32);
    kn_sum_clear(&a->M);
    return status;
}

/* ---- products in float32 ------------------------------------------------------------------- */

/* M = A W from M = Y W: mean' W is what the columns' means are. */
static void centre_columns(kn_mat M)
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
    ptrdiff_t first, given; /* columns before `given` are the start's */
    kn_mat start;
    kn_fmat to;
} draw_job;

/* A response's random numbers are a stream of their own: the same for any strip and thread. */
static void draw(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const draw_job *job = self;
    for (ptrdiff_t j = from; j < to; j++) {
        kn_rng rng;
        kn_rng_init(&rng, job->seed, ((uint64_t)STREAM_RANGE << 32) + (uint64_t)(job->first + j));
        for (ptrdiff_t p = 0; p < job->given; p++)
            kn_fcol(job->to, p)[j] = (float)kn_at(job->start, job->first + j, p);
        for (ptrdiff_t p = job->given; p < job->to.cols; p++)
            kn_fcol(job->to, p)[j] = (float)kn_rng_normal(&rng);
    }
}

typedef struct sketching {
    work *w;
    const kn_range_options *o;
    ptrdiff_t given;
    adding M;
} sketching;

static kn_status sketch_block(kn_ctx *ctx, void *self, kn_block *b)
{
    sketching *s = self;
    kn_fmat W = kn_fsub(s->w->W, 0, 0, b->count, s->w->k);
    draw_job job = {s->o->seed, b->first, s->given, s->o->start, W};
    kn_parallel(ctx, b->count, 64, draw, &job);
    return add_product_f32(ctx, &s->M, b->strip_f32, W);
}

/* M = A [start, random] */
static kn_status sketch(kn_ctx *ctx, const kn_range_options *o, work *w)
{
    enum { FARTHEST = 16 }; /* no normal number that kn_rng_normal draws is so large */
    sketching s = {.w = w, .o = o, .given = o->start.data ? smaller(o->start.cols, w->k) : 0};
    kn_visitor visitor = {&s, KN_WALK_STRIP_F32, NULL, sketch_block, NULL};
    double bound = FARTHEST * sqrt((double)w->T * w->energy);
    kn_status status = add_up(ctx, w, bound, &visitor, &s.M);
    if (w->centre)
        centre_columns(w->M);
    return status;
}

typedef struct powering {
    work *w;
    kn_fmat Q;
    adding M;
} powering;

static kn_status power_block(kn_ctx *ctx, void *self, kn_block *b)
{
    powering *p = self;
    kn_fmat W = kn_fsub(p->w->W, 0, 0, b->count, p->w->k);
    kn_gemm_f32(ctx, 1, KN_N, b->strip_f32, KN_N, p->Q, 0, W); /* W_b = Y_b' Q */
    return add_product_f32(ctx, &p->M, b->strip_f32, W);       /* M += Y_b W_b */
}

/* M = A (A'Q) */
static kn_status power(kn_ctx *ctx, work *w)
{
    powering p = {.w = w, .Q = kn_fcols(w->Q32, 0, w->k)};
    kn_visitor visitor = {&p, KN_WALK_STRIP_F32, NULL, power_block, NULL};
    kn_fmat_set(p.Q, w->Q);
    kn_status status = add_up(ctx, w, GENEROUS * w->energy, &visitor, &p.M);
    if (w->centre)
        centre_columns(w->M);
    return status;
}

/* ---- small matrices ------------------------------------------------------------------------ */

static void unit_columns(kn_mat M)
{
    for (ptrdiff_t p = 0; p < M.cols; p++) {
        double norm = sqrt(kn_sumsq(kn_cols(M, p, 1)));
        for (ptrdiff_t i = 0; norm > 0 && i < M.rows; i++)
            kn_col(M, p)[i] /= norm;
    }
}

/* S = X diag(t) X', t descending, X in place of S. */
static kn_status eig_descending(kn_ctx *ctx, kn_mat S, double *t)
{
    ptrdiff_t k = S.rows;
    kn_status status = kn_eig(ctx, S, t);
    for (ptrdiff_t p = 0; status == KN_OK && p < k / 2; p++) {
        double *a = kn_col(S, p), *b = kn_col(S, k - 1 - p), top = t[k - 1 - p];
        t[k - 1 - p] = t[p];
        t[p] = top;
        for (ptrdiff_t i = 0; i < k; i++) {
            double x = a[i];
            a[i] = b[i];
            b[i] = x;
        }
    }
    if (status == KN_OK && !(t[0] > 0))
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies within these samples");
    return status;
}

static ptrdiff_t count_above(const double *t, ptrdiff_t k, double least)
{
    ptrdiff_t n = 0;
    while (n < k && t[n] > least)
        n++;
    return n;
}

/* M <- M L^-T for M'M = LL', and `with` the same: orthonormal to rounding when M nearly was. */
static kn_status polish(kn_ctx *ctx, kn_mat S, kn_mat M, kn_mat with)
{
    kn_status status;
    KN_TRY(kn_chol(ctx, S, "the matrix of basis angles"));
    kn_trsm_right(ctx, KN_T, S, M);
    if (with.data)
        kn_trsm_right(ctx, KN_T, S, with);
out:
    return status;
}

/* Q = orth(M): M X diag(t)^-1/2 for M'M = X diag(t) X', fewer columns when M's are linearly
 * dependent; polished, since that loses the square of M's condition. */
static kn_status orthonormal(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_mat S = {0}, old = w->Q;
    double *t = NULL;
    unit_columns(w->M);
    KN_TRY(kn_alloc_d(ctx, w->k, &t));
    KN_TRY(kn_mat_new(ctx, w->k, w->k, &S));
    kn_syrk(ctx, 1, KN_T, w->M, 0, S);
    KN_TRY(eig_descending(ctx, S, t));
    old.cols = w->k = count_above(t, w->k, LOST * LOST * t[0]);
    for (ptrdiff_t p = 0; p < w->k; p++)
        for (ptrdiff_t i = 0; i < S.rows; i++)
            kn_col(S, p)[i] /= sqrt(t[p]);
    KN_TRY(kn_rotate(ctx, &w->M, kn_cols(S, 0, w->k)));
    kn_mat angles = kn_sub(S, 0, 0, w->k, w->k);
    kn_syrk(ctx, 1, KN_T, w->M, 0, angles);
    KN_TRY(polish(ctx, angles, w->M, kn_mat_none()));
    w->Q = w->M;
    w->M = old;
out:
    kn_mat_clear(&S);
    kn_free(t);
    return status;
}

/* Q'M = X diag(t) X', t descending; Q <- Q X, M <- M X, W <- W X where there is one. For
 * M = A A'Q the t are squared singular values as Q sees them, from below; residual: how far the
 * first P are from being so. */
static kn_status turn(kn_ctx *ctx, work *w, ptrdiff_t P, double *t, kn_mat *W)
{
    kn_status status;
    kn_mat S = {0};
    double *residual = &w->info.residual;
    KN_TRY(kn_mat_new(ctx, w->k, w->k, &S));
    kn_gemm(ctx, 1, KN_T, w->Q, KN_N, w->M, 0, S);
    KN_TRY(eig_descending(ctx, S, t));
    KN_TRY(kn_rotate(ctx, &w->Q, S));
    KN_TRY(kn_rotate(ctx, &w->M, S));
    if (W)
        KN_TRY(kn_rotate(ctx, W, S));
    *residual = 0;
    for (ptrdiff_t p = 0; p < P && p < w->k; p++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < w->n; i++) {
            double r = kn_at(w->M, i, p) - t[p] * kn_at(w->Q, i, p);
            sum += r * r;
        }
        *residual = fmax(*residual, t[p] > 0 ? sqrt(sum) / t[p] : INFINITY);
    }
out:
    kn_mat_clear(&S);
    return status;
}

/* Q = orth(M - shift Q) for M = A A'Q: directions outside, whose t are below t_k, shrink by
 * |t - shift| instead of t. The smallest t is never above the true t_k, so half of it is safe. */
static kn_status step(kn_ctx *ctx, work *w, const double *t)
{
    double shift = fmax(t[w->k - 1], 0) / 2;
    for (ptrdiff_t p = 0; p < w->k; p++)
        for (ptrdiff_t i = 0; i < w->n; i++)
            kn_col(w->M, p)[i] -= shift * kn_at(w->Q, i, p);
    return orthonormal(ctx, w);
}

/* ---- the last reading ---------------------------------------------------------------------- */

typedef struct last_reading {
    work *w;
    kn_basis *b;
    double *mean;
    adding M;
    double *sample; /* n  |a_i|^2 within a block */
    kn_slots total;
} last_reading;

typedef struct strip_job {
    kn_mat strip;
    const double *mean; /* NULL: none to take away */
    double *sample;
} strip_job;

/* A from Y, and |a_i|^2 */
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

static void add_means(void *self, ptrdiff_t from, ptrdiff_t to)
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

static kn_status begin_last(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    last_reading *l = self;
    return kn_slots_new(ctx, plan->blocks, 1, &l->total);
}

static kn_status last_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 256, SAMPLES = 64 };
    last_reading *l = self;
    const work *w = l->w;
    kn_mat W = kn_sub(l->b->B, b->first, 0, b->count, w->k);
    double *mean = l->mean + b->first;
    if (w->centre)
        kn_parallel(ctx, b->count, RESPONSES, add_means, &(strip_job){b->strip, NULL, mean});
    strip_job job = {b->strip, w->centre ? mean : NULL, l->sample};
    kn_parallel(ctx, w->n, SAMPLES, centre_samples, &job);
    kn_gemm(ctx, 1, KN_N, b->strip, KN_N, w->Q, 0, W);
    for (ptrdiff_t i = 0; i < w->n; i++)
        *kn_slot(&l->total, b->number) += l->sample[i];
    return add_product(ctx, &l->M, b->strip, W);
}

/* W = A'Q (T x k) into b->B and M = A W, both in double; |A|^2; the mean. */
static kn_status last_products(kn_ctx *ctx, work *w, kn_basis *b, double *mean)
{
    kn_status status;
    last_reading l = {.w = w, .b = b, .mean = mean};
    kn_visitor visitor = {&l, KN_WALK_STRIP, begin_last, last_block, NULL};
    KN_TRY(kn_alloc_d(ctx, w->n, &l.sample));
    KN_TRY(add_up(ctx, w, GENEROUS * w->energy, &visitor, &l.M));
    KN_TRY(kn_slots_sum(ctx, &l.total, &b->total));
out:
    kn_slots_clear(&l.total);
    kn_free(l.sample);
    return status;
}

/* B = W R^-1 and Z = M R^-1; then the best P of them. Z is what M became. */
static kn_status finish(kn_ctx *ctx, work *w, ptrdiff_t P, double *t, const double *mean,
                        kn_basis *b)
{
    kn_status status;
    kn_mat S = {0};
    KN_TRY(turn(ctx, w, P, t, &b->B));
    double noise = t[0] * DBL_EPSILON * fmax((double)w->n, 8); /* as kn_gram_new's rank */
    ptrdiff_t k = count_above(t, w->k, noise), found = smaller(P, k);
    b->B.cols = w->M.cols = k;
    for (ptrdiff_t p = 0; p < k; p++) {
        double s = sqrt(t[p]);
        for (ptrdiff_t j = 0; j < w->T; j++)
            kn_col(b->B, p)[j] /= s;
        for (ptrdiff_t i = 0; i < w->n; i++)
            kn_col(w->M, p)[i] /= s;
    }
    KN_TRY(kn_mat_new(ctx, k, k, &S));
    KN_TRY(kn_basis_angles(ctx, &w->Y, b->B, S));
    KN_TRY(polish(ctx, S, b->B, w->M));
    b->Z = w->M;
    w->M = kn_mat_none();
    if (t[0] > WIDE * WIDE * t[found - 1]) {
        KN_TRY(kn_basis_project(ctx, &w->Y, w->centre ? mean : NULL, b));
        w->info.readings++;
    }
    KN_TRY(kn_basis_ritz(ctx, b, found));
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    kn_basis_fix_signs(b);
    w->info.captured = kn_sumsq(b->Z) / b->total;
out:
    kn_mat_clear(&S);
    return status;
}

/* Centred, the responses' own means may as well go first: float32 then has no offset to carry. */
static void move_means(const kn_scaling *s, double *mean)
{
    for (ptrdiff_t j = 0; j < s->n_kept; j++)
        mean[j] += (s->mean0[j] - s->mean[j]) / s->sd[j];
}

kn_status kn_basis_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, const kn_range_options *o,
                         kn_basis *out, kn_range_info *info)
{
    kn_status status;
    kn_scaling moved = *Y->scaling;
    ptrdiff_t most = smaller(Y->N - (o->centre ? 1 : 0), Y->T);
    work w = {.Y = *Y, .centre = o->centre, .n = Y->N, .T = Y->T};
    double *t = NULL, *mean = NULL;
    *out = (kn_basis){.pca = true};
    w.info = (kn_range_info){.residual = INFINITY, .readings = 2};
    if (o->centre) {
        moved.mean = moved.mean0;
        w.Y.scaling = &moved;
    }
    if (P < 1 || P > most) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "components is %td, but %td samples of %td responses have at most %td", P,
                         Y->N, Y->T, most);
        goto out;
    }
    w.k = smaller(P + KN_RANGE_OVERSAMPLE, smaller(Y->N, Y->T));
    w.total = (o->passes + 2) * Y->T;
    KN_TRY(kn_alloc_d(ctx, w.k, &t));
    KN_TRY(kn_alloc_d(ctx, Y->T, &mean));
    KN_TRY(work_new(ctx, &w));
    KN_TRY(sketch(ctx, o, &w));
    KN_TRY(orthonormal(ctx, &w));
    for (int pass = 0; pass < o->passes && w.info.residual > CONVERGED; pass++) {
        KN_TRY(power(ctx, &w));
        KN_TRY(turn(ctx, &w, P, t, NULL));
        KN_TRY(step(ctx, &w, t));
        w.info.readings++;
    }
    KN_TRY(kn_mat_new(ctx, Y->T, w.k, &out->B));
    KN_TRY(last_products(ctx, &w, out, mean));
    KN_TRY(finish(ctx, &w, P, t, mean, out));
    if (o->centre)
        move_means(Y->scaling, mean);
    for (ptrdiff_t j = 0; o->mean && j < Y->T; j++)
        o->mean[j] = mean[j];
    *info = w.info;
out:
    kn_free(mean);
    kn_free(t);
    work_clear(&w);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}
