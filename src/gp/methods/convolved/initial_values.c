/* Implements initial_values.h, and kn_conv_places of learn.h. */
#include "gp/methods/convolved/initial_values.h"

#include <math.h>
#include <stdlib.h>

#include "gp/methods/convolved/learn.h"
#include "la/la.h"

static const double JITTER = 1e-6; /* on the diagonal of K_uu: inducing inputs may be closer
                                    * than a width */
static const double RIDGE = 10;    /* as much noise as the signal of so many participants */
static const double LEAST = 0.05;  /* share of a task's standard deviation: the gradient
                                    * vanishes at S = 0 */
static const double ENOUGH = 1e-8; /* share of the trace: further pivots are rounding */
static const double STEP = 8;      /* factor between the widths of two starts */
enum { LOOKED_AT = 500 };          /* participants used for the median distance */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- inducing inputs ---- */

/* Quantiles (j + 1/2)/M of the values, without duplicates. */
static kn_status quantiles(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z)
{
    kn_status status;
    kn_mat sorted = {0};
    ptrdiff_t n = 0, N = X.rows;
    KN_TRY(kn_mat_copy(ctx, X, &sorted));
    qsort(sorted.data, (size_t)N, sizeof(double), by_size);
    KN_TRY(kn_mat_new(ctx, kn_min_size(M, N), 1, Z));
    for (ptrdiff_t j = 0; j < M; j++) {
        double at = ((double)j + 0.5) / (double)M * (double)N - 0.5;
        at = fmin(fmax(at, 0), (double)(N - 1));
        ptrdiff_t i = (ptrdiff_t)at;
        double next = sorted.data[i + 1 < N ? i + 1 : i], part = at - (double)i;
        double q = (1 - part) * sorted.data[i] + part * next;
        if (n == 0 || (q > Z->data[n - 1] && n < Z->rows))
            Z->data[n++] = q;
    }
    Z->rows = n;
out:
    kn_mat_clear(&sorted);
    return status;
}

typedef struct bumps {
    kn_mat X;
    double two_l2;
} bumps;

static void bump_column(void *self, ptrdiff_t j, double *column)
{
    const bumps *b = self;
    for (ptrdiff_t i = 0; i < b->X.rows; i++) {
        double d2 = 0;
        for (ptrdiff_t f = 0; f < b->X.cols; f++)
            d2 += (kn_at(b->X, i, f) - kn_at(b->X, j, f)) * (kn_at(b->X, i, f) - kn_at(b->X, j, f));
        column[i] = exp(-d2 / b->two_l2);
    }
}

/* Median of the squared distances between at most LOOKED_AT rows of X; work holds the distances. */
static double median_distance2(kn_mat X, double *work)
{
    ptrdiff_t stride = (X.rows + LOOKED_AT - 1) / LOOKED_AT, n = 0;
    for (ptrdiff_t i = 0; i < X.rows; i += stride)
        for (ptrdiff_t j = 0; j < i; j += stride) {
            double d2 = 0;
            for (ptrdiff_t f = 0; f < X.cols; f++)
                d2 += (kn_at(X, i, f) - kn_at(X, j, f)) * (kn_at(X, i, f) - kn_at(X, j, f));
            work[n++] = d2;
        }
    qsort(work, (size_t)n, sizeof *work, by_size);
    for (ptrdiff_t k = n / 2; k < n; k++) /* the median is 0 if half of the participants are
                                           * equal */
        if (work[k] > 0)
            return work[k];
    return 1;
}

static kn_status median(kn_ctx *ctx, kn_mat X, double *out)
{
    double *work = NULL;
    ptrdiff_t n = kn_min_size(X.rows, LOOKED_AT);
    kn_status status = kn_alloc_d(ctx, n * n, &work);
    if (status == KN_OK)
        *out = median_distance2(X, work);
    kn_free(work);
    return status;
}

kn_status kn_conv_places(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z)
{
    kn_status status;
    kn_mat L = {0};
    double *diag = NULL, residual, distance2;
    ptrdiff_t *pivot = NULL, rank, most = kn_min_size(M, X.rows);
    bumps b = {.X = X};
    if (X.cols == 1)
        return quantiles(ctx, X, M, Z);
    KN_TRY(median(ctx, X, &distance2));
    b.two_l2 = 2 * distance2;
    KN_TRY(kn_mat_new(ctx, X.rows, most, &L));
    KN_TRY(kn_alloc_d(ctx, X.rows, &diag));
    KN_TRY(kn_alloc_i(ctx, most, &pivot));
    for (ptrdiff_t i = 0; i < X.rows; i++)
        diag[i] = 1;
    KN_TRY(kn_pivoted_chol(ctx, diag, bump_column, &b, ENOUGH, L, pivot, &rank, &residual));
    KN_TRY(kn_mat_new(ctx, rank, X.cols, Z));
    kn_mat_rows(X, pivot, *Z);
out:
    kn_mat_clear(&L);
    kn_free(diag);
    kn_free(pivot);
    return status;
}

/* ---- scale and start ---- */

kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out)
{
    static const double LEAST_SHARE = 1e-10; /* share of the largest variance below which it is
                                              * rounding */
    kn_status status;
    double most = 0;
    *out = (kn_conv_scale){0};
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->variance));
    KN_TRY(median(ctx, X, &out->distance2));
    for (ptrdiff_t t = 0; t < Y.cols; t++) {
        out->variance[t] = kn_sumsq(kn_cols(Y, t, 1)) / (double)Y.rows;
        most = fmax(most, out->variance[t]);
    }
    for (ptrdiff_t t = 0; t < Y.cols; t++)
        out->variance[t] = fmax(out->variance[t], most > 0 ? LEAST_SHARE * most : 1);
