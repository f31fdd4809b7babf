/* Sums over blocks of responses, and over MPI ranks. All such sums use these functions, so that a
 * fit has the same bits for any number of threads and processes.
 *
 *     matrices                        kn_sum: exact, in any order; one partial product per block
 *     scalars, participant vectors    kn_slots: one slot per block, added in the order of blocks */
#ifndef KN_BASE_SUM_BLOCK_SUMS_H
#define KN_BASE_SUM_BLOCK_SUMS_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "base/sum/exact_sum.h"

/* Replaces x[n] by its sum over MPI ranks. Reproducible under the conditions of kn_comm_sum.
 * Collective. */
kn_status kn_reduce(kn_ctx *ctx, double *x, ptrdiff_t n);

/* A rows x cols matrix of sums, or the lower triangle of a square one in half the memory. */
typedef struct kn_sum {
    ptrdiff_t rows, cols;
    bool lower;
    kn_exact_sum exact;
} kn_sum;

/* Allocates a rows x cols matrix of exact zero sums. bound: of the absolute value of every
 * addend and partial sum of an element; limbs: 1 for products in float32, 2 for double. Errors
 * as kn_exact_sum_new. */
kn_status kn_sum_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, double bound, int limbs,
                     kn_sum *out);
/* Allocates the lower triangle of an n x n matrix of exact zero sums; bound, limbs and errors as
 * kn_sum_new. */
kn_status kn_sum_new_lower(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_sum *out);
void kn_sum_clear(kn_sum *s);

/* Adds the partial product of a block, which has the shape of the sum, on the context's threads.
 * A value beyond the bound is reported by kn_sum_value. */
void kn_sum_add(kn_ctx *ctx, kn_sum *s, kn_mat product);
/* Adds a partial product in float32, which has the shape of the sum, on the context's threads. */
void kn_sum_add_f32(kn_ctx *ctx, kn_sum *s, kn_fmat product);

/* Computes out, the sum over blocks and MPI ranks (of `lower`: its lower triangle). Call it
 * once, after the last block. KN_ERR_NUMERIC on all ranks if the bound was violated on one of
 * them: a caller whose bound is a guess starts again with a larger one. Collective. */
kn_status kn_sum_value(kn_ctx *ctx, kn_sum *s, kn_mat out);

/* Replaces the limbs of an exact sum by their sums over MPI ranks. Call it once. KN_ERR_NUMERIC
 * on all ranks if a bound was violated. Collective. */
kn_status kn_exact_sum_reduce(kn_ctx *ctx, kn_exact_sum *s);

/* n numbers for each of `blocks` blocks; kn_slots_new sets them to zero. */
typedef struct kn_slots {
    ptrdiff_t blocks, n;
    double *values; /* n x blocks */
} kn_slots;

/* Allocates slots, n zero sums for each of so many blocks, which are later added in the order of
 * blocks. */
kn_status kn_slots_new(kn_ctx *ctx, ptrdiff_t blocks, ptrdiff_t n, kn_slots *out);
void kn_slots_clear(kn_slots *s);

/* The n numbers of a block. */
static inline double *kn_slot(const kn_slots *s, ptrdiff_t block)
{
    return s->values + block * s->n;
}

/* Computes out[n], the sum of the slots over blocks, in their order. Each slot must have been
 * written by one MPI rank only, the one that has the block. Call it once, after the last block.
 * Collective. */
kn_status kn_slots_sum(kn_ctx *ctx, kn_slots *s, double *out);

/* Predicts in plan r the memory of a kn_sum with the shape of `like` and so many limbs, which
 * stays in the plan. */
void kn_sum_need(kn_mem_plan *r, kn_mem_category category, kn_sum like, int limbs);
/* Predicts in plan r the memory of slots of n sums for so many blocks, which stay in the plan. */
void kn_slots_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t blocks, ptrdiff_t n);

#endif
