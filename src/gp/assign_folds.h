/* Who is held out with whom: seeded folds, groups kept together                     [METHOD 5b] */
#ifndef KN_GP_ASSIGN_FOLDS_H
#define KN_GP_ASSIGN_FOLDS_H

#include "base/context.h"

/* Seeded folds of nearly equal size: fold[i] in 0 .. *folds-1. groups (or NULL): samples of one
 * group share a fold. KN_HELD_OUT_ONCE: 2000 samples, or half of them, are held out together and
 * the others never: fold[i] is 0 or -1. S-MTGPR does that from KN_MANY samples     [METHOD 5b] */
enum { KN_HELD_OUT_ONCE = 1, KN_MANY = 5000 };
ptrdiff_t kn_held_out(ptrdiff_t N); /* how many those are */
kn_status kn_folds_deal(kn_ctx *ctx, ptrdiff_t N, const int *groups, uint64_t seed, int *folds,
                        int *fold);

#endif
