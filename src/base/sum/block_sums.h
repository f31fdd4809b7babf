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

/* x[n] = its sum over MPI ranks. Reproducible under the conditions of kn_comm_sum. Collective. */
kn_status kn_reduce(kn_ctx *ctx, double *x, ptrdiff_t n);

/* A rows x cols matrix of sums, or the lower triangle of a square one in half the memory. */
typedef struct kn_sum {
    ptrdiff_t rows, cols;
    bool lower;
    kn_exact_sum exact;
} kn_sum;

/* Allocate a matrix of zero sums. bound: of the absolute value of every addend and partial sum of
 * an element; limbs: 1 for products in float32, 2 for double. Errors as kn_exact_sum_new. */
kn_status kn_sum_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, double bound, int limbs,
                     kn_sum *out);
kn_status kn_sum_new_lower(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_sum *out);
void kn_sum_clear(kn_sum *s);

/* Add the partial product of a block, which has the shape of the sum, on the context's threads. */
void kn_sum_add(kn_ctx *ctx, kn_sum *s, kn_mat product);
void kn_sum_add_f32(kn_ctx *ctx, kn_sum *s, kn_fmat product);

/* out = the sum over blocks and ranks (of `lower`: its lower triangle). Call it once, after the
 * last block. KN_ERR_NUMERIC on all ranks if the bound was violated on one of them: a caller whose
 * bound is a guess starts again with a larger one. Collective. */
kn_status kn_sum_value(kn_ctx *ctx, kn_sum *s, kn_mat out);

/* Replaces the limbs of s by their sums over ranks. Call it once. KN_ERR_NUMERIC as above.
 * Collective. */
kn_status kn_exact_sum_reduce(kn_ctx *ctx, kn_exact_sum *s);

/* n numbers for each of `blocks` blocks; kn_slots_new sets them to zero. */
typedef struct kn_slots {
    ptrdiff_t blocks, n;
    double *values; /* n x blocks */
} kn_slots;

/* Allocates and frees slots; {0} is allowed in _clear. */
kn_status kn_slots_new(kn_ctx *ctx, ptrdiff_t blocks, ptrdiff_t n, kn_slots *out);
void kn_slots_clear(kn_slots *s);

/* The n numbers of a block. */
static inline double *kn_slot(const kn_slots *s, ptrdiff_t block)
{
    return s->values + block * s->n;
}

/* out[n] = sum over blocks, in their order. Each slot must have been written by one rank only, the
 * one that has the block. Call it once, after the last block. Collective. */
kn_status kn_slots_sum(kn_ctx *ctx, kn_slots *s, double *out);

/* Memory plan of a sum with the shape of `like`, and of slots. */
void kn_sum_need(kn_mem_plan *r, kn_mem_category category, kn_sum like, int limbs);
void kn_slots_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t blocks, ptrdiff_t n);

#endif
