/* Order statistics: sorting, selection and counting of doubles, the median, and a summary of a
 * distribution by quantiles. The summary by quantiles replaces individual values in exported
 * models. */
#ifndef KN_STATS_ORDER_STATISTICS_H
#define KN_STATS_ORDER_STATISTICS_H

#include <stddef.h>

#include "base/memory/alloc.h"

/* ---- sorting, selection, counting ------------------------------------------------------------ */

/* Values must not be NaN, except in kn_median_of. */

/* Sorts x (n) in place, ascending; x has no NaN. */
void kn_sort(double *x, ptrdiff_t n);

/* Rearranges x so that its k largest values are x[0 .. k-1], in any order. O(n): introspective
 * quickselect, which changes to a sort if partitions stay unbalanced. */
void kn_select_largest(double *x, ptrdiff_t n, ptrdiff_t k);

/* Returns the number of values of the ascending x[0 .. n-1] below v, or with or_equal at most v.
 * O(log n). */
ptrdiff_t kn_count_below(const double *x, ptrdiff_t n, double v, int or_equal);

/* Computes *median of the values of x[n] that are not NaN; NaN if there are none. O(n log n), in
 * a copy. */
kn_status kn_median_of(kn_ctx *ctx, const double *x, ptrdiff_t n, double *median);

/* ---- summary by quantiles -------------------------------------------------------------------- */

/* De-identified summary of a distribution: midpoints between participants' values, none of which is
 * the value of a participant                                                          [METHOD 8h]
 *
 *     K = min(200, n/2 - 1); K = 1 for 2 to 5 values
 *     c_k = floor(k n/(K + 1)),  knot_k = (s_(c_k) + s_(c_k + 1))/2,  k = 1 .. K
 *
 * for n values s in ascending order. No two knots use the same value: midpoints of all neighbours
 * would be n - 1 equations from which every value could be computed. kn_quantiles_spread makes n
 * values again: between two knots as many as there were, evenly spaced; beyond the outer knots over
 * an interval as long as the neighbouring one. A rank among these is wrong by less than one
 * interval: ceil(n/(K + 1)) participants, two or three for n up to 600. */

enum { KN_QUANTILES = 200 };

typedef struct kn_quantiles {
    ptrdiff_t n;  /* number of values summarised */
    ptrdiff_t K;  /* number of knots */
    double *knot; /* K, ascending */
} kn_quantiles;

void kn_quantiles_clear(kn_quantiles *q); /* {0} is allowed */

/* Summarises the finite values of x[n] by knots, *out (owned by the caller), none of which is
 * the value of a participant. */
kn_status kn_quantiles_new(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_quantiles *out);
/* Number of knots K for n values. */
static inline ptrdiff_t kn_quantiles_count(ptrdiff_t n)
{
    return n < 2 ? 0 : n < 6 ? 1 : n / 2 - 1 < KN_QUANTILES ? n / 2 - 1 : KN_QUANTILES;
}

/* Computes x[q->n], values that stand for the summarised ones, ascending; NaN if there was one
 * value. whole: they are counts, so round to whole numbers >= 0. */
void kn_quantiles_spread(const kn_quantiles *q, bool whole, double *x);

#endif
