/* Implements fold_energy.h; the version without Gram matrix is a block visitor. */
#include "gp/cv/fold_energy.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "base/sum/reduce.h"
#include "gp/block_visitor.h"

enum { COLUMNS = 16 }; /* responses per parallel task */

void kn_fold_energy(kn_mat G, kn_fold *f)
{
    double trace = 0, sum = 0;
    for (ptrdiff_t j = 0; j < f->n_train; j++) {
        const double *g = kn_col(G, f->train[j]);
        trace += g[f->train[j]];
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            sum += g[f->train[i]];
    }
    f->total = fmax(trace - sum / (double)f->n_train, 0);
}

typedef struct energies {
    const kn_fold *f;
    int n;
    kn_slots sums; /* n sums per block */
    kn_mat own;    /* width x n: of each response */
    const kn_block *b;
} energies;

static kn_status begin(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    energies *e = self;
    KN_TRY(kn_slots_new(ctx, plan->blocks, e->n, &e->sums));
    KN_TRY(kn_mat_new(ctx, plan->width, e->n, &e->own));
out:
    return status;
}

/* Variation about the fold's mean of columns from .. to - 1, for each fold. */
static void columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const energies *e = self;
    for (ptrdiff_t j = from; j < to; j++)
        for (int k = 0; k < e->n; k++) {
            const double *y = kn_col(e->b->y, j);
            const kn_fold *f = &e->f[k];
            double mean = 0, sum = 0;
            for (ptrdiff_t i = 0; i < f->n_train; i++)
                mean += y[f->train[i]] / (double)f->n_train;
            for (ptrdiff_t i = 0; i < f->n_train; i++)
                sum += (y[f->train[i]] - mean) * (y[f->train[i]] - mean);
            kn_col(e->own, k)[j] = sum;
        }
}

static kn_status block(kn_ctx *ctx, void *self, kn_block *b)
{
    energies *e = self;
    double *sums = kn_slot(&e->sums, b->number);
    e->b = b;
    kn_parallel(ctx, b->count, COLUMNS, columns, e);
    for (int k = 0; k < e->n; k++)
        for (ptrdiff_t j = 0; j < b->count; j++)
            sums[k] += kn_at(e->own, j, k);
    return KN_OK;
}

kn_status kn_folds_energy(kn_ctx *ctx, const kn_responses *Y, kn_fold *f, int n)
{
    kn_status status;
    energies e = {.f = f, .n = n};
    double *total = NULL;
    kn_visitor visitor = {&e, KN_WALK_Y, begin, block, NULL};
    KN_TRY(kn_alloc_d(ctx, n, &total));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
    KN_TRY(kn_slots_sum(ctx, &e.sums, total));
    for (int k = 0; k < n; k++)
        f[k].total = total[k];
out:
    kn_free(total);
    kn_slots_clear(&e.sums);
    kn_mat_clear(&e.own);
    return status;
}
