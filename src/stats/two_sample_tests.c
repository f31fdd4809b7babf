/* Implements two_sample_tests.h. */
#include "stats/two_sample_tests.h"
#include "stats/normal.h"
#include "stats/student_t.h"

#include <math.h>
#include <stdlib.h>

typedef struct item {
    double value;
    ptrdiff_t place;
} item;

static int ascending(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
                                : (a->place > b->place) - (a->place < b->place);
}

/* Appends the values of x that are not NaN to the `have` items of `to`, with places first + i.
 * Returns the new number of items. */
static ptrdiff_t gather(item *to, ptrdiff_t have, const double *x, ptrdiff_t n, ptrdiff_t first)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            to[have++] = (item){x[i], first + i};
    return have;
}

/* ---- Mann-Whitney -----------------------------------------------------------------------------
 */

typedef struct ranks {
    ptrdiff_t n, m;   /* number of values of the first group, and of both */
    int *twice;       /* m: twice the midrank of each value, ascending */
    double sum_twice; /* their sum over the first group */
    double ties;      /* sum of t^3 - t over tied values */
} ranks;

/* Midranks of the sorted items; items with place < second are of the first group. */
static void rank_all(const item *sorted, ptrdiff_t second, ranks *r)
{
    for (ptrdiff_t i = 0, end; i < r->m; i = end) {
        for (end = i + 1; end < r->m && sorted[end].value == sorted[i].value;)
            end++;
        double t = (double)(end - i);
        r->ties += t * t * t - t;
        for (ptrdiff_t k = i; k < end; k++) {
            r->twice[k] = (int)(i + end + 1); /* ranks i+1 .. end */
            if (sorted[k].place < second)
                r->sum_twice += r->twice[k];
        }
    }
}

/* ways[k][s]: number of subsets of k values whose doubled midranks sum to s.
 * p = 2 min(P(sum <= s), P(sum >= s)). */
static kn_status exact_p(kn_ctx *ctx, const ranks *r, double *p)
{
    ptrdiff_t most = r->m * (r->m + 1), width = most + 1;
    double *ways, total = 0, below = 0, above = 0;
    kn_status status = kn_alloc_d(ctx, (r->n + 1) * width, &ways);
    if (status != KN_OK)
        return status;
    ways[0] = 1;
    for (ptrdiff_t i = 0; i < r->m; i++)
        for (ptrdiff_t k = r->n; k > 0; k--) /* downwards, so that no value is used twice */
            for (ptrdiff_t s = r->twice[i]; s < width; s++)
                ways[k * width + s] += ways[(k - 1) * width + s - r->twice[i]];
    for (ptrdiff_t s = 0; s < width; s++) {
        double w = ways[r->n * width + s];
        total += w;
        below += (double)s <= r->sum_twice ? w : 0;
        above += (double)s >= r->sum_twice ? w : 0;
    }
    *p = fmin(1, 2 * fmin(below, above) / total);
    kn_free(ways);
    return KN_OK;
}

static double normal_p(const ranks *r, double U)
{
    double n = (double)r->n, all = (double)r->m, m = all - n;
    double var = n * m / 12 * (all + 1 - r->ties / (all * (all - 1)));
    double off = fmax(fabs(U - n * m / 2) - 0.5, 0);
    return var > 0 ? fmin(1, 2 * kn_normal_upper(off / sqrt(var))) : 1;
}

kn_status kn_rank_test_of(kn_ctx *ctx, const double *a, ptrdiff_t n, const double *b, ptrdiff_t m,
                          kn_rank_test *out)
{
    kn_status status;
    void *items = NULL, *twice = NULL;
    ranks r = {0};
    *out = (kn_rank_test){.p = NAN, .U = NAN};
    KN_TRY(kn_alloc(ctx, n + m, sizeof(item), &items));
    r.n = gather(items, 0, a, n, 0);
    r.m = gather(items, r.n, b, m, n);
    if (r.n == 0 || r.n == r.m)
        goto out;
    KN_TRY(kn_alloc(ctx, r.m, sizeof *r.twice, &twice));
    r.twice = twice;
    qsort(items, (size_t)r.m, sizeof(item), ascending);
    rank_all(items, n, &r);
    out->U = (r.sum_twice - (double)(r.n * (r.n + 1))) / 2;
    out->exact = r.m <= KN_RANK_EXACT;
    if (out->exact)
        KN_TRY(exact_p(ctx, &r, &out->p));
    else
        out->p = normal_p(&r, out->U);
out:
    kn_free(items);
    kn_free(twice);
    return status;
}

/* ---- Welch ------------------------------------------------------------------------------------
 */

/* Variance of the mean; 0 if the variance of the values is only rounding. */
static double mean_variance(kn_sums s)
{
    static const double ROUNDING = 1e-13; /* of the mean square */
    double square = s.sum2 / s.n, var = square - (s.sum / s.n) * (s.sum / s.n);
    return var > ROUNDING * square ? var / (s.n - 1) : 0;
}

kn_welch kn_welch_of(kn_sums a, kn_sums b)
{
    kn_welch w = {NAN, NAN, NAN};
    if (a.n < 2 || b.n < 2)
        return w;
    double va = mean_variance(a), vb = mean_variance(b), v = va + vb;
    if (!(v > 0))
        return w;
    w.t = (a.sum / a.n - b.sum / b.n) / sqrt(v);
    w.df = v * v / (va * va / (a.n - 1) + vb * vb / (b.n - 1));
    w.p = 2 * kn_student_upper(fabs(w.t), w.df);
    return w;
}

/* ---- adjusted p-values, median ----------------------------------------------------------------
 */

kn_status kn_adjusted(kn_ctx *ctx, const double *p, ptrdiff_t n, double *q)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof(item), &memory);
    if (status != KN_OK)
        return status;
    item *sorted = memory;
    ptrdiff_t m = gather(sorted, 0, p, n, 0);
    double least = 1;
    for (ptrdiff_t i = 0; i < n; i++)
        q[i] = NAN;
    if (m > 0)
        qsort(sorted, (size_t)m, sizeof *sorted, ascending);
    for (ptrdiff_t k = m - 1; k >= 0; k--) {
        least = fmin(least, sorted[k].value * (double)m / (double)(k + 1));
        q[sorted[k].place] = least;
    }
    kn_free(memory);
    return KN_OK;
}

kn_status kn_median_of(kn_ctx *ctx, const double *x, ptrdiff_t n, double *median)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof(item), &memory);
    *median = NAN;
    if (status != KN_OK)
        return status;
    item *sorted = memory;
    ptrdiff_t m = gather(sorted, 0, x, n, 0);
    if (m > 0) {
        qsort(sorted, (size_t)m, sizeof *sorted, ascending);
        *median = (sorted[(m - 1) / 2].value + sorted[m / 2].value) / 2;
    }
    kn_free(memory);
    return KN_OK;
}
