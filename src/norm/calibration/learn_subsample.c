/* Implements learn_subsample.h. Every rank samples its own blocks; at the end all ranks
 * broadcast theirs. */
#include "norm/calibration/learn_subsample.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "data/canonical_order.h"
#include "gp/method.h"
#include "norm/calibration/internal.h"

static const double SAMPLE_CELLS = 6e5;
enum { SAMPLE_MIN = 500, SAMPLE_MAX = 5000, AUTO_FROM = 50 };

ptrdiff_t kn_learner_sample_size(ptrdiff_t n, ptrdiff_t T)
{
    ptrdiff_t limit = (ptrdiff_t)(SAMPLE_CELLS / (double)n);
    limit = limit < SAMPLE_MIN ? SAMPLE_MIN : kn_min_size(limit, SAMPLE_MAX);
    return kn_min_size(T, limit);
}

bool kn_learner_chooses(kn_calibrate how, ptrdiff_t n)
{
    return how == KN_CALIBRATE_FULL || (how == KN_CALIBRATE_AUTO && n >= AUTO_FROM);
}

ptrdiff_t kn_learner_sample(const kn_learner *l, ptrdiff_t *every)
{
    const kn_learner_job *job = &l->job;
    if (!kn_learner_chooses(job->how, job->n))
        return 0;
    ptrdiff_t sampled = kn_learner_sample_size(job->n, job->T);
    *every = (job->T + sampled - 1) / sampled;
    return sampled;
}

/* Block visitor, called before the first block: allocates residuals, variances, leave-one-out noise
 * and noise factors of the subsample of responses (n x at most T each). */
static kn_status begin_sample(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_learner *l = self;
    ptrdiff_t limit = kn_min_size(plan->blocks * plan->width, l->job.T);
    l->sampled = 0;
    KN_TRY(kn_mat_new(ctx, plan->n, limit, &l->e));
    KN_TRY(kn_mat_new(ctx, plan->n, limit, &l->v));
    KN_TRY(kn_mat_new(ctx, plan->n, limit, &l->others));
    KN_TRY(kn_mat_new(ctx, plan->n, limit, &l->factor));
out:
    return status;
}

/* Block visitor, called for each block: stores residuals, model variance and leave-one-out noise of
 * its responses, until the subsample is full. */
static kn_status sample_block(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_learner *l = self;
    ptrdiff_t n = l->job.n;
    double *work = NULL;
    kn_status status = kn_alloc_d(ctx, 5 * n, &work);
    for (ptrdiff_t j = 0; status == KN_OK && j < b->count && l->sampled < l->e.cols; j++) {
        double *e = work, *noise = work + n, *sums = work + 2 * n;
        const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j), *v = kn_col(b->var, j);
        for (ptrdiff_t i = 0; i < n; i++)
            e[i] = isfinite(y[i]) ? y[i] - mean[i] : NAN;
        kn_learner_loo_noise(l, b, j, (kn_heldout_residuals){.e = e, .v = v}, sums, noise);
        kn_learner_in_order(l, e, kn_col(l->e, l->sampled));
        kn_learner_in_order(l, v, kn_col(l->v, l->sampled));
        kn_learner_in_order(l, noise, kn_col(l->others, l->sampled));
        l->sampled++;
    }
    kn_free(work);
    return status;
}

/* Broadcast n columns of the subsample, from position `at` on, from MPI rank r. Collective. */
static kn_status broadcast_columns(kn_ctx *ctx, const kn_learner *l, ptrdiff_t at, ptrdiff_t n,
                                   int r)
{
    kn_status status = KN_OK;
    const kn_mat matrix[] = {l->e, l->v, l->others};
    for (int k = 0; k < 3 && n > 0 && status == KN_OK; k++)
        status = kn_comm_broadcast(ctx, kn_col(matrix[k], at),
                                   n * matrix[k].ld * (ptrdiff_t)sizeof *matrix[k].data, r);
    return status;
}

/* Block visitor, called after the last block: all-gathers the subsample of responses, the columns
 * of rank 0, then of rank 1, and so on. Collective. */
static kn_status end_sample(kn_ctx *ctx, void *self)
{
    kn_status status;
    kn_learner *l = self;
    const kn_comm *c = kn_ctx_comm(ctx);
    double *counts = NULL;
    ptrdiff_t at = 0, mine = l->sampled;
    if (c->size == 1)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, c->size, &counts));
    counts[c->rank] = (double)mine;
    KN_TRY(kn_comm_sum(ctx, counts, c->size));
    for (int r = 0; r < c->rank; r++)
        at += (ptrdiff_t)counts[r];
    const kn_mat matrix[] = {l->e, l->v, l->others};
    for (int k = 0; k < 3 && mine > 0; k++)
        memmove(kn_col(matrix[k], at), matrix[k].data,
                (size_t)(mine * matrix[k].ld) * sizeof *matrix[k].data);
    l->sampled = 0;
    for (int r = 0; r < c->size; r++) {
        KN_TRY(broadcast_columns(ctx, l, l->sampled, (ptrdiff_t)counts[r], r));
        l->sampled += (ptrdiff_t)counts[r];
    }
out:
    kn_free(counts);
    return status;
}

kn_visitor kn_learner_visitor(kn_learner *l)
{
    return (kn_visitor){l, KN_BLOCK_Y | KN_BLOCK_MAPS, begin_sample, sample_block, end_sample};
}

/* The block loop leaves what the maps keep in memory. */
ptrdiff_t kn_learner_sample_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    enum { SAMPLE = 4 }; /* e, v, others, factor */
    ptrdiff_t sampled = kn_learner_sample_size(n, s->T),
              limit = kn_min_size(sampled + KN_LEARNER_CUT, s->T);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, SAMPLE * limit);
    kn_mem_usage mark = r->now, end;
    if (sampled < s->T) {
        kn_plan_alloc(r, KN_NEED_WORK, sampled, sizeof(ptrdiff_t));
        kn_responses_draw_need(r, s->T);
    }
    kn_block_loop_need(r, n, kn_block_loop_width(sampled < s->T ? KN_LEARNER_CUT : 0, s->T),
                       KN_BLOCK_Y | KN_BLOCK_MAPS);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 5);
    end = r->now;
    s->method->need.block(r, s, KN_MAPS_CV, n);
    kn_plan_free(r, mark, end);
    return limit;
}
