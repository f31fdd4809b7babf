/* Implements extreme_statistic.h: selection for one map, and a stream of candidates for all
 * participants. The stream finds the statistic from blocks of responses, without whole maps. */
#include "norm/metrics/extreme_statistic.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "stats/order_statistics.h"

enum { TRIM = 20 }; /* one value in twenty is trimmed at each end */

ptrdiff_t kn_extreme_count(ptrdiff_t T, double fraction)
{
    ptrdiff_t k = (ptrdiff_t)floor(fraction * (double)T + 0.5);
    return k < 1 ? 1 : k < T ? k : T;
}

/* Mean of the k largest of a[n] without the k/20 largest and k/20 smallest of them; a is reordered.
 * The sum is in ascending order, so its bits do not depend on the input order. */
static double trimmed_mean_of_largest(double *a, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t d = k / TRIM;
    double sum = 0;
    kn_select_largest(a, n, k);
    kn_sort(a, k);
    for (ptrdiff_t i = d; i < k - d; i++)
        sum += a[i];
    return sum / (double)(k - 2 * d);
}

double kn_extreme_signed(double *z, ptrdiff_t n, double fraction)
{
    return n > 0 ? trimmed_mean_of_largest(z, n, kn_extreme_count(n, fraction)) : NAN;
}

double kn_extreme(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j * stride]))
            work[n++] = fabs(z[j * stride]);
    return kn_extreme_signed(work, n, fraction);
}

double kn_extreme_f(const float *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j * stride]))
            work[n++] = fabs((double)z[j * stride]);
    return kn_extreme_signed(work, n, fraction);
}

typedef struct rows_job {
    const float *z;
    ptrdiff_t rows, T, lanes;
    double fraction, *work, *m; /* work: lanes x T */
} rows_job;

/* Worker of kn_extreme_rows() (job in self): statistic m of rows lane, lane + lanes, ..., for lanes
 * first .. last - 1. Each lane has T doubles of work space. */
static void compute_lanes(void *self, ptrdiff_t first, ptrdiff_t last)
{
    rows_job *job = self;
    for (ptrdiff_t lane = first; lane < last; lane++)
        for (ptrdiff_t i = lane; i < job->rows; i += job->lanes)
            job->m[i] = kn_extreme_f(job->z + i * job->T, 1, job->T, job->fraction,
                                     job->work + lane * job->T);
}

kn_status kn_extreme_rows(kn_ctx *ctx, const float *z, ptrdiff_t rows, ptrdiff_t T, double fraction,
                          double *m)
{
    ptrdiff_t lanes = kn_threads(ctx) < rows ? kn_threads(ctx) : rows;
    rows_job job = {.z = z, .rows = rows, .T = T, .lanes = lanes, .fraction = fraction, .m = m};
    kn_status status = kn_alloc_d(ctx, lanes * T, &job.work);
    if (status == KN_OK)
        kn_parallel(ctx, lanes, 1, compute_lanes, &job);
    kn_free(job.work);
    return status;
}

void kn_extreme_rows_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, int threads)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(threads, rows), T);
    kn_plan_free_to(r, mark);
}

kn_status kn_extreme_stream_init(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t T, double fraction,
                                 kn_extreme_stream *s)
{
    kn_status status;
    *s = (kn_extreme_stream){.rows = rows, .fraction = fraction};
    if (!(fraction > 0 && fraction <= 1))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "top fraction is %g; it must be above 0 and at most 1",
                       fraction);
    s->k = kn_extreme_count(T, fraction);
    KN_TRY(kn_mat_new(ctx, 2 * s->k, rows, &s->best));
    KN_TRY(kn_alloc_i(ctx, rows, &s->n_candidates));
    KN_TRY(kn_alloc_i(ctx, rows, &s->finite));
    KN_TRY(kn_alloc_d(ctx, rows, &s->bar));
out:
    if (status != KN_OK)
        kn_extreme_stream_clear(s);
    return status;
}

void kn_extreme_stream_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction)
{
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, 2 * kn_extreme_count(T, fraction), rows);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, rows, 3);
}

void kn_extreme_stream_clear(kn_extreme_stream *s)
{
    kn_mat_clear(&s->best);
    kn_free(s->n_candidates);
    kn_free(s->finite);
    kn_free(s->bar);
    *s = (kn_extreme_stream){0};
}

