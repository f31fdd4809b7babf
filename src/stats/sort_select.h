/* Sorting, selection and counting of doubles without NaN. */
#ifndef KN_STATS_SORT_SELECT_H
#define KN_STATS_SORT_SELECT_H

#include <stddef.h>

void kn_sort(double *x, ptrdiff_t n); /* ascending */

/* Rearranges x so that its k largest values are x[0 .. k-1], in any order. O(n): introspective
 * quickselect, which changes to a sort if partitions stay unbalanced. */
void kn_select_largest(double *x, ptrdiff_t n, ptrdiff_t k);

/* Number of values of the ascending x[0 .. n-1] below v, or with or_equal at most v. O(log n). */
ptrdiff_t kn_count_below(const double *x, ptrdiff_t n, double v, int or_equal);

#endif
