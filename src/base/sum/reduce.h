/* Sums over blocks of responses. Every one of them leaves through this door, so that a fit has the
 * same bits for any number of threads and of processes, which share them by kn_reduce.
 *
 *     matrices             kn_sum: exact, in any order              a partial product a block
 *     scalars, people      kn_slots: one slot a block, added up in the order of blocks         */
#ifndef KN_BASE_SUM_REDUCE_H
#define KN_BASE_SUM_REDUCE_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "base/sum/exact_sum.h"

/* x[n] = its sum over all processes, the only one's where there is one. Collective. */
kn_status kn_reduce(kn_ctx *ctx, double *x, ptrdiff_t n);

/* A rows x cols matrix of sums; or the lower triangle of a square one, with half the memory. */
typedef struct kn_sum {
    ptrdiff_t rows, cols;
    bool lower;
    kn_exact_sum exact;
} kn_sum;

/* bound: of an element's addends and of every sum of some of them; limbs: 1 for products in
 * float32, 2 for double. See exact.h. */
kn_status kn_sum_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, double bound, int limbs,
                     kn_sum *out);
kn_status kn_sum_new_lower(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_sum *out);
void kn_sum_clear(kn_sum *s);

/* Takes a block's part, on the context's threads. */
void kn_sum_add(kn_ctx *ctx, kn_sum *s, kn_mat part);
void kn_sum_add_f32(kn_ctx *ctx, kn_sum *s, kn_fmat part);

/* out = the sum (of `lower`: its lower triangle), once, after the last block. KN_ERR_NUMERIC when
 * the bound did not hold, on all ranks when it did not on one: a caller whose bound is a guess
 * begins again with a larger one. Collective. */
kn_status kn_sum_value(kn_ctx *ctx, kn_sum *s, kn_mat out);

/* The limbs of s become their sums over all ranks, once; KN_ERR_NUMERIC as above. Collective. */
kn_status kn_exact_sum_reduce(kn_ctx *ctx, kn_exact_sum *s);

/* n numbers for each of `blocks` blocks, all zero. */
typedef struct kn_slots {
    ptrdiff_t blocks, n;
    double *values;
} kn_slots;

kn_status kn_slots_new(kn_ctx *ctx, ptrdiff_t blocks, ptrdiff_t n, kn_slots *out);
void kn_slots_clear(kn_slots *s);

static inline double *kn_slot(const kn_slots *s, ptrdiff_t block) /* n numbers to write */
{
    return s->values + block * s->n;
}

/* out[n] = sum over blocks, in their order; once, after the last. Collective: a slot is written by
 * the rank that has the block. */
kn_status kn_slots_sum(kn_ctx *ctx, kn_slots *s, double *out);

/* Of a sum such as `like`, and of slots. */
void kn_sum_need(kn_mem_plan *r, kn_mem_category part, kn_sum like, int limbs);
void kn_slots_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t blocks, ptrdiff_t n);

#endif
