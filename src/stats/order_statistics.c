/* Implements order_statistics.h by quicksort and quickselect. Quickselect finds the largest values
 * without sorting all of them. */
#include "stats/order_statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sorting, selection, counting ------------------------------------------------------------ */

/* Comparison for qsort: doubles in ascending order. */
static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void swap_values(double *x, ptrdiff_t i, ptrdiff_t j)
{
    double t = x[i];
    x[i] = x[j];
    x[j] = t;
}

/* Returns the median of three numbers. */
static double middle_of_three(double a, double b, double c)
{
    if (a < b)
        return b < c ? b : (a < c ? c : a);
    return a < c ? a : (b < c ? c : b);
}

/* Rounds of partitions before qsort takes over: 16 and twice the binary logarithm of n. */
static int rounds_allowed(ptrdiff_t n)
{
    int rounds = 16;
    for (; n > 0; n /= 2)
        rounds += 2;
    return rounds;
}

/* Sorts n values by insertion. */
static void insert_values(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; i++) {
        double value = x[i];
        ptrdiff_t j = i;
        for (; j > 0 && x[j - 1] > value; j--)
            x[j] = x[j - 1];
        x[j] = value;
    }
}

/* Quicksort of n values: the smaller part of each partition by recursion, at most log2(n) deep. */
static void sort_values(double *x, ptrdiff_t n, int rounds)
{
    enum { FEW = 24 };
    while (n > FEW) {
        if (rounds-- == 0) {
            qsort(x, (size_t)n, sizeof *x, compare_values);
            return;
        }
        double pivot = middle_of_three(x[0], x[n / 2], x[n - 1]);
        ptrdiff_t i = 0, j = n - 1;
        while (i <= j) { /* x[0 .. i-1] <= pivot <= x[j+1 .. n-1] */
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i <= j)
                swap_values(x, i++, j--);
        }
        if (j + 1 < n - i) {
            sort_values(x, j + 1, rounds);
            x += i;
            n -= i;
        } else {
            sort_values(x + i, n - i, rounds);
            n = j + 1;
        }
    }
    insert_values(x, n);
}

void kn_sort(double *x, ptrdiff_t n)
{
    sort_values(x, n, rounds_allowed(n));
}

static void reverse_values(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n / 2; i++)
        swap_values(x, i, n - 1 - i);
}

/* Quickselect (Hoare 1961). Equal values are swapped too, so that ties split evenly. */
void kn_select_largest(double *x, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t lo = 0, hi = n - 1;
    int rounds = rounds_allowed(n);
    if (k <= 0 || k >= n)
        return;
    while (lo < hi) {
        if (rounds-- == 0) {
            kn_sort(x + lo, hi - lo + 1);
            reverse_values(x + lo, hi - lo + 1);
            return;
        }
        double pivot = middle_of_three(x[lo], x[lo + (hi - lo) / 2], x[hi]);
        ptrdiff_t i = lo, j = hi;
        while (i <= j) { /* x[lo .. i-1] >= pivot >= x[j+1 .. hi] */
            while (x[i] > pivot)
                i++;
            while (x[j] < pivot)
                j--;
            if (i <= j)
                swap_values(x, i++, j--);
        }
        if (k - 1 <= j)
            hi = j;
        else if (k - 1 >= i)
            lo = i;
        else
            return;
    }
}

ptrdiff_t kn_count_below(const double *x, ptrdiff_t n, double v, int or_equal)
{
    ptrdiff_t lo = 0, hi = n;
    while (lo < hi) {
        ptrdiff_t mid = lo + (hi - lo) / 2;
        if (x[mid] < v || (or_equal && x[mid] == v))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

kn_status kn_median_of(kn_ctx *ctx, const double *x, ptrdiff_t n, double *median)
{
    double *sorted;
    kn_status status = kn_alloc_d(ctx, n, &sorted);
    ptrdiff_t m = 0;
    *median = NAN;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            sorted[m++] = x[i];
    kn_sort(sorted, m);
    if (m > 0)
        *median = (sorted[(m - 1) / 2] + sorted[m / 2]) / 2;
    kn_free(sorted);
    return KN_OK;
}

/* ---- summary by quantiles -------------------------------------------------------------------- */

void kn_quantiles_clear(kn_quantiles *q)
{
    kn_free(q->knot);
    *q = (kn_quantiles){0};
}

/* Returns the number of the n values below knot k, k = 1 .. K; 0 for k = 0 and n for k = K + 1. */
static ptrdiff_t count_below_knot(ptrdiff_t n, ptrdiff_t K, ptrdiff_t k)
{
    return n * k / (K + 1);
}

kn_status kn_quantiles_new(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_quantiles *out)
{
    kn_status status;
    double *s = NULL;
    *out = (kn_quantiles){0};
    KN_TRY(kn_alloc_d(ctx, n, &s));
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            s[out->n++] = x[i];
    kn_sort(s, out->n);
    out->K = kn_quantiles_count(out->n);
    KN_TRY(kn_alloc_d(ctx, out->K, &out->knot));
    for (ptrdiff_t k = 1; k <= out->K; k++) {
        ptrdiff_t c = count_below_knot(out->n, out->K, k);
        out->knot[k - 1] = (s[c - 1] + s[c]) / 2;
    }
out:
    kn_free(s);
    return status;
}

void kn_quantiles_spread(const kn_quantiles *q, bool whole, double *x)
{
    const double *knot = q->knot;
    ptrdiff_t K = q->K;
    for (ptrdiff_t i = 0; K == 0 && i < q->n; i++)
        x[i] = NAN;
    for (ptrdiff_t k = 0; K > 0 && k <= K; k++) {
        ptrdiff_t from = count_below_knot(q->n, K, k),
                  to = k < K ? count_below_knot(q->n, K, k + 1) : q->n;
        double first = K > 1 ? knot[1] - knot[0] : 0, last = K > 1 ? knot[K - 1] - knot[K - 2] : 0;
        double low = k > 0 ? knot[k - 1] : knot[0] - first;
        double high = k < K ? knot[k] : knot[K - 1] + last;
        for (ptrdiff_t i = from; i < to; i++) {
            x[i] = low + (high - low) * ((double)(i - from) + 0.5) / (double)(to - from);
            if (whole)
                x[i] = fmax(round(x[i]), 0);
        }
    }
}
