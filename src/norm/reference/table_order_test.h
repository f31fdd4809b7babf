/* Table-order test: do participants in neighbouring rows of the table resemble each other? A
 * site, scanner or session that no covariate names shows in the order in which participants were
 * entered. [METHOD 8b] */
#ifndef KN_NORM_REFERENCE_TABLE_ORDER_TEST_H
#define KN_NORM_REFERENCE_TABLE_ORDER_TEST_H

#include "base/matrix.h"
#include "base/memory/plan.h"

typedef struct kn_resemblance {
    ptrdiff_t pairs;    /* pairs of neighbours; 0: not tested */
    double correlation; /* correlation of their z maps, mean over the pairs */
    double chance;      /* the same, mean over permutations of the table */
    double limit;       /* the same, 99th percentile of the permutations */
    bool resemble;      /* above the limit, and by at least 0.02 above chance */
} kn_resemblance;

/* Test from zz', n x n, lower triangle. order: the participant in each table row; NULL: same
 * order. group: of each participant; NULL: none; two members of a group are no pair, since the
 * group explains their resemblance. Participants without any z (zz'_ii = 0) are skipped. With
 * fewer than 6 runs, out->pairs is 0. O(n) for each of 999 permutations. */
kn_status kn_table_order_test(kn_ctx *ctx, kn_mat zz, const ptrdiff_t *order, const int *group,
                              uint64_t seed, kn_resemblance *out);

/* Memory plan of kn_table_order_test(), temporary. */
void kn_table_order_test_need(kn_mem_plan *r, ptrdiff_t n);

#endif
