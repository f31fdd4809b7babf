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

/* Mantel test whether participants in adjacent rows of the table have similar z maps, from zz' (n x
 * n, lower triangle). order: participant of each table row, NULL: same order; group: of each
 * participant, NULL: none, members of a group are no pair. out->pairs is 0 with fewer than 6 groups
 * or participants. 999 permutations, O(n) each. */
kn_status kn_table_order_test(kn_ctx *ctx, kn_mat zz, const ptrdiff_t *order, const int *group,
                              uint64_t seed, kn_resemblance *out);

/* Add to the memory plan r what kn_table_order_test() allocates temporarily for n participants. */
void kn_table_order_test_need(kn_mem_plan *r, ptrdiff_t n);

#endif
