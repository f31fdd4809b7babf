/* Two groups of people compared   [METHOD 11d] */
#ifndef KN_STATS_TWO_SAMPLE_TESTS_H
#define KN_STATS_TWO_SAMPLE_TESTS_H

#include <stdbool.h>

#include "base/memory/alloc.h"

typedef struct kn_rank_test {
    double p;   /* two-sided; NaN where a group has nobody */
    double U;   /* pairs in which a is larger, ties as halves */
    bool exact; /* over all ways to deal the values among the groups */
} kn_rank_test;

enum { KN_RANK_EXACT = 50 }; /* people up to whom every way is counted: ways are below 2^53 */

/* Mann and Whitney's test of n and m values, by midranks; NaN are left out. Exact up to
 * KN_RANK_EXACT values, ties included; beyond by the normal law with the variance of ties and half
 * a unit of continuity. */
kn_status kn_rank_test_of(kn_ctx *ctx, const double *a, ptrdiff_t n, const double *b, ptrdiff_t m,
                          kn_rank_test *out);

typedef struct kn_sums { /* of values of one group */
    double n, sum, sum2;
} kn_sums;

typedef struct kn_welch {
    double t, df,
        p; /* of the first less the second; NaN: fewer than two in a group, or no variance */
} kn_welch;

kn_welch kn_welch_of(kn_sums a, kn_sums b);

/* q_i = min over j with p_j >= p_i of p_j m / #{p <= p_j}, at most 1 (Benjamini & Hochberg 1995); m
 * counts the p that are known, NaN stay NaN. */
kn_status kn_adjusted(kn_ctx *ctx, const double *p, ptrdiff_t n, double *q);

/* Of the finite ones; NaN: none. */
kn_status kn_median_of(kn_ctx *ctx, const double *x, ptrdiff_t n, double *median);

#endif
