/* Start of the imputation: responses are sorted by their pattern of observed rows, and each
 * pattern is decomposed once. The rounds of impute.c begin with these values. */
#include "gp/missing/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/likelihood/profile_1d.h"
#include "la/la.h"

enum { TOGETHER = 256 }; /* responses of one pattern per product */

/* ---- responses with the same observed rows ---- */

typedef struct pattern {
    uint64_t hash;
    ptrdiff_t response, missing; /* missing: number of missing cells in these rows */
} pattern;

/* Comparison for qsort: patterns by hash, then by response. */
static int compare_hashes(const void *a, const void *b)
{
    const pattern *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->response > y->response) - (x->response < y->response);
}

static uint64_t mix_bits(uint64_t x) /* the finaliser of MurmurHash3 */
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

/* Sets *out to the hash and the number of the missing cells of response j, among the rows in use
 * (bit mask). */
static void hash_pattern(const kn_missing_mask *h, const uint64_t *in_use, ptrdiff_t j,
                         pattern *out)
{
    *out = (pattern){.response = j};
    for (ptrdiff_t w = 0; w < h->words; w++) {
        uint64_t bits = h->bits[j * h->words + w] & in_use[w];
        out->hash = mix_bits(out->hash ^ mix_bits(bits + (uint64_t)w));
        out->missing += __builtin_popcountll(bits);
    }
}

/* True if responses a and b have the same missing rows, among those in use. */
static bool is_same_pattern(const kn_missing_mask *h, const uint64_t *in_use, ptrdiff_t a,
                            ptrdiff_t b)
{
    for (ptrdiff_t w = 0; w < h->words; w++)
        if (((h->bits[a * h->words + w] ^ h->bits[b * h->words + w]) & in_use[w]) != 0)
            return false;
    return true;
}

typedef struct starting {
    const kn_impute_problem *p;
    const ptrdiff_t *place;
    double *imputed, *delta;
    uint64_t *in_use;      /* bit mask of the rows of the data in use */
    pattern *pattern;      /* T  sorted by hash */
    kn_block_features all; /* of Phi, if it has a block */
} starting;

/* Sorts the responses by the pattern of their missing rows into s->pattern (T), so that equal
 * patterns share one decomposition. */
static kn_status find_patterns(kn_ctx *ctx, starting *s)
{
    kn_status status;
    const kn_missing_mask *h = s->p->Y.missing;
    void *memory;
    KN_TRY(kn_alloc(ctx, h->words, sizeof *s->in_use, &memory));
    s->in_use = memory;
    KN_TRY(kn_alloc(ctx, h->T, sizeof *s->pattern, &memory));
    s->pattern = memory;
    for (ptrdiff_t i = 0; i < h->N; i++)
        if (s->place[i] >= 0)
            s->in_use[i / 64] |= UINT64_C(1) << (i % 64);
    for (ptrdiff_t j = 0; j < h->T; j++)
        hash_pattern(h, s->in_use, j, &s->pattern[j]);
    qsort(s->pattern, (size_t)h->T, sizeof *s->pattern, compare_hashes);
out:
    return status;
}

/* ---- one pattern ---- */

kn_status kn_impute_decompose(kn_ctx *ctx, kn_mat Phi, kn_mat *U, double **r)
{
    kn_status status;
    ptrdiff_t n = Phi.rows, m = Phi.cols, size = n < m ? n : m, k = 0;
    kn_mat S = {0};
    double *w = NULL;
    KN_TRY(kn_mat_new(ctx, size, size, &S));
    KN_TRY(kn_alloc_d(ctx, size, &w));
    KN_TRY(kn_alloc_d(ctx, size, r));
    kn_syrk(ctx, 1, n < m ? KN_N : KN_T, Phi, 0, S);
    KN_TRY(kn_eig(ctx, S, w));
    double lowest = (double)size * DBL_EPSILON * w[size - 1];
    while (k < size && !(w[k] > lowest))
        k++;
    kn_mat W = kn_cols(S, k, size - k);
    KN_TRY(kn_mat_new(ctx, n, W.cols, U));
    if (n < m)
        kn_mat_set(*U, W);
    else
        kn_gemm(ctx, 1, KN_N, Phi, KN_N, W, 0, *U);
    for (ptrdiff_t i = 0; i < W.cols; i++) {
        (*r)[i] = w[k + i];
        for (ptrdiff_t row = 0; n >= m && row < n; row++)
            kn_col(*U, i)[row] /= sqrt(w[k + i]); /* Phi W r^-1/2 */
    }
out:
    kn_free(w);
    kn_mat_clear(&S);
    return status;
}

typedef struct pattern_work { /* work space of one pattern */
    ptrdiff_t n, *row;        /* observed rows */
    kn_mat U, to_all;         /* n x k; N x k  Phi Phi_o'U */
    double *r;                /* k */
    kn_mat y, A, A2, g;       /* N, k, k, N rows by at most TOGETHER columns */
    double *c, *d, *lml, *rest, *mean;
} pattern_work;

