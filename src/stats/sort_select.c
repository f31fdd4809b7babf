/* Implements sort_select.h by qsort and quickselect. */
#include "stats/sort_select.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void kn_sort(double *x, ptrdiff_t n)
{
    if (n > 1)
        qsort(x, (size_t)n, sizeof *x, ascending);
}

static void swap(double *x, ptrdiff_t i, ptrdiff_t j)
{
    double t = x[i];
    x[i] = x[j];
    x[j] = t;
}

static double middle_of_three(double a, double b, double c)
{
    if (a < b)
        return b < c ? b : (a < c ? c : a);
    return a < c ? a : (b < c ? c : b);
}

static void reverse(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n / 2; i++)
        swap(x, i, n - 1 - i);
}

/* Quickselect (Hoare 1961). Equal values are swapped too, so that ties split evenly. */
void kn_select_largest(double *x, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t lo = 0, hi = n - 1;
    int patience = 16; /* rounds before the sort: 16 and twice the binary logarithm of n */
    for (ptrdiff_t m = n; m > 0; m /= 2)
        patience += 2;
    if (k <= 0 || k >= n)
        return;
    while (lo < hi) {
        if (patience-- == 0) {
            kn_sort(x + lo, hi - lo + 1);
            reverse(x + lo, hi - lo + 1);
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
                swap(x, i++, j--);
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
