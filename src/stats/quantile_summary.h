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
#ifndef KN_STATS_QUANTILE_SUMMARY_H
#define KN_STATS_QUANTILE_SUMMARY_H

#include "base/memory/alloc.h"

enum { KN_QUANTILES = 200 };

typedef struct kn_quantiles {
    ptrdiff_t n;  /* number of values summarised */
    ptrdiff_t K;  /* number of knots */
    double *knot; /* K, ascending */
} kn_quantiles;

void kn_quantiles_clear(kn_quantiles *q); /* {0} is allowed */

/* Summarises the finite values of x[n]. */
kn_status kn_quantiles_new(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_quantiles *out);
/* Number of knots K for n values. */
static inline ptrdiff_t kn_quantiles_count(ptrdiff_t n)
{
    return n < 2 ? 0 : n < 6 ? 1 : n / 2 - 1 < KN_QUANTILES ? n / 2 - 1 : KN_QUANTILES;
}

/* x[q->n] = the values that stand for the original ones, ascending; NaN if there was one value.
 * whole: they are counts, so round to whole numbers >= 0. */
void kn_quantiles_spread(const kn_quantiles *q, bool whole, double *x);

#endif