/* Frees the work of one pattern. */
static void pattern_work_clear(pattern_work *o)
{
    kn_mat *m[] = {&o->U, &o->to_all, &o->y, &o->A, &o->A2, &o->g};
    double *d[] = {o->r, o->c, o->d, o->lml, o->rest, o->mean};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    for (size_t k = 0; k < sizeof d / sizeof *d; k++)
        kn_free(d[k]);
    kn_free(o->row);
}

/* Sets U, r and to_all of a pattern with features Phi in its rows. Fewer rows than features are
 * decomposed without a block. */
static kn_status decompose_pattern(kn_ctx *ctx, const starting *s, kn_mat Phi, pattern_work *o)
{
    kn_status status;
    kn_mat cross = {0};
    kn_block_features some = {0};
    bool block = s->all.block.count > 0 && Phi.rows >= Phi.cols;
    if (block) {
        KN_TRY(kn_block_features_new(ctx, &s->all.block, Phi, &some));
        KN_TRY(kn_block_features_decompose(ctx, &some, &o->U, &o->r));
    } else {
        KN_TRY(kn_impute_decompose(ctx, Phi, &o->U, &o->r));
    }
    KN_TRY(kn_mat_new(ctx, Phi.cols, o->U.cols, &cross));
    KN_TRY(kn_mat_new(ctx, s->p->Phi.rows, o->U.cols, &o->to_all));
    if (block) {
        kn_block_features_transposed(ctx, &some, o->U, cross);
        kn_block_features_times(ctx, &s->all, cross, o->to_all);
    } else {
        kn_gemm(ctx, 1, KN_T, Phi, KN_N, o->U, 0, cross);
        kn_gemm(ctx, 1, KN_N, s->p->Phi, KN_N, cross, 0, o->to_all);
    }
out:
    kn_block_features_clear(&some);
    kn_mat_clear(&cross);
    return status;
}

/* Prepares the work of the `count` responses that share the missing rows of response j: the rows
 * with a value, decomposition of their covariance (U, r), the map to all rows (N x k), and
 * buffers for at most TOGETHER responses. On error o is partly filled; the caller clears it. */
static kn_status pattern_work_new(kn_ctx *ctx, const starting *s, ptrdiff_t j, ptrdiff_t count,
                                  pattern_work *o)
{
    kn_status status;
    const kn_responses *Y = &s->p->Y;
    kn_mat Phi = {0};
    ptrdiff_t width = count < TOGETHER ? count : TOGETHER;
    double **numbers[] = {&o->c, &o->d, &o->lml, &o->rest, &o->mean};
    KN_TRY(kn_alloc_i(ctx, Y->N, &o->row));
    for (ptrdiff_t i = 0; i < Y->N; i++)
        if (!kn_is_missing(Y->missing, Y->rows ? Y->rows[i] : i, j))
            o->row[o->n++] = i;
    KN_TRY(kn_mat_new(ctx, o->n, s->p->Phi.cols, &Phi));
    kn_mat_rows(s->p->Phi, o->row, Phi);
    KN_TRY(decompose_pattern(ctx, s, Phi, o));
    KN_TRY(kn_mat_new(ctx, Y->N, width, &o->y));
    KN_TRY(kn_mat_new(ctx, o->U.cols, width, &o->A));
    KN_TRY(kn_mat_new(ctx, o->U.cols, width, &o->A2));
    KN_TRY(kn_mat_new(ctx, Y->N, width, &o->g));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        KN_TRY(kn_alloc_d(ctx, width, numbers[k]));
out:
    kn_mat_clear(&Phi);
    return status;
}

/* Compacts y (N x width) to its first n rows, the observed ones, and subtracts their mean, which
 * goes to o->mean[j]; o->rest[j] becomes the energy. */
static void centre_available(pattern_work *o, ptrdiff_t width)
{
    for (ptrdiff_t j = 0; j < width; j++) {
        double *y = kn_col(o->y, j), mean = 0, energy = 0;
        for (ptrdiff_t i = 0; i < o->n; i++)
            mean += y[o->row[i]] / (double)o->n;
        for (ptrdiff_t i = 0; i < o->n; i++) {
            y[i] = y[o->row[i]] - mean; /* rows ascend: no overwritten row is read */
            energy += y[i] * y[i];
        }
        o->mean[j] = mean;
        o->rest[j] = energy;
    }
}

/* Estimates delta (width), noise over signal, of the centred responses and computes their
 * predicted values o->g (N x width, without the mean) in all rows; delta infinity: no signal. */
