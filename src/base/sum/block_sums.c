/* Implements block_sums.h. Sums over responses are the same bits for every number of threads and
 * MPI ranks. */
#include "base/sum/block_sums.h"

#include <assert.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"

kn_status kn_reduce(kn_ctx *ctx, double *x, ptrdiff_t n)
{
    return kn_comm_sum(ctx, x, n);
}

/* ---- matrices --------------------------------------------------------------------------------
 */

/* Returns the number of stored elements of a sum: rows x cols, or a packed triangle. */
static ptrdiff_t count_elements(kn_sum like)
{
    return like.lower ? like.rows * (like.rows + 1) / 2 : like.rows * like.cols;
}

/* Allocates zero sums *out with the shape of `like`. bound, limbs and errors as
 * kn_exact_sum_new. */
static kn_status sum_new(kn_ctx *ctx, kn_sum like, double bound, int limbs, kn_sum *out)
{
    *out = like;
    return kn_exact_sum_new(ctx, count_elements(like), bound, limbs, &out->exact);
}

void kn_sum_need(kn_mem_plan *r, kn_mem_category category, kn_sum like, int limbs)
{
    for (int l = 0; l < limbs; l++)
        kn_plan_alloc_d(r, category, count_elements(like), 1);
}

kn_status kn_sum_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, double bound, int limbs,
                     kn_sum *out)
{
    return sum_new(ctx, (kn_sum){.rows = rows, .cols = cols}, bound, limbs, out);
}

kn_status kn_sum_new_lower(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_sum *out)
{
    return sum_new(ctx, (kn_sum){.rows = n, .cols = n, .lower = true}, bound, limbs, out);
}

void kn_sum_clear(kn_sum *s)
{
    kn_exact_sum_clear(&s->exact);
    *s = (kn_sum){0};
}

/* Returns the index of the first stored element of column j among the sums; *top = its row. A
 * triangle is packed by columns. */
static ptrdiff_t column_start(const kn_sum *s, ptrdiff_t j, ptrdiff_t *top)
{
    *top = s->lower ? j : 0;
    return s->lower ? j * s->rows - j * (j - 1) / 2 : j * s->rows;
}

typedef struct add_job {
    kn_sum *s;
    kn_mat product;
    kn_fmat single; /* used instead of product if it has data */
} add_job;

/* Parallel task (self: add_job): adds columns first .. last - 1 of a product, of its lower
 * triangle if the sum is symmetric, to the exact sum. */
static void add_columns(void *self, ptrdiff_t first, ptrdiff_t last)
{
    add_job *b = self;
    for (ptrdiff_t j = first; j < last; j++) {
        ptrdiff_t top, at = column_start(b->s, j, &top), n = b->s->rows - top;
        if (b->single.data)
            kn_exact_sum_add_f32(&b->s->exact, at, n, kn_fcol(b->single, j) + top);
        else
            kn_exact_sum_add(&b->s->exact, at, n, kn_col(b->product, j) + top);
    }
}

/* Adds the partial product of a block to the exact sum, on the context's threads. */
static void add_block(kn_ctx *ctx, add_job *b)
{
    enum { ELEMENTS = 100000 }; /* per chunk, to be worth a thread */
    if (b->s->exact.n > 0)
        kn_parallel(ctx, b->s->cols, 1 + ELEMENTS / b->s->rows, add_columns, b);
}

void kn_sum_add(kn_ctx *ctx, kn_sum *s, kn_mat product)
{
    assert(product.rows == s->rows && product.cols == s->cols);
    add_block(ctx, &(add_job){.s = s, .product = product});
}

void kn_sum_add_f32(kn_ctx *ctx, kn_sum *s, kn_fmat product)
{
    assert(product.rows == s->rows && product.cols == s->cols);
    add_block(ctx, &(add_job){.s = s, .single = product});
}

/* The flag `broken` is reduced by a maximum: an error on one rank is one on all ranks. */
kn_status kn_exact_sum_reduce(kn_ctx *ctx, kn_exact_sum *e)
{
    kn_status status;
    double broken = atomic_load(&e->broken);
    for (int l = 0; l < e->limbs; l++)
        KN_TRY(kn_reduce(ctx, e->limb[l], e->n));
    KN_TRY(kn_comm_max(ctx, &broken, 1));
    atomic_store(&e->broken, broken > 0);
    status = kn_exact_sum_check(ctx, e);
out:
    return status;
}

kn_status kn_sum_value(kn_ctx *ctx, kn_sum *s, kn_mat out)
{
    kn_status status;
    assert(out.rows == s->rows && out.cols == s->cols);
    KN_TRY(kn_exact_sum_reduce(ctx, &s->exact));
    for (ptrdiff_t j = 0; j < s->cols; j++) {
        ptrdiff_t top, at = column_start(s, j, &top);
        kn_exact_sum_value(&s->exact, at, s->rows - top, kn_col(out, j) + top);
    }
out:
    return status;
}

/* ---- slots ------------------------------------------------------------------------------------
 */

kn_status kn_slots_new(kn_ctx *ctx, ptrdiff_t blocks, ptrdiff_t n, kn_slots *out)
{
    *out = (kn_slots){.blocks = blocks, .n = n};
    return kn_alloc_d(ctx, blocks * n, &out->values);
}

void kn_slots_need(kn_mem_plan *r, kn_mem_category category, ptrdiff_t blocks, ptrdiff_t n)
{
    kn_plan_alloc_d(r, category, blocks, n);
}

void kn_slots_clear(kn_slots *s)
{
    kn_free(s->values);
    *s = (kn_slots){0};
}

kn_status kn_slots_sum(kn_ctx *ctx, kn_slots *s, double *out)
{
    kn_status status = kn_reduce(ctx, s->values, s->blocks * s->n);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < s->n; i++)
        out[i] = 0;
    for (ptrdiff_t b = 0; b < s->blocks; b++)
        for (ptrdiff_t i = 0; i < s->n; i++)
            out[i] += kn_slot(s, b)[i];
    return KN_OK;
}
