/* Many samples: one set held out instead of folds, and the basis of the others from a range finder
 * instead of a Gram matrix [METHOD 5b, 6b]. Components are chosen and the reference is made
 * with the same set, so the basis is found once. */
#ifndef KN_GP_CV_SINGLE_HOLDOUT_H
#define KN_GP_CV_SINGLE_HOLDOUT_H

#include "base/memory/plan.h"
#include "gp/basis/range_finder.h"
#include "gp/cv/fold.h"

enum { KN_RANGE_LADDER = 100 }; /* most components tried: the range finder's cost grows with them */

typedef struct kn_heldout {
    kn_fold rows;   /* train and test; no coordinates */
    kn_basis basis; /* of the training rows: B T x K, Z n_train x K */
    double *mean;   /* T  theirs */
    kn_range_info range;
} kn_heldout;

/* K components, or as many as there are. fold[i] is 0 or -1, see kn_folds_deal. */
kn_status kn_heldout_new(kn_ctx *ctx, const kn_responses *Y, const int *fold, ptrdiff_t K,
                         uint64_t seed, kn_heldout *out);
void kn_heldout_clear(kn_heldout *h); /* {0} is fine */

/* out (N x at most k) = Y B, from which the basis of all samples begins: only those held out are
 * read, 2 n_test T k flops. Collective. */
kn_status kn_heldout_sketch(kn_ctx *ctx, const kn_heldout *h, const kn_responses *Y, ptrdiff_t k,
                            kn_mat *out);
void kn_heldout_sketch_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k); /* leaves it */

/* Of s->N samples, K components. */
void kn_heldout_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t K);

#endif
