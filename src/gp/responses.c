#include "gp/responses.h"

#include <math.h>

#include "base/mapped.h"
#include "base/parallel.h"

/* Variation below this share of the largest magnitude is rounding: float32 has none below 6e-8. */
static const double CONSTANT = 1e-10;

void kn_scaling_clear(kn_scaling *s)
{
    kn_free(s->kept);
    kn_free(s->mean);
    kn_free(s->sd);
    kn_free(s->mean0);
    kn_free(s->sd0);
    *s = (kn_scaling){0};
}

typedef struct moments_job {
    const kn_ctx *ctx;
    kn_view Y;
    double *mean, *sd, *largest;
} moments_job;

/* Two passes over columns a tile wide: the second sum is of squared differences, so that data far
 * from zero lose no digits. */
static void moments(void *self, ptrdiff_t first, ptrdiff_t last)
{
    moments_job *job = self;
    double n = (double)job->Y.rows;
    for (ptrdiff_t j = first; j < last; j++)
        job->mean[j] = job->sd[j] = job->largest[j] = 0;
    for (ptrdiff_t i = 0; i < job->Y.rows; i++)
        for (ptrdiff_t j = first; j < last; j++) {
            double y = kn_view_at(job->Y, i, j);
            job->mean[j] += y / n;
            if (!(fabs(y) <= job->largest[j])) /* NaN sticks */
                job->largest[j] = fabs(y);
        }
    for (ptrdiff_t i = 0; i < job->Y.rows; i++)
        for (ptrdiff_t j = first; j < last; j++) {
            double e = kn_view_at(job->Y, i, j) - job->mean[j];
            job->sd[j] += e * e / n;
        }
    for (ptrdiff_t j = first; j < last; j++)
        job->sd[j] = sqrt(job->sd[j]);
    kn_view_done(job->ctx, job->Y, first, last - first);
}

kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out)
{
    kn_status status;
    moments_job job = {.ctx = ctx, .Y = Y};
    *out = (kn_scaling){.n_all = Y.cols};
    KN_TRY(kn_alloc_d(ctx, Y.cols, &job.mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &job.sd));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &job.largest));
    KN_TRY(kn_alloc_i(ctx, Y.cols, &out->kept));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean0));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd0));
    kn_parallel(ctx, Y.cols, 512, moments, &job);
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        bool finite = isfinite(job.mean[j]) && isfinite(job.sd[j]);
        if (!finite || job.sd[j] <= CONSTANT * job.largest[j])
            continue;
        ptrdiff_t k = out->n_kept++;
        out->kept[k] = j;
        out->mean0[k] = job.mean[j];
        out->sd0[k] = job.sd[j];
        out->mean[k] = standardise ? job.mean[j] : 0;
        out->sd[k] = standardise ? job.sd[j] : 1;
    }
out:
    kn_free(job.mean);
    kn_free(job.sd);
    kn_free(job.largest);
    if (status != KN_OK)
        kn_scaling_clear(out);
    return status;
}

kn_responses kn_responses_of(kn_view Y, const kn_scaling *scaling)
{
    return (kn_responses){Y, scaling, Y.rows, scaling->n_kept};
}

typedef struct block_job {
    const kn_ctx *ctx;
    const kn_responses *Y;
    ptrdiff_t first;
    const ptrdiff_t *index; /* NULL: first, first + 1, ... */
    kn_mat block;
} block_job;

static void fill_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    block_job *job = self;
    const kn_scaling *s = job->Y->scaling;
    kn_view Y = job->Y->Y;
    enum { ROWS = 64 }; /* a tile of rows stays in cache while the columns of the chunk pass */
    for (ptrdiff_t i0 = 0; i0 < Y.rows; i0 += ROWS) {
        ptrdiff_t i1 = i0 + ROWS < Y.rows ? i0 + ROWS : Y.rows;
        for (ptrdiff_t j = from; j < to; j++) {
            ptrdiff_t k = job->index ? job->index[j] : job->first + j;
            double mean = s->mean[k], scale = 1 / s->sd[k], *out = kn_col(job->block, j);
            for (ptrdiff_t i = i0; i < i1; i++)
                out[i] = (kn_view_at(Y, i, s->kept[k]) - mean) * scale;
        }
    }
    for (ptrdiff_t j = from, run; j < to; j += run) { /* neighbours leave together */
        ptrdiff_t k = job->index ? job->index[j] : job->first + j;
        for (run = 1; j + run < to && (!job->index || job->index[j + run] == k + run); run++)
            ;
        kn_view_done(job->ctx, Y, s->kept[k], s->kept[k + run - 1] - s->kept[k] + 1);
    }
}

void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block)
{
    block_job job = {ctx, Y, first, NULL, block};
    kn_parallel(ctx, block.cols, 1 + 100000 / (block.rows + 1), fill_columns, &job);
}

void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block)
{
    block_job job = {ctx, Y, 0, index, block};
    kn_parallel(ctx, block.cols, 1 + 100000 / (block.rows + 1), fill_columns, &job);
}