out:
    return status;
}

void kn_conv_scale_clear(kn_conv_scale *s)
{
    kn_free(s->variance);
    *s = (kn_conv_scale){0};
}

/* Ridge regression on H = K L^-T (N x M): w (M x T) = (H'H + RIDGE)^-1 H'Y/sd; e (M x M)
 * eigenvectors of ww', ascending; size (M) root mean square of H e_q. */
typedef struct smooth {
    kn_mat H, w, L, e, G, h;
    double *size, *value;
} smooth;

static void smooth_clear(smooth *s)
{
    kn_mat_clear(&s->H);
    kn_mat_clear(&s->w);
    kn_mat_clear(&s->L);
    kn_mat_clear(&s->e);
    kn_mat_clear(&s->G);
    kn_mat_clear(&s->h);
    kn_free(s->size);
    kn_free(s->value);
}

/* Computes the features H of the ridge regression for one width. */
static kn_status features(kn_ctx *ctx, const kn_conv_data *d, double width, smooth *s)
{
    kn_status status;
    ptrdiff_t N = d->fu.rows, M = d->fu.cols;
    kn_conv one = {0};
    KN_TRY(kn_conv_new(ctx, 1, 1, M, 1, &one));
    one.S.data[0] = 1;
    one.tau.data[0] = one.nu[0] = width;
    one.jitter = JITTER;
    KN_TRY(kn_mat_new(ctx, N, M, &s->H));
    KN_TRY(kn_mat_new(ctx, M, M, &s->L));
    kn_conv_cross(&one, 0, d->fu, s->H);
    kn_conv_inducing(&one, d->uu, s->L);
    KN_TRY(kn_chol(ctx, s->L, "the covariance of the inducing values"));
    kn_trsm_right(ctx, KN_T, s->L, s->H);
out:
    kn_conv_clear(&one);
    return status;
}

/* Ridge regression of all tasks, and the principal directions of its coefficients. */
static kn_status directions(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale,
                            smooth *s)
{
    kn_status status;
    ptrdiff_t N = d->fu.rows, M = d->fu.cols, T = d->Y.cols;
    KN_TRY(kn_mat_new(ctx, M, T, &s->w));
    KN_TRY(kn_mat_new(ctx, M, M, &s->G));
    KN_TRY(kn_mat_new(ctx, M, M, &s->e));
    KN_TRY(kn_mat_new(ctx, N, 1, &s->h));
    KN_TRY(kn_alloc_d(ctx, M, &s->size));
    KN_TRY(kn_alloc_d(ctx, M, &s->value));
    kn_gemm(ctx, 1, KN_T, s->H, KN_N, d->Y, 0, s->w);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t i = 0; i < M; i++)
            kn_col(s->w, t)[i] /= sqrt(scale->variance[t]);
    kn_syrk(ctx, 1, KN_T, s->H, 0, s->G);
    for (ptrdiff_t i = 0; i < M; i++)
        kn_col(s->G, i)[i] += RIDGE;
    KN_TRY(kn_chol(ctx, s->G, "the start of convolved processes"));
    kn_trsm_left(ctx, KN_N, s->G, s->w);
    kn_trsm_left(ctx, KN_T, s->G, s->w);
    kn_syrk(ctx, 1, KN_N, s->w, 0, s->e);
    KN_TRY(kn_eig_reproducible(ctx, s->e, s->value));
    for (ptrdiff_t q = 0; q < M; q++) { /* |H e_q|^2/N = e_q'H'H e_q/N */
        kn_gemm(ctx, 1, KN_N, s->H, KN_N, kn_cols(s->e, q, 1), 0, s->h);
        s->size[q] = sqrt(kn_sumsq(s->h) / (double)N);
    }
out:
    return status;
}

kn_status kn_conv_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale, int number,
                        kn_conv *c)
{
    kn_status status;
    smooth s = {0};
    ptrdiff_t M = c->M;
    double width = scale->distance2 * pow(STEP, (number % 2 ? -1 : 1) * ((number + 1) / 2));
    KN_TRY(features(ctx, d, width, &s));
    KN_TRY(directions(ctx, d, scale, &s));
    c->jitter = JITTER;
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->s2[t] = scale->variance[t];
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        const double *e = q < M ? kn_col(s.e, M - 1 - q) : NULL;
        c->nu[q] = width * pow(0.5, (double)q);
        for (ptrdiff_t t = 0; t < c->T; t++) {
            double S = 0, least = LEAST * (t % 2 && !e ? -1 : 1), v = scale->variance[t];
            for (ptrdiff_t i = 0; e && i < M; i++)
                S += e[i] * kn_at(s.w, i, t) * s.size[M - 1 - q];
            S = fabs(S) < LEAST ? (S < 0 ? -least : least) : S;
            kn_col(c->S, q)[t] = S * sqrt(v);
            kn_col(c->tau, q)[t] = c->nu[q];
            c->s2[t] = fmax(c->s2[t] - S * S * v, v / 2);
        }
    }
out:
    smooth_clear(&s);
    return status;
}

void kn_conv_places_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F, ptrdiff_t M)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t n = kn_min_size(N, LOOKED_AT);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, n); /* distances; also for the scale */
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, N, F > 1 ? kn_min_size(M, N) + 2 : 1);
    kn_plan_free_to(r, mark);
}

void kn_conv_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, N, M + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, M, T + 3 * M + 2);
    kn_eig_need(r, KN_NEED_WORK, M);
    kn_plan_free_to(r, mark);
}
