/* Do people who stand next to each other in the table resemble each other? A site, scanner or
 * session that no covariate names shows in the order in which people were entered. [METHOD 8b] */
#ifndef KN_NORM_REFERENCE_TABLE_ORDER_TEST_H
#define KN_NORM_REFERENCE_TABLE_ORDER_TEST_H

#include "base/matrix.h"
#include "base/memory/plan.h"

typedef struct kn_resemblance {
    ptrdiff_t pairs;    /* of neighbours; 0: nothing can be said */
    double correlation; /* of their residual maps, mean over the pairs */
    double chance;      /* the same, mean over permutations of the table */
    double limit;       /* the same, their 99th percentile */
    bool resemble;      /* above the limit, and enough above chance to matter */
} kn_resemblance;

/* From zz', n x n, lower triangle. order: the sample that stands at each place of the table; NULL:
 * as they are. group: of each sample, or NULL; two of one group are no pair, since it explains
 * them. Samples without any z (zz'_ii = 0) are passed over. O(n) for each of 999 permutations. */
kn_status kn_neighbours(kn_ctx *ctx, kn_mat zz, const ptrdiff_t *order, const int *group,
                        uint64_t seed, kn_resemblance *out);
void kn_neighbours_need(kn_mem_plan *r, ptrdiff_t n);

#endif