typedef struct add_job {
    kn_extreme_stream *stream;
    kn_mat z;
} add_job;

/* Number of entries of x (n) that are at least `bar`. */
static ptrdiff_t count_at_least(const double *x, ptrdiff_t n, double bar)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t l = 0; l < n; l++)
        count += x[l] >= bar;
    return count;
}

/* Reduce the candidates of participant i to the k largest |z| and at most k/4 more, and raise its
 * bar. Bisection finds the bar without data-dependent branches; which smaller values are removed
 * does not matter. */
static void drop_candidates(kn_extreme_stream *s, ptrdiff_t i)
{
    enum { TRIES = 24, SLACK = 4 };
    double *best = kn_col(s->best, i), low = INFINITY, high = 0;
    ptrdiff_t n = s->n_candidates[i], kept = 0, count = n, limit = s->k + s->k / SLACK;
    for (ptrdiff_t l = 0; l < n; l++) {
        low = best[l] < low ? best[l] : low;
        high = best[l] > high ? best[l] : high;
    }
    double bar = low;
    for (int t = 0; t < TRIES && count > limit;
         t++) { /* invariant: count_at_least(low) = count >= k > count_at_least(high) */
        double middle = low + (high - low) / 2;
        ptrdiff_t here = count_at_least(best, n, middle);
        if (here >= s->k) {
            low = bar = middle;
            count = here;
        } else {
            high = middle;
        }
    }
    if (count > limit) { /* many equal values */
        kn_select_largest(best, n, s->k);
        s->n_candidates[i] = s->k;
        for (ptrdiff_t l = 0; l < s->k; l++)
            bar = l == 0 ? best[l] : fmin(bar, best[l]);
    } else {
        for (ptrdiff_t l = 0; l < n; l++) {
            double a = best[l];
            best[kept] = a;
            kept += a >= bar;
        }
        s->n_candidates[i] = kept;
    }
    s->bar[i] = bar;
}

/* Append a = |z| to the candidates of participant i, which are reduced when their store is full. */
static void add_candidate(kn_extreme_stream *s, ptrdiff_t i, double a)
{
    kn_col(s->best, i)[s->n_candidates[i]++] = a;
    if (s->n_candidates[i] == s->best.rows)
        drop_candidates(s, i);
}

/* Worker of kn_extreme_stream_add(): adds participants first .. last - 1 of the block. Branch-free:
 * every value is written behind the candidates, and stays if it reaches the bar. About a third do,
 * so branches would often be mispredicted. */
static void add_rows(void *self, ptrdiff_t first, ptrdiff_t last)
{
    enum { AHEAD = 12, LINE = 8 }; /* columns; doubles of a cache line */
    add_job *job = self;
    kn_extreme_stream *s = job->stream;
    const kn_mat best = s->best;
    ptrdiff_t *n_candidates = s->n_candidates, *seen = s->finite;
    const double *bar = s->bar;
    for (ptrdiff_t j = 0; j < job->z.cols; j++) {
        const double *z = kn_col(job->z, j);
        if (j + AHEAD < job->z.cols) /* the strides are too large for the hardware prefetcher */
            for (ptrdiff_t i = first; i < last; i += LINE)
                __builtin_prefetch(kn_col(job->z, j + AHEAD) + i);
        for (ptrdiff_t i = first; i < last; i++) {
            double a = fabs(z[i]);
            bool finite = a <= DBL_MAX; /* false for NaN */
            ptrdiff_t n = n_candidates[i];
            seen[i] += finite;
            kn_col(best, i)[n] = a;
            n += finite & (a >= bar[i]);
            n_candidates[i] = n;
            if (n == best.rows)
                drop_candidates(s, i);
        }
    }
}

void kn_extreme_stream_add(kn_ctx *ctx, kn_extreme_stream *s, kn_mat z)
{
    enum { ROWS = 16 }; /* two cache lines of each column */
    assert(z.rows == s->rows);
    add_job job = {s, z};
    kn_parallel(ctx, s->rows, ROWS, add_rows, &job);
}

/* ---- combination over ranks ----------------------------------------------------------------- */

