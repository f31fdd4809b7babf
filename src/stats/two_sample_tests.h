/* Tests between two groups of participants, for the report   [METHOD 11d] */
#ifndef KN_STATS_TWO_SAMPLE_TESTS_H
#define KN_STATS_TWO_SAMPLE_TESTS_H

#include <stdbool.h>

#include "base/memory/alloc.h"

typedef struct kn_rank_test {
    double p;   /* two-sided; NaN if a group is empty */
    double U;   /* number of pairs in which a is larger, ties counting half */
    bool exact; /* p is over all assignments of the values to the groups */
} kn_rank_test;

enum { KN_RANK_EXACT = 50 }; /* most values of the exact test: the counts are below 2^53 */

/* Mann-Whitney U test of a[n] against b[m], by midranks; NaN are excluded. Exact up to
 * KN_RANK_EXACT values, also with ties; above that the normal approximation with tie and continuity
 * corrections. */
kn_status kn_rank_test_of(kn_ctx *ctx, const double *a, ptrdiff_t n, const double *b, ptrdiff_t m,
                          kn_rank_test *out);

typedef struct kn_sums { /* of one group: count, sum of values, sum of squares */
    double n, sum, sum2;
} kn_sums;

typedef struct kn_welch { /* t statistic of a minus b, degrees of freedom, two-sided p */
    double t, df, p;
} kn_welch;

/* Welch's t test. All NaN if a group has fewer than two values or there is no variance. */
kn_welch kn_welch_of(kn_sums a, kn_sums b);

/* Adjusted p-values q_i = min over j with p_j >= p_i of p_j m / #{p <= p_j}, at most 1 (Benjamini &
 * Hochberg 1995); m counts the p that are not NaN; NaN stay NaN. */
kn_status kn_adjusted(kn_ctx *ctx, const double *p, ptrdiff_t n, double *q);

/* *median of the values that are not NaN; NaN if there are none. */
kn_status kn_median_of(kn_ctx *ctx, const double *x, ptrdiff_t n, double *median);

#endif
