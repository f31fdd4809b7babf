#include "gp/basis_range.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "la/la.h"

enum { STREAM_RANGE = 211 };

/* Directions shorter than this, relative to the longest, are what float32 products round to. */
static const double LOST = 1e-6;

/* A residual that another pass in float32 would not improve. */
static const double CONVERGED = 1e-6;

/* Singular values spread wider than this make Z = M R^-1 lose more than half its digits in the
 * smallest column: error eps (s_1/s_P)^2. */
static const double WIDE = 1e4;

typedef struct work {
    const kn_responses *Y;
    bool centre;
    ptrdiff_t n, T, k;
    ptrdiff_t width;   /* responses per strip */
    kn_mat Q, M;       /* n x k */
    kn_fmat Q32, part; /* n x k */
    kn_fmat strip;     /* width x n */
    kn_fmat W;         /* width x k */
    ptrdiff_t done;    /* responses read so far, of all readings */
    ptrdiff_t total;
} work;

static void work_clear(work *w)
{
    kn_mat_clear(&w->Q);
    kn_mat_clear(&w->M);
    kn_fmat_clear(&w->Q32);
    kn_fmat_clear(&w->part);
    kn_fmat_clear(&w->strip);
    kn_fmat_clear(&w->W);
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* Strips of at most 64 MB of float32, 128 MB of doubles. */
static ptrdiff_t strip_width(ptrdiff_t n, ptrdiff_t T)
{
    ptrdiff_t width = ((ptrdiff_t)1 << 24) / n;
    width = width < 64 ? 64 : smaller(width, KN_BLOCK);
    return smaller(width, T);
}

static kn_status work_new(kn_ctx *ctx, work *w)
{
    kn_status status;
    w->width = strip_width(w->n, w->T);
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->Q));
    KN_TRY(kn_mat_new(ctx, w->n, w->k, &w->M));
    KN_TRY(kn_fmat_new(ctx, w->n, w->k, &w->Q32));
    KN_TRY(kn_fmat_new(ctx, w->n, w->k, &w->part));
    KN_TRY(kn_fmat_new(ctx, w->width, w->n, &w->strip));
    KN_TRY(kn_fmat_new(ctx, w->width, w->k, &w->W));
out:
    return status;
}

static kn_status tell(kn_ctx *ctx, work *w, ptrdiff_t count)
{
    w->done += count;
    kn_tell(ctx, "basis", w->done, w->total, NAN);
    return kn_check_cancel(ctx);
}

/* ---- products in float32 ------------------------------------------------------------------- */

typedef struct add_job {
    kn_fmat part;
    kn_mat M;
} add_job;

static void add_part(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const add_job *job = self;
    for (ptrdiff_t j = from; j < to; j++) {
        const float *restrict p = kn_fcol(job->part, j);
        double *restrict m = kn_col(job->M, j);
        for (ptrdiff_t i = 0; i < job->M.rows; i++)
            m[i] += p[i];
    }
}

/* M += strip' W */
static void add_product(kn_ctx *ctx, const work *w, kn_fmat strip, kn_fmat W)
{
    kn_fmat part = kn_fcols(w->part, 0, w->k);
    kn_gemm_f32(ctx, 1, KN_T, strip, KN_N, W, 0, part);
    kn_parallel(ctx, w->k, 1 + 100000 / w->n, add_part, &(add_job){part, w->M});
}

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

/* M = A [start, random] */
static kn_status sketch(kn_ctx *ctx, const kn_range_options *o, work *w)
{
    kn_status status = KN_OK;
    ptrdiff_t given = o->start.data ? smaller(o->start.cols, w->k) : 0;
    for (ptrdiff_t j = 0; j < w->T; j += w->width) {
        ptrdiff_t count = smaller(w->width, w->T - j);
        kn_fmat strip = kn_fsub(w->strip, 0, 0, count, w->n), W = kn_fsub(w->W, 0, 0, count, w->k);
        kn_parallel(ctx, count, 64, draw, &(draw_job){o->seed, j, given, o->start, W});
        kn_responses_strip_f32(ctx, w->Y, j, strip);
        add_product(ctx, w, strip, W);
        KN_TRY(tell(ctx, w, count));
    }
    if (w->centre)
        centre_columns(w->M);
out:
    return status;
}

