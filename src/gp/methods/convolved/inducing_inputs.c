/* Chooses the inducing inputs of convolved processes [METHOD 1i]: quantiles of a single covariate,
 * else the pivots of a Cholesky factor, at most M participants that are far from each other. Also
 * the typical distance between participants. Deterministic. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "cov/pairs.h"
#include "la/la.h"
#include "stats/order_statistics.h"

static const double ENOUGH = 1e-8; /* proportion of the trace: further pivots are rounding */
enum { DISTANCE_SAMPLE = 500 };    /* participants used for the median distance */

/* Chooses at most M inducing inputs for one continuous covariate X (N x 1): the quantiles (j +
 * 1/2)/M of its values, without duplicates, as *Z (m x 1, owned by the caller). */
static kn_status choose_quantiles(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z)
{
    kn_status status;
    kn_mat sorted = {0};
    ptrdiff_t n = 0, N = X.rows;
    KN_TRY(kn_mat_copy(ctx, X, &sorted));
    kn_sort(sorted.data, N);
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

/* Column function of the pivoted Cholesky factor (self: bumps): writes column j of the
 * squared-exponential covariance between the N rows of X. */
static void compute_bump_column(void *self, ptrdiff_t j, double *column)
{
    const bumps *b = self;
    for (ptrdiff_t i = 0; i < b->X.rows; i++) {
        double d2 = 0;
        for (ptrdiff_t f = 0; f < b->X.cols; f++)
            d2 += (kn_at(b->X, i, f) - kn_at(b->X, j, f)) * (kn_at(b->X, i, f) - kn_at(b->X, j, f));
        column[i] = exp(-d2 / b->two_l2);
    }
}

/* Returns the median of the squared distances between the n rows of X, the smallest positive one
 * above it if that is 0, or 1 if all rows are equal. work: n (n - 1)/2 doubles. */
static double find_median_distance2(kn_mat X, double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t j = 0; j < i; j++) {
            double d2 = 0;
            for (ptrdiff_t f = 0; f < X.cols; f++)
                d2 += (kn_at(X, i, f) - kn_at(X, j, f)) * (kn_at(X, i, f) - kn_at(X, j, f));
            work[n++] = d2;
        }
    kn_sort(work, n);
    for (ptrdiff_t k = n / 2; k < n; k++) /* the median is 0 if half of the participants are
                                           * equal */
        if (work[k] > 0)
            return work[k];
    return 1;
}

/* Copies at most DISTANCE_SAMPLE rows of X (N x F), evenly spaced in the order of their values,
 * to *sampled (owned by the caller): the same rows for any order of participants. */
static kn_status sample_rows(kn_ctx *ctx, kn_mat X, kn_mat *sampled)
{
    kn_status status;
    ptrdiff_t stride = (X.rows + DISTANCE_SAMPLE - 1) / DISTANCE_SAMPLE;
    ptrdiff_t *place = NULL, *row = NULL;
    KN_TRY(kn_alloc_i(ctx, X.rows, &place));
    KN_TRY(kn_alloc_i(ctx, X.rows, &row));
    KN_TRY(kn_row_places(ctx, X, place));
    for (ptrdiff_t i = 0; i < X.rows; i++)
        if (place[i] % stride == 0)
            row[place[i] / stride] = i;
    KN_TRY(kn_mat_new(ctx, (X.rows + stride - 1) / stride, X.cols, sampled));
    kn_mat_rows(X, row, *sampled);
out:
    kn_free(row);
    kn_free(place);
    return status;
}

kn_status kn_conv_distance_scale(kn_ctx *ctx, kn_mat X, double *out)
{
    kn_status status;
    double *work = NULL;
    kn_mat sampled = {0};
    KN_TRY(sample_rows(ctx, X, &sampled));
    KN_TRY(kn_alloc_d(ctx, sampled.rows * sampled.rows, &work));
    *out = find_median_distance2(sampled, work);
out:
    kn_mat_clear(&sampled);
    kn_free(work);
    return status;
}

kn_status kn_conv_choose_inputs(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z)
{
    kn_status status;
    kn_mat L = {0};
    double *diag = NULL, residual, distance2;
    ptrdiff_t *pivot = NULL, *place = NULL, rank, limit = kn_min_size(M, X.rows);
    bumps b = {.X = X};
    if (X.cols == 1)
        return choose_quantiles(ctx, X, M, Z);
    KN_TRY(kn_alloc_i(ctx, X.rows, &place));
    KN_TRY(kn_row_places(ctx, X, place));
    KN_TRY(kn_conv_distance_scale(ctx, X, &distance2));
    b.two_l2 = 2 * distance2;
    KN_TRY(kn_mat_new(ctx, X.rows, limit, &L));
    KN_TRY(kn_alloc_d(ctx, X.rows, &diag));
    KN_TRY(kn_alloc_i(ctx, limit, &pivot));
    for (ptrdiff_t i = 0; i < X.rows; i++)
        diag[i] = 1;
    KN_TRY(kn_pivoted_chol(ctx, diag, place, compute_bump_column, &b, ENOUGH, L, pivot, &rank,
                           &residual));
    KN_TRY(kn_mat_new(ctx, rank, X.cols, Z));
    kn_mat_rows(X, pivot, *Z);
out:
    kn_mat_clear(&L);
    kn_free(diag);
    kn_free(pivot);
    kn_free(place);
    return status;
}

void kn_conv_choose_inputs_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F, ptrdiff_t M)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t n = kn_min_size(N, DISTANCE_SAMPLE);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, n + F); /* distances; also for the scale */
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, N, F > 1 ? kn_min_size(M, N) + 3 : 4);
    kn_plan_free_to(r, mark);
}
