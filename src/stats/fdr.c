/* Implements fdr.h. */
#include "stats/fdr.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "stats/normal.h"

/* Two-sided p-value of |z| = a. */
static double p_of(double a)
{
    return 2 * kn_normal_upper(a);
}

/* Keeps the values of a[0 .. n-1] with p m <= n q, n the number kept, until all of them are kept.
 * Returns their number k. */
static ptrdiff_t rejected(double *a, ptrdiff_t n, double m, double q)
{
    for (;;) {
        ptrdiff_t kept = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            if (p_of(a[i]) * m <= (double)n * q)
                a[kept++] = a[i];
        if (kept == n)
            return n;
        n = kept;
    }
}

/* work: the n values |z| above the threshold of a single test; every other p is above q. */
static kn_fdr finish(double *work, ptrdiff_t n, ptrdiff_t finite, double q)
{
    kn_fdr r = {.n = finite, .bar = INFINITY};
    n = rejected(work, n, (double)finite, q);
    for (ptrdiff_t i = 0; i < n; i++)
        r.bar = fmin(r.bar, work[i]);
    return r;
}

/* Threshold of |z| for a single test, slightly lower: p decides about the values in between. */
static double single_bar(double q)
{
    return q < 1 ? -kn_normal_quantile(q / 2) - 1e-9 : 0;
}

kn_fdr kn_fdr_row(const float *z, ptrdiff_t T, double q, double *work)
{
    double bar = single_bar(q);
    ptrdiff_t n = 0, finite = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        double a = fabs((double)z[j]);
        finite += isfinite(a) != 0;
        if (a >= bar && isfinite(a))
            work[n++] = a;
    }
    kn_fdr r = finish(work, n, finite, q);
    for (ptrdiff_t j = 0; j < T && isfinite(r.bar); j++) {
        r.negative += isfinite(z[j]) && -(double)z[j] >= r.bar;
        r.positive += isfinite(z[j]) && (double)z[j] >= r.bar;
    }
    return r;
}

typedef struct ranked {
    double p;
    ptrdiff_t at;
} ranked;

static int ascending(const void *a, const void *b)
{
    double x = ((const ranked *)a)->p, y = ((const ranked *)b)->p;
    return (x > y) - (x < y);
}

kn_status kn_fdr_adjust(kn_ctx *ctx, ptrdiff_t n, const double *p, double *adjusted)
{
    void *room = NULL;
    kn_status status = kn_alloc(ctx, n, sizeof(ranked), &room);
    if (status != KN_OK || n == 0)
        return status;
    ranked *r = room;
    double least = 1;
    for (ptrdiff_t i = 0; i < n; i++)
        r[i] = (ranked){p[i], i};
    qsort(r, (size_t)n, sizeof *r, ascending);
    for (ptrdiff_t k = n; k > 0; k--) {
        least = fmin(least, r[k - 1].p * (double)n / (double)k);
        adjusted[r[k - 1].at] = least;
    }
    kn_free(room);
    return KN_OK;
}
