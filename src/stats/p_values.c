/* Implements p_values.h. Reference values are sorted once, then each tail probability is a binary
 * search. */
#include "stats/p_values.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"

/* ---- tail probability ------------------------------------------------------------------------ */

static const double ROUGH = 0.02; /* p below which few participants get the note `rough` */

double kn_tail_p_min(ptrdiff_t units)
{
    return 1 / (2 * ((double)units + 1));
}

double kn_tail_p_smallest(const kn_tail_p_reference *reference)
{
    return reference->has_gev
               ? kn_tail_p_min(reference->units)
               : fmax(kn_tail_p_min(reference->units), 1 / ((double)reference->n + 1));
}

double kn_tail_p_min_unseen(int S)
{
    return 1 / ((double)S + 1);
}

kn_tail_p kn_tail_p_bounded(kn_tail_p r, double lowest)
{
    return r.p < lowest ? (kn_tail_p){lowest, KN_TAIL_P_BOUND} : r;
}

double kn_rank_p(const double *sorted, ptrdiff_t n, double value, bool member)
{
    if (isnan(value))
        return NAN;
    ptrdiff_t above = n - kn_count_below(sorted, n, value, 0);
    ptrdiff_t self = member && above > 0;
    return (double)(1 + above - self) / (double)(n + 1 - self);
}

/* Larger p-values are written as 1. */
static const double ALMOST_ONE = 1 - 1e-9;

kn_tail_p kn_tail_p_of(const kn_tail_p_reference *reference, double value, bool member)
{
    kn_tail_p r = {NAN, KN_TAIL_P_PLAIN};
    if (isnan(value) || reference->n - member < 1)
        return r;
    double lowest = kn_tail_p_min(reference->units - member);
    r.p = reference->has_gev ? kn_gev_upper(reference->gev, value)
                             : kn_rank_p(reference->sorted, reference->n, value, member);
    if (r.p > ALMOST_ONE)
        r.p = 1; /* not 0.9999999999997142 */
    if (reference->has_gev && reference->units < KN_FINE_FROM && r.p < ROUGH)
        r.note = KN_TAIL_P_ROUGH;
    return kn_tail_p_bounded(r, lowest);
}

/* ---- false discovery rate -------------------------------------------------------------------- */

/* Returns the two-sided p-value of |z| = a under the standard normal distribution. */
static double compute_two_sided_p(double a)
{
    return 2 * kn_normal_upper(a);
}

/* Keeps the values |z| of a[0 .. n-1] with p m <= n q, n the number kept, until all of them are
 * kept (Benjamini-Hochberg, m tests). Returns their number. */
static ptrdiff_t keep_rejected(double *a, ptrdiff_t n, double m, double q)
{
    for (;;) {
        ptrdiff_t kept = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            if (compute_two_sided_p(a[i]) * m <= (double)n * q)
                a[kept++] = a[i];
        if (kept == n)
            return n;
        n = kept;
    }
}

/* Returns the FDR threshold of |z| at level q over `finite` tests. work: the n values |z| above
 * the threshold of a single test; every other p is above q. */
static kn_fdr find_threshold(double *work, ptrdiff_t n, ptrdiff_t finite, double q)
{
    kn_fdr r = {.n = finite, .bar = INFINITY};
    n = keep_rejected(work, n, (double)finite, q);
    for (ptrdiff_t i = 0; i < n; i++)
        r.bar = fmin(r.bar, work[i]);
    return r;
}

/* Returns the threshold of |z| for a single test at level q, slightly lower: p decides about the
 * values in between. */
static double compute_single_threshold(double q)
{
    return q < 1 ? -kn_normal_quantile(q / 2) - 1e-9 : 0;
}

kn_fdr kn_fdr_row(const float *z, ptrdiff_t T, double q, double *work)
{
    double bar = compute_single_threshold(q);
    ptrdiff_t n = 0, finite = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        double a = fabs((double)z[j]);
        finite += isfinite(a) != 0;
        if (a >= bar && isfinite(a))
            work[n++] = a;
    }
    kn_fdr r = find_threshold(work, n, finite, q);
    for (ptrdiff_t j = 0; j < T && isfinite(r.bar); j++) {
        r.negative += isfinite(z[j]) && -(double)z[j] >= r.bar;
        r.positive += isfinite(z[j]) && (double)z[j] >= r.bar;
    }
    return r;
}

typedef struct ranked {
    double p;
    ptrdiff_t index; /* in the input */
} ranked;

/* Comparison for qsort: p-values in ascending order. */
static int compare_ranked(const void *a, const void *b)
{
    double x = ((const ranked *)a)->p, y = ((const ranked *)b)->p;
    return (x > y) - (x < y);
}

kn_status kn_fdr_adjust(kn_ctx *ctx, ptrdiff_t n, const double *p, double *adjusted)
{
    void *memory = NULL;
    kn_status status = kn_alloc(ctx, n, sizeof(ranked), &memory);
    if (status != KN_OK || n == 0)
        return status;
    ranked *sorted = memory;
    ptrdiff_t m = 0;
    double lowest = 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!isnan(p[i]))
            sorted[m++] = (ranked){p[i], i};
        adjusted[i] = NAN;
    }
    qsort(sorted, (size_t)m, sizeof *sorted, compare_ranked);
    for (ptrdiff_t k = m; k > 0; k--) {
        lowest = fmin(lowest, sorted[k - 1].p * (double)m / (double)k);
        adjusted[sorted[k - 1].index] = lowest;
    }
    kn_free(memory);
    return KN_OK;
}
