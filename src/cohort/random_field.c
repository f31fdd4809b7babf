/* Implements random_field.h. A field is a sum of cosine waves with random directions. */
#include "cohort/random_field.h"

#include <math.h>
#include <stdatomic.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"

static const double TWO_PI = 6.283185307179586;

void kn_field_init(kn_field *field, uint64_t seed, uint64_t stream, double length)
{
    kn_rng rng;
    kn_rng_init(&rng, seed, stream);
    for (int m = 0; m < KN_FIELD_WAVES; m++) {
        for (int d = 0; d < 3; d++)
            field->wave[m][d] = kn_rng_normal(&rng) / length;
        field->phase[m] = TWO_PI * kn_rng_uniform(&rng);
    }
}

/* Returns the value of a random field at position p (mm): a sum of cosine waves with mean 0 and
 * variance 1. */
static double field_at(const kn_field *f, const double p[3])
{
    double sum = 0;
    for (int m = 0; m < KN_FIELD_WAVES; m++)
        sum +=
            cos(f->wave[m][0] * p[0] + f->wave[m][1] * p[1] + f->wave[m][2] * p[2] + f->phase[m]);
    return sum * sqrt(2.0 / KN_FIELD_WAVES);
}

void kn_voxel_position(const kn_nifti_header *grid, ptrdiff_t voxel, double place[3])
{
    ptrdiff_t nx = grid->dim[0], ny = grid->dim[1];
    const double ijk[3] = {(double)(voxel % nx), (double)(voxel / nx % ny),
                           (double)(voxel / (nx * ny))};
    for (int r = 0; r < 3; r++) {
        const double *row = grid->srow[r];
        place[r] = row[0] * ijk[0] + row[1] * ijk[1] + row[2] * ijk[2] + row[3];
    }
}

typedef struct filling {
    const kn_field *fields;
    const kn_nifti_header *grid;
    const ptrdiff_t *index;
    ptrdiff_t count, n;
    double *maps;
} filling;

/* Thread task (self: filling): evaluates all fields at voxels first to last - 1. */
static void fill_maps(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const filling *f = self;
    for (ptrdiff_t i = first; i < last; i++) {
        double p[3];
        kn_voxel_position(f->grid, f->index[i], p);
        for (ptrdiff_t k = 0; k < f->count; k++)
            f->maps[k * f->n + i] = field_at(&f->fields[k], p);
    }
}

void kn_field_maps(kn_ctx *ctx, const kn_field *fields, ptrdiff_t count,
                   const kn_nifti_header *grid, const ptrdiff_t *index, ptrdiff_t n, double *maps)
{
    enum { GRAIN = 1024 };
    filling f = {fields, grid, index, count, n, maps};
    kn_parallel(ctx, n, GRAIN, fill_maps, &f);
}

/* ---- parallel loop ---- */

enum { BATCH = 16 }; /* items between two reports of progress */

typedef struct batch {
    kn_ctx *parent, *ctx[BATCH];
    kn_status status[BATCH];
    kn_each_item_fn fn;
    void *self;
    ptrdiff_t first;
    atomic_bool stop;
} batch;

/* Thread task (self: batch): runs items begin to end - 1 of the batch, each in its own context;
 * stops after a failure or if cancelled. */
static void run_items(void *self, ptrdiff_t begin, ptrdiff_t end)
{
    batch *b = self;
    for (ptrdiff_t i = begin; i < end; i++) {
        if (atomic_load(&b->stop) || kn_cancelled(b->parent))
            return;
        b->status[i] = b->fn(b->ctx[i], b->self, b->first + i);
        if (b->status[i] != KN_OK)
            atomic_store(&b->stop, true);
    }
}

/* Runs n items in parallel with a new context each. Returns the error of the first failed item,
 * with its message. */
static kn_status run_batch(batch *b, ptrdiff_t n)
{
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < n; i++) {
        b->status[i] = KN_OK;
        b->ctx[i] = kn_ctx_new();
        if (!b->ctx[i])
            status = kn_fail(b->parent, KN_ERR_MEMORY, "out of memory");
    }
    if (status == KN_OK)
        kn_parallel(b->parent, n, 1, run_items, b);
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        if (b->status[i] != KN_OK)
            status = kn_fail(b->parent, b->status[i], "%s", kn_message(b->ctx[i]));
        kn_ctx_free(b->ctx[i]);
    }
    return status;
}

kn_status kn_for_each_item(kn_ctx *ctx, const char *stage, ptrdiff_t n, kn_each_item_fn fn,
                           void *self)
{
    batch b = {.parent = ctx, .fn = fn, .self = self};
    kn_status status = KN_OK;
    atomic_init(&b.stop, false);
    for (ptrdiff_t count; b.first < n; b.first += count) {
        count = n - b.first < BATCH ? n - b.first : BATCH;
        kn_report_progress(ctx, stage, b.first, n, NAN);
        KN_TRY(run_batch(&b, count));
        KN_TRY(kn_check_cancel(ctx));
    }
    kn_report_progress(ctx, stage, n, n, NAN);
out:
    return status;
}
