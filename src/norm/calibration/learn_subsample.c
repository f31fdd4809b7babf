/* Implements learn_subsample.h. Every rank samples its own blocks; at the end all ranks
 * broadcast theirs. */
#include "norm/calibration/learn_subsample.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "gp/method.h"
#include "norm/calibration/learn_structure.h"

static const double SAMPLE_CELLS = 6e5;
enum { SAMPLE_LEAST = 500, SAMPLE_MOST = 5000, AUTO_FROM = 50 };

static ptrdiff_t sample_size(ptrdiff_t n, ptrdiff_t T)
{
    ptrdiff_t most = (ptrdiff_t)(SAMPLE_CELLS / (double)n);
    most = most < SAMPLE_LEAST ? SAMPLE_LEAST : kn_min_size(most, SAMPLE_MOST);
    return kn_min_size(T, most);
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
    ptrdiff_t some = sample_size(job->n, job->T);
    *every = (job->T + some - 1) / some;
    return some;
}

static kn_status begin_sample(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_learner *l = self;
    ptrdiff_t most = kn_min_size(plan->blocks * plan->width, l->job.T);
    l->sampled = 0;
    KN_TRY(kn_mat_new(ctx, plan->n, most, &l->e));
    KN_TRY(kn_mat_new(ctx, plan->n, most, &l->v));
    KN_TRY(kn_mat_new(ctx, plan->n, most, &l->others));
    KN_TRY(kn_mat_new(ctx, plan->n, most, &l->factor));
out:
    return status;
}

/* Store e, v and leave-one-out noise of the responses of a block, until the subsample is full. */
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
        kn_learner_others(l, b, j, (kn_heldout_residuals){.e = e, .v = v}, sums, noise);
        kn_learner_in_order(l, e, kn_col(l->e, l->sampled));
        kn_learner_in_order(l, v, kn_col(l->v, l->sampled));
        kn_learner_in_order(l, noise, kn_col(l->others, l->sampled));
        l->sampled++;
    }
    kn_free(work);
    return status;
}

/* Broadcast n columns from position `at` on, from rank r. */
static kn_status share_columns(kn_ctx *ctx, const kn_learner *l, ptrdiff_t at, ptrdiff_t n, int r)
{
    kn_status status = KN_OK;
    const kn_mat of[] = {l->e, l->v, l->others};
    for (int k = 0; k < 3 && n > 0 && status == KN_OK; k++)
        status = kn_comm_broadcast(ctx, kn_col(of[k], at),
                                   n * of[k].ld * (ptrdiff_t)sizeof *of[k].data, r);
    return status;
}

/* All-gather the subsample: the columns of rank 0, then of rank 1, and so on. */
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
    const kn_mat of[] = {l->e, l->v, l->others};
    for (int k = 0; k < 3 && mine > 0; k++)
        memmove(kn_col(of[k], at), of[k].data, (size_t)(mine * of[k].ld) * sizeof *of[k].data);
    l->sampled = 0;
    for (int r = 0; r < c->size; r++) {
        KN_TRY(share_columns(ctx, l, l->sampled, (ptrdiff_t)counts[r], r));
        l->sampled += (ptrdiff_t)counts[r];
    }
out:
    kn_free(counts);
    return status;
}

kn_visitor kn_learner_visitor(kn_learner *l)
{
    return (kn_visitor){l, KN_WALK_Y | KN_WALK_MAPS, begin_sample, sample_block, end_sample};
}

/* The block loop leaves what the maps keep in memory. */
ptrdiff_t kn_learner_sample_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    enum { SAMPLE = 4 }; /* e, v, others, factor */
    ptrdiff_t some = sample_size(n, s->T), most = kn_min_size(some + KN_LEARNER_CUT, s->T);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, SAMPLE * most);
    kn_mem_usage mark = r->now, room;
    kn_block_loop_need(r, n, kn_block_loop_width(some < s->T ? KN_LEARNER_CUT : 0, s->T),
                       KN_WALK_Y | KN_WALK_MAPS);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 5);
    room = r->now;
    s->method->need.block(r, s, KN_MAPS_CV, n);
    kn_plan_free(r, mark, room);
    return most;
}
