/* Sorting and selection of plain doubles without NaN. */
#ifndef KN_STATS_SORT_SELECT_H
#define KN_STATS_SORT_SELECT_H

#include <stddef.h>

void kn_sort(double *x, ptrdiff_t n); /* ascending */

/* Rearranges x so that its k largest values stand in x[0 .. k-1], in no order. O(n): introspective
 * quickselect, which hands over to a sort when partitions go badly. */
void kn_select_largest(double *x, ptrdiff_t n, ptrdiff_t k);

/* How many of the ascending x[0 .. n-1] are below v; with or_equal, below or equal. O(log n). */
ptrdiff_t kn_count_below(const double *x, ptrdiff_t n, double v, int or_equal);

#endif
