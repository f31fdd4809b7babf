/* A single held-out set in place of folds, for large N: the basis of the other rows comes from the
 * products of responses or, of many responses, from a range finder [METHOD 5b, 6b]. Choice of
 * components and reference use the same set, so that its basis is computed once. */
#ifndef KN_GP_CV_SINGLE_HOLDOUT_H
#define KN_GP_CV_SINGLE_HOLDOUT_H

#include "base/memory/plan.h"
#include "gp/basis/range_finder.h"
#include "gp/cv/fold.h"

enum { KN_RANGE_LADDER = 100 }; /* most components tried: bounds the cost of the range finder */

typedef struct kn_heldout {
    kn_fold rows;        /* train and test rows; no coordinates */
    kn_basis basis;      /* of the training rows: B T x K, Z n_train x K */
    double *mean;        /* T  mean of the training rows */
    kn_range_info range; /* zeros by Y'Y */
} kn_heldout;

/* What a held-out set is made of; all borrowed. */
typedef struct kn_heldout_input {
    const kn_responses *Y; /* all N rows */
    const kn_gram *gram;   /* Y'Y; NULL: computed of the training rows where needed */
    const int *fold;       /* N  0: held out, -1: training (kn_folds_assign) */
    uint64_t seed;         /* of the range finder */
} kn_heldout_input;

/* Finds at most K components of the training rows: exactly by Y'Y of up to KN_BLOCK responses, by a
 * range finder for more. Reads Y in passes. The caller frees *out. Collective. */
kn_status kn_heldout_new(kn_ctx *ctx, const kn_heldout_input *input, ptrdiff_t K, kn_heldout *out);
/* True if the basis of a held-out set with T responses comes from Y'Y (T x T) rather than from
 * the range finder. */
bool kn_heldout_by_products(ptrdiff_t T);
void kn_heldout_clear(kn_heldout *h); /* {0} is allowed */

/* Computes *out (N x at most k, owned by the caller) = Y B, the coordinates of all rows in the
 * basis of the training rows: a start for the basis of all rows. Reads only the held-out rows of
 * Y, 2 n_test T k flops. Collective. */
kn_status kn_heldout_sketch(kn_ctx *ctx, const kn_heldout *h, const kn_responses *Y, ptrdiff_t k,
                            kn_mat *out);
/* Predicts in plan r the memory of kn_heldout_sketch: *out (s->N x k) stays in the plan, the
 * work space only raises the peak. */
void kn_heldout_sketch_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k);

/* Predicts in plan r the memory of kn_heldout_new for s->N rows and K components: the held-out
 * set stays in the plan. */
void kn_heldout_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t K);

#endif
