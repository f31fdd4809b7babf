/* Tests between two groups of participants, for the report [METHOD 11d]. They are the rank-sum
 * test, Welch's test and the AUC with its confidence interval. */
#ifndef KN_STATS_TWO_SAMPLE_TESTS_H
#define KN_STATS_TWO_SAMPLE_TESTS_H

#include <stdbool.h>

#include "base/context.h"
#include "base/memory/alloc.h"

typedef struct kn_rank_test {
    double p;   /* two-sided; NaN if a group is empty */
    double U;   /* number of pairs in which a is larger, ties counting half */
    bool exact; /* p is over all assignments of the values to the groups */
} kn_rank_test;

enum { KN_RANK_EXACT = 50 }; /* most values of the exact test: the counts are below 2^53 */

/* Mann-Whitney U test *out of the values a[n] against b[m], by midranks; NaN are excluded. Exact
 * up to KN_RANK_EXACT values, also with ties; above that the normal approximation with tie and
 * continuity corrections. p is NaN if a group is empty. */
kn_status kn_rank_test_of(kn_ctx *ctx, const double *a, ptrdiff_t n, const double *b, ptrdiff_t m,
                          kn_rank_test *out);

typedef struct kn_sums { /* of one group: count, sum of values, sum of squares */
    double n, sum, sum2;
} kn_sums;

typedef struct kn_welch { /* t statistic of a minus b, degrees of freedom, two-sided p */
    double t, df, p;
} kn_welch;

/* Welch's t test of two samples given by their sums: t, degrees of freedom, two-sided p. All NaN
 * if a group has fewer than two values or there is no variance. */
kn_welch kn_welch_of(kn_sums a, kn_sums b);

/* ---- area under the ROC curve ---------------------------------------------------------------- */

/* Area under the ROC curve [METHOD 8]: P(score of an abnormal participant > score of a normal one)
 * + 1/2 P(equal). */

typedef struct kn_auc {
    double auc;
    double se; /* DeLong, DeLong & Clarke-Pearson 1988; NaN with one participant in a class */
    double low, high; /* 95 % interval auc -+ 1.96 se, cut to [0, 1]; NaN if se is */
    bool degenerate;  /* se is 0 (full separation, or all scores equal): the interval is a point and
                         does not measure the uncertainty */
    ptrdiff_t n_abnormal, n_normal; /* participants with a score, NaN excluded */
} kn_auc;

/* AUC of score[n] with labels abnormal[n], by midranks, O(n log n) (Sun & Xu 2014, IEEE Signal
 * Processing Letters 21). NaN scores are excluded, infinite ones are ranked. KN_ERR_DATA if a class
 * has no score. */
kn_status kn_auc_of(kn_ctx *ctx, const double *score, const bool *abnormal, ptrdiff_t n,
                    kn_auc *out);

#endif
