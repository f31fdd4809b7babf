/* Random assignment of participants to folds; rows of one group share a fold [METHOD 5b].
 * Cross-validation inside a fit, the choice of the number of components and `kronorm cv` use it. */
#ifndef KN_GP_ASSIGN_FOLDS_H
#define KN_GP_ASSIGN_FOLDS_H

#include "base/context.h"

/* KN_HELD_OUT_ONCE, as a number of folds: one set of kn_held_out(N) participants is held out and
 * the others never. S-MTGPR does that for more than KN_MANY participants [METHOD 5b] */
enum { KN_HELD_OUT_ONCE = 1, KN_MANY = 5000 };
/* Returns the number of participants of a single held-out set out of N: half of them, at most
 * 2000. */
ptrdiff_t kn_held_out(ptrdiff_t N);
/* Assigns N participants to *folds seeded folds of nearly equal size: fold[i] in 0 .. *folds-1,
 * or, with KN_HELD_OUT_ONCE, 0 (held out) or -1. groups (N, may be NULL): rows with equal values
 * share a fold. order (N, may be NULL): the rows in the order of assignment, so that the
 * folds do not depend on their indices [data/canonical_order.h]. *folds is reduced to the number of
 * participants or groups. KN_ERR_DATA if all rows are in one group. */
kn_status kn_folds_assign(kn_ctx *ctx, ptrdiff_t N, const int *groups, const ptrdiff_t *order,
                          uint64_t seed, int *folds, int *fold);

#endif
