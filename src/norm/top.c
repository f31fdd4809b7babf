#include "norm/top.h"

#include <assert.h>
#include <math.h>

#include "base/parallel.h"
#include "norm/order.h"

enum { TRIM = 20 }; /* one value in twenty is dropped at each end */

ptrdiff_t kn_top_count(ptrdiff_t T, double fraction)
{
    ptrdiff_t k = (ptrdiff_t)floor(fraction * (double)T + 0.5);
    return k < 1 ? 1 : k < T ? k : T;
}

/* a: n >= k values, rearranged. */
static double trimmed_mean_of_largest(double *a, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t d = k / TRIM;
    double sum = 0;
    kn_select_largest(a, n, k);
    kn_select_largest(a, k, d);                 /* a[0 .. d-1]: the largest */
    kn_select_largest(a + d, k - d, k - 2 * d); /* a[k-d .. k-1]: the smallest */
    for (ptrdiff_t i = d; i < k - d; i++)
        sum += a[i];
    return sum / (double)(k - 2 * d);
}

double kn_top_signed(double *z, ptrdiff_t n, double fraction)
{
    return n > 0 ? trimmed_mean_of_largest(z, n, kn_top_count(n, fraction)) : NAN;
}

double kn_top(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j * stride]))
            work[n++] = fabs(z[j * stride]);
    return kn_top_signed(work, n, fraction);
}

double kn_top_f(const float *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j * stride]))
            work[n++] = fabs((double)z[j * stride]);
    return kn_top_signed(work, n, fraction);
}

typedef struct rows_job {
    const float *z;
    ptrdiff_t rows, T, lanes;
    double fraction, *work, *m; /* work: lanes x T */
} rows_job;

static void some_lanes(void *self, ptrdiff_t first, ptrdiff_t last)
{
    rows_job *job = self;
    for (ptrdiff_t lane = first; lane < last; lane++)
        for (ptrdiff_t i = lane; i < job->rows; i += job->lanes)
            job->m[i] =
                kn_top_f(job->z + i * job->T, 1, job->T, job->fraction, job->work + lane * job->T);
}

kn_status kn_top_rows(kn_ctx *ctx, const float *z, ptrdiff_t rows, ptrdiff_t T, double fraction,
                      double *m)
{
    ptrdiff_t lanes = kn_threads(ctx) < rows ? kn_threads(ctx) : rows;
    rows_job job = {.z = z, .rows = rows, .T = T, .lanes = lanes, .fraction = fraction, .m = m};
    kn_status status = kn_alloc_d(ctx, lanes * T, &job.work);
    if (status == KN_OK)
        kn_parallel(ctx, lanes, 1, some_lanes, &job);
    kn_free(job.work);
    return status;
}

void kn_top_rows_need(kn_rehearsal *r, ptrdiff_t rows, ptrdiff_t T, int threads)
{
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, kn_at_most(threads, rows), T);
    kn_let_go(r, mark);
}

kn_status kn_top_stream_init(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t T, double fraction,
                             kn_top_stream *s)
{
    kn_status status;
    *s = (kn_top_stream){.rows = rows, .fraction = fraction};
    if (!(fraction > 0 && fraction <= 1))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "top fraction is %g, expected above 0 and at most 1",
                       fraction);
    s->k = kn_top_count(T, fraction);
    KN_TRY(kn_mat_new(ctx, 2 * s->k, rows, &s->best));
    KN_TRY(kn_alloc_i(ctx, rows, &s->held));
    KN_TRY(kn_alloc_i(ctx, rows, &s->finite));
    KN_TRY(kn_alloc_d(ctx, rows, &s->bar));
out:
    if (status != KN_OK)
        kn_top_stream_clear(s);
    return status;
}

void kn_top_stream_need(kn_rehearsal *r, ptrdiff_t rows, ptrdiff_t T, double fraction)
{
    kn_hold_d(r, KN_NEED_REFERENCE, 2 * kn_top_count(T, fraction), rows);
    kn_hold_d(r, KN_NEED_REFERENCE, rows, 3);
}

void kn_top_stream_clear(kn_top_stream *s)
{
    kn_mat_clear(&s->best);
    kn_free(s->held);
    kn_free(s->finite);
    kn_free(s->bar);
    *s = (kn_top_stream){0};
}

typedef struct add_job {
    kn_top_stream *stream;
    kn_mat z;
} add_job;

static void take(kn_top_stream *s, ptrdiff_t i, double a)
{
    double *best = kn_col(s->best, i);
    best[s->held[i]++] = a;
    if (s->held[i] < s->best.rows)
        return;
    kn_select_largest(best, s->held[i], s->k);
    s->held[i] = s->k;
    s->bar[i] = best[0];
    for (ptrdiff_t l = 1; l < s->k; l++)
        s->bar[i] = fmin(s->bar[i], best[l]);
}

static void add_rows(void *self, ptrdiff_t first, ptrdiff_t last)
{
    add_job *job = self;
    kn_top_stream *s = job->stream;
    for (ptrdiff_t i = first; i < last; i++)
        s->finite[i] += job->z.cols;
    for (ptrdiff_t j = 0; j < job->z.cols; j++) {
        const double *z = kn_col(job->z, j);
        for (ptrdiff_t i = first; i < last; i++) {
            double a = fabs(z[i]);
            if (a < s->bar[i]) /* most of them; never one that is missing */
                continue;
            if (isfinite(a))
                take(s, i, a);
            else
                s->finite[i]--;
        }
    }
}

void kn_top_stream_add(kn_ctx *ctx, kn_top_stream *s, kn_mat z)
{
    enum { ROWS = 16 }; /* two cache lines of each column */
    assert(z.rows == s->rows);
    add_job job = {s, z};
    kn_parallel(ctx, s->rows, ROWS, add_rows, &job);
}

void kn_top_stream_result(kn_top_stream *s, double *m)
{
    for (ptrdiff_t i = 0; i < s->rows; i++)
        m[i] = s->finite[i] > 0 ? trimmed_mean_of_largest(kn_col(s->best, i), s->held[i],
                                                          kn_top_count(s->finite[i], s->fraction))
                                : NAN;
}