/* Message with the candidates of some participants: for each their number, then the values, at
 * most k. */
typedef struct parcel {
    ptrdiff_t first, n; /* participants */
    double *values;     /* n x (k + 1) */
} parcel;

/* Write the k largest candidates of the participants of p into the message p->values: for each
 * their number, then the values. */
static void pack_candidates(const kn_extreme_stream *s, const parcel *p)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        double *packed = p->values + i * (s->k + 1), *best = kn_col(s->best, p->first + i);
        ptrdiff_t n_candidates = s->n_candidates[p->first + i];
        if (n_candidates > s->k)
            kn_select_largest(best, n_candidates, s->k);
        n_candidates = n_candidates < s->k ? n_candidates : s->k;
        packed[0] = (double)n_candidates;
        for (ptrdiff_t l = 0; l < n_candidates; l++)
            packed[1 + l] = best[l];
    }
}

/* Add the candidates in a message of another rank to the stream. */
static void unpack_candidates(kn_extreme_stream *s, const parcel *p)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        const double *from = p->values + i * (s->k + 1);
        for (ptrdiff_t l = 1; l <= (ptrdiff_t)from[0]; l++)
            if (from[l] >= s->bar[p->first + i])
                add_candidate(s, p->first + i, from[l]);
    }
}

/* Combine the candidates of the participants of p over ranks. Each rank in turn broadcasts those
 * that it had at first. p.values and mine: buffers of one message each. Collective. */
static kn_status combine_ranks(kn_ctx *ctx, kn_extreme_stream *s, parcel p, double *mine)
{
    kn_status status = KN_OK;
    const kn_comm *c = kn_ctx_comm(ctx);
    double *theirs = p.values;
    ptrdiff_t numbers = p.n * (s->k + 1);
    p.values = mine;
    pack_candidates(s, &p);
    for (int r = 0; r < c->size; r++) {
        p.values = r == c->rank ? mine : theirs;
        KN_TRY(kn_comm_broadcast(ctx, p.values, numbers * (ptrdiff_t)sizeof(double), r));
        if (r != c->rank)
            unpack_candidates(s, &p);
    }
out:
    return status;
}

/* Number of participants (of `rows`) whose candidates are sent together: about 8 MB of doubles. */
static ptrdiff_t participants_per_message(ptrdiff_t rows, ptrdiff_t k)
{
    enum { NUMBERS = 1 << 20 };
    ptrdiff_t count = NUMBERS / (k + 1) + 1;
    return count < rows ? count : rows;
}

void kn_extreme_join_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t k = kn_extreme_count(T, fraction);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, 2 * participants_per_message(rows, k), k + 1);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, rows, 1);
    kn_plan_free_to(r, mark);
}

kn_status kn_extreme_stream_join(kn_ctx *ctx, kn_extreme_stream *s)
{
    kn_status status = KN_OK;
    double *work = NULL, *finite = NULL;
    ptrdiff_t per_message = participants_per_message(s->rows, s->k);
    if (kn_ctx_comm(ctx)->size == 1)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, 2 * per_message * (s->k + 1), &work));
    KN_TRY(kn_alloc_d(ctx, s->rows, &finite));
    for (ptrdiff_t i = 0; i < s->rows; i++)
        finite[i] = (double)s->finite[i];
    KN_TRY(kn_comm_sum(ctx, finite, s->rows)); /* whole numbers */
    for (ptrdiff_t i = 0; i < s->rows; i++)
        s->finite[i] = (ptrdiff_t)finite[i];
    for (ptrdiff_t i = 0; i < s->rows; i += per_message) {
        ptrdiff_t n = s->rows - i < per_message ? s->rows - i : per_message;
        KN_TRY(combine_ranks(ctx, s, (parcel){i, n, work}, work + per_message * (s->k + 1)));
    }
out:
    kn_free(finite);
    kn_free(work);
    return status;
}

void kn_extreme_stream_result(kn_extreme_stream *s, double *m)
{
    for (ptrdiff_t i = 0; i < s->rows; i++)
        m[i] = s->finite[i] > 0
                   ? trimmed_mean_of_largest(kn_col(s->best, i), s->n_candidates[i],
                                             kn_extreme_count(s->finite[i], s->fraction))
                   : NAN;
}
