/* A distribution as cuts between people, none of which is anybody's value             [METHOD 8h]
 *
 *     K = min(200, n/2 - 1), of 2 to 5 values one
 *     c_k = floor(k n/(K + 1)),  knot_k = (s_(c_k) + s_(c_k + 1))/2,  k = 1 .. K
 *
 * of n values s in order. No two knots have a value in common: cuts between all neighbours, with
 * their order, are n - 1 equations that give every value away. n values stand for them again: in
 * each interval between two knots as many, evenly, as there were; at the ends the interval next to
 * it is taken again. A rank among these is wrong by less than one interval: ceil(n/(K + 1)) people,
 * two or three up to 600. Below it, values of counts are whole numbers. */
#ifndef KN_STATS_QUANTILE_SUMMARY_H
#define KN_STATS_QUANTILE_SUMMARY_H

#include "base/memory/alloc.h"

enum { KN_QUANTILES = 200 };

typedef struct kn_quantiles {
    ptrdiff_t n; /* values that there were; 0: none */
    ptrdiff_t K;
    double *knot; /* K, ascending */
} kn_quantiles;

void kn_quantiles_clear(kn_quantiles *q);

/* Of the finite ones of n values. */
kn_status kn_quantiles_new(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_quantiles *out);
static inline ptrdiff_t kn_quantiles_count(ptrdiff_t n)
{
    return n < 2 ? 0 : n < 6 ? 1 : n / 2 - 1 < KN_QUANTILES ? n / 2 - 1 : KN_QUANTILES;
}

/* x (q->n), ascending. Of fewer than two values nothing is known: NaN. */
void kn_quantiles_spread(const kn_quantiles *q, bool whole, double *x);

#endif