static kn_status smooth_responses(kn_ctx *ctx, pattern_work *o, ptrdiff_t width, double *delta)
{
    kn_status status;
    ptrdiff_t k = o->U.cols;
    kn_mat A = kn_cols(o->A, 0, width), A2 = kn_cols(o->A2, 0, width);
    kn_gemm(ctx, 1, KN_T, o->U, KN_N, kn_sub(o->y, 0, 0, o->n, width), 0, A);
    for (ptrdiff_t j = 0; j < width; j++) {
        delta[j] = o->rest[j]; /* temporarily the energy */
        for (ptrdiff_t i = 0; i < k; i++) {
            kn_col(A2, j)[i] = kn_at(A, i, j) * kn_at(A, i, j);
            o->rest[j] -= kn_at(A2, i, j);
        }
        o->rest[j] = fmax(o->rest[j], 0);
    }
    KN_TRY(kn_profile(ctx, k, o->r, o->n - k, A2, o->n > k ? o->rest : NULL, o->c, o->d, o->lml));
    for (ptrdiff_t j = 0; j < width; j++) {
        /* standardised: equal values up to rounding */
        bool varies = delta[j] > (double)o->n * 1e-20;
        delta[j] = varies && o->c[j] > 0 ? o->d[j] / o->c[j] : INFINITY;
        for (ptrdiff_t i = 0; i < k; i++)
            kn_col(A, j)[i] /= o->r[i] + delta[j];
    }
    kn_gemm(ctx, 1, KN_N, o->to_all, KN_N, A, 0, kn_cols(o->g, 0, width));
out:
    return status;
}

/* Sets the imputed values of response j to value, plus g[i] of each participant (N; g may be
 * NULL). */
static void write_response(const starting *s, ptrdiff_t j, double value, const double *g)
{
    const kn_responses *Y = &s->p->Y;
    for (ptrdiff_t i = 0; i < Y->N; i++) {
        ptrdiff_t row = Y->rows ? Y->rows[i] : i;
        if (kn_is_missing(Y->missing, row, j))
            s->imputed[kn_missing_at(Y->missing, row, j)] = value + (g ? g[i] : 0);
    }
}

/* Imputes `count` responses with too few values (patterns from `first` on) by their mean only;
 * without any value by 0, the mean of all participants. */
static kn_status impute_means(kn_ctx *ctx, const starting *s, const pattern *first, ptrdiff_t count)
{
    kn_status status;
    kn_responses given = kn_responses_as_given(&s->p->Y);
    kn_mat y = {0};
    KN_TRY(kn_mat_new(ctx, given.N, 1, &y));
    for (ptrdiff_t k = 0; k < count; k++) {
        ptrdiff_t n = 0;
        double sum = 0;
        kn_responses_columns(ctx, &given, &first[k].response, y);
        for (ptrdiff_t i = 0; i < given.N; i++)
            if (isfinite(y.data[i])) {
                sum += y.data[i];
                n++;
            }
        write_response(s, first[k].response, n > 0 ? sum / (double)n : 0, NULL);
        s->delta[first[k].response] = INFINITY;
    }
out:
    kn_mat_clear(&y);
    return status;
}

/* Gives the missing cells of `count` responses with the same missing rows (first .. first +
 * count - 1) their start values, each response from its own values smoothed over R0 (covariance
 * between participants), and sets its delta in s->delta; from its mean alone if fewer than
 * KN_IMPUTE_MIN values are there. KN_ERR_MEMORY. */
static kn_status start_pattern(kn_ctx *ctx, const starting *s, const pattern *first,
                               ptrdiff_t count)
{
    kn_status status = KN_OK;
    pattern_work o = {0};
    kn_responses given = kn_responses_as_given(&s->p->Y);
    ptrdiff_t index[TOGETHER];
    double delta[TOGETHER];
    if (given.N - first->missing < KN_IMPUTE_MIN)
        return impute_means(ctx, s, first, count);
    KN_TRY(pattern_work_new(ctx, s, first->response, count, &o));
    for (ptrdiff_t k = 0; k < count; k += TOGETHER) {
        ptrdiff_t width = count - k < TOGETHER ? count - k : TOGETHER;
        for (ptrdiff_t j = 0; j < width; j++)
            index[j] = first[k + j].response;
        kn_responses_columns(ctx, &given, index, kn_cols(o.y, 0, width));
        centre_available(&o, width);
        KN_TRY(smooth_responses(ctx, &o, width, delta));
        for (ptrdiff_t j = 0; j < width; j++) {
            s->delta[index[j]] = delta[j];
            if (first->missing > 0)
                write_response(s, index[j], o.mean[j], kn_col(o.g, j));
        }
    }
out:
    pattern_work_clear(&o);
    return status;
}

kn_status kn_impute_start(kn_ctx *ctx, const kn_impute_problem *p, const ptrdiff_t *place,
                          double *imputed, double *delta)
{
    kn_status status;
    starting s = {.p = p, .place = place, .imputed = imputed, .delta = delta};
    const kn_missing_mask *h = p->Y.missing;
    KN_TRY(find_patterns(ctx, &s));
    if (p->block.count > 0)
        KN_TRY(kn_block_features_new(ctx, &p->block, p->Phi, &s.all));
    for (ptrdiff_t k = 0, n; k < h->T; k += n) {
        for (n = 1; k + n < h->T && s.pattern[k + n].hash == s.pattern[k].hash &&
                    is_same_pattern(h, s.in_use, s.pattern[k].response, s.pattern[k + n].response);)
            n++;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(start_pattern(ctx, &s, &s.pattern[k], n));
    }
out:
    kn_block_features_clear(&s.all);
    kn_free(s.in_use);
    kn_free(s.pattern);
    return status;
}