/* M = A (A'Q) */
static kn_status power(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    kn_fmat Q = kn_fcols(w->Q32, 0, w->k);
    kn_fmat_set(Q, w->Q);
    kn_mat_zero(w->M);
    for (ptrdiff_t j = 0; j < w->T; j += w->width) {
        ptrdiff_t count = smaller(w->width, w->T - j);
        kn_fmat strip = kn_fsub(w->strip, 0, 0, count, w->n), W = kn_fsub(w->W, 0, 0, count, w->k);
        kn_responses_strip_f32(ctx, w->Y, j, strip);
        kn_gemm_f32(ctx, 1, KN_N, strip, KN_N, Q, 0, W); /* W_j = Y_j' Q */
        add_product(ctx, w, strip, W);                   /* M += Y_j W_j */
        KN_TRY(tell(ctx, w, count));
    }
    if (w->centre)
        centre_columns(w->M);
out:
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
static kn_status polish(kn_ctx *ctx, kn_mat M, kn_mat with)
{
    kn_status status;
    kn_mat S = {0};
    KN_TRY(kn_mat_new(ctx, M.cols, M.cols, &S));
    kn_syrk(ctx, 1, KN_T, M, 0, S);
    KN_TRY(kn_chol(ctx, S, "the matrix of basis angles"));
    kn_trsm_right(ctx, KN_T, S, M);
    if (with.data)
        kn_trsm_right(ctx, KN_T, S, with);
out:
    kn_mat_clear(&S);
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
    KN_TRY(polish(ctx, w->M, kn_mat_none()));
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
static kn_status turn(kn_ctx *ctx, work *w, ptrdiff_t P, double *t, kn_mat *W, double *residual)
{
    kn_status status;
    kn_mat S = {0};
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

/* W = A'Q (T x k) into b->B and M = A W, both in double; |A|^2; the mean. */
static kn_status last_products(kn_ctx *ctx, work *w, kn_basis *b, double *mean)
{
    kn_status status;
    kn_mat buffer = {0}, ones = {0};
    kn_fmat_clear(&w->strip);
    KN_TRY(kn_mat_new(ctx, w->width, w->n, &buffer));
    KN_TRY(kn_mat_new(ctx, w->n, 1, &ones));
    for (ptrdiff_t i = 0; i < w->n; i++)
        ones.data[i] = 1;
    kn_mat_zero(w->M);
    for (ptrdiff_t j = 0; j < w->T; j += w->width) {
        ptrdiff_t count = smaller(w->width, w->T - j);
        kn_mat strip = kn_sub(buffer, 0, 0, count, w->n), W = kn_sub(b->B, j, 0, count, w->k);
        kn_mat m = {mean + j, count, 1, count};
        kn_responses_strip(ctx, w->Y, j, strip);
        if (w->centre) {
            kn_gemm(ctx, 1 / (double)w->n, KN_N, strip, KN_N, ones, 0, m);
            kn_gemm(ctx, -1, KN_N, m, KN_T, ones, 1, strip);
        }
        kn_gemm(ctx, 1, KN_N, strip, KN_N, w->Q, 0, W);
        kn_gemm(ctx, 1, KN_T, strip, KN_N, W, 1, w->M);
        b->total += kn_sumsq(strip);
        KN_TRY(tell(ctx, w, count));
    }
out:
    kn_mat_clear(&ones);
    kn_mat_clear(&buffer);
    return status;
}

/* B = W R^-1 and Z = M R^-1; then the best P of them. Z is what M became. */
static kn_status finish(kn_ctx *ctx, work *w, ptrdiff_t P, double *t, const double *mean,
                        kn_basis *b, kn_range_info *info)
{
    kn_status status;
    KN_TRY(turn(ctx, w, P, t, &b->B, &info->residual));
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
    KN_TRY(polish(ctx, b->B, w->M));
    b->Z = w->M;
    w->M = kn_mat_none();
    if (t[0] > WIDE * WIDE * t[found - 1]) {
        KN_TRY(kn_basis_project(ctx, w->Y, w->centre ? mean : NULL, b));
        info->readings++;
    }
    KN_TRY(kn_basis_ritz(ctx, b, found));
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    kn_basis_fix_signs(b);
    info->captured = kn_sumsq(b->Z) / b->total;
out:
    return status;
}

/* Centred, the responses' own means may as well go first: float32 then has no offset to carry. */
static void move_means(const kn_scaling *s, double *mean)
{
    for (ptrdiff_t j = 0; j < s->n_kept; j++)
        mean[j] += (s->mean0[j] - s->mean[j]) / s->sd[j];
}

kn_status kn_basis_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, const kn_range_options *o,
                         kn_basis *out, double *mean, kn_range_info *info)
{
    kn_status status;
    kn_scaling moved = *Y->scaling;
    kn_responses A = *Y;
    ptrdiff_t most = smaller(Y->N - (o->centre ? 1 : 0), Y->T);
    work w = {.Y = &A, .centre = o->centre, .n = Y->N, .T = Y->T};
    double *t = NULL, *own_mean = NULL;
    *out = (kn_basis){.pca = true};
    *info = (kn_range_info){.residual = INFINITY, .readings = 2};
    if (o->centre) {
        moved.mean = moved.mean0;
        A.scaling = &moved;
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
    KN_TRY(kn_alloc_d(ctx, Y->T, &own_mean));
    KN_TRY(work_new(ctx, &w));
    KN_TRY(sketch(ctx, o, &w));
    KN_TRY(orthonormal(ctx, &w));
    for (int pass = 0; pass < o->passes && info->residual > CONVERGED; pass++) {
        KN_TRY(power(ctx, &w));
        KN_TRY(turn(ctx, &w, P, t, NULL, &info->residual));
        KN_TRY(step(ctx, &w, t));
        info->readings++;
    }
    KN_TRY(kn_mat_new(ctx, Y->T, w.k, &out->B));
    KN_TRY(last_products(ctx, &w, out, own_mean));
    KN_TRY(finish(ctx, &w, P, t, own_mean, out, info));
    if (o->centre)
        move_means(Y->scaling, own_mean);
    for (ptrdiff_t j = 0; mean && j < Y->T; j++)
        mean[j] = own_mean[j];
out:
    kn_free(own_mean);
    kn_free(t);
    work_clear(&w);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}
