/* Implements evaluate_cells.h with a worker pool; limits are checked between rounds of trials. */
#include "gp/methods/stgpr/evaluate_cells.h"

#include <math.h>

#include "base/clock.h"
#include "base/mpi/comm.h"
#include "base/parallel/worker_pool.h"
#include "gp/methods/stgpr/lattice_search.h"

/* Tests whether the search must stop. With several MPI ranks cancellation is an error, and the
 * clock of root decides. Collective if there is a deadline. */
static kn_status stopped(kn_ctx *ctx, kn_cell_search *o, bool *yes)
{
    kn_status status = KN_OK;
    double late = o->limits.deadline > 0 && kn_clock() > o->limits.deadline;
    bool asked = kn_cancelled(ctx); /* read once: it may change between two reads */
    *yes = false;
    if (asked && !kn_cancel_keeps_best(ctx))
        KN_TRY(kn_fail_cancelled(ctx));
    if (o->limits.deadline > 0)
        KN_TRY(kn_comm_broadcast(ctx, &late, sizeof late, 0));
    *yes = true;
    if (asked)
        o->stop = KN_STOP_CANCELLED;
    else if (o->limits.evals_left == 0)
        o->stop = KN_STOP_MAX_EVALS;
    else if (late > 0)
        o->stop = KN_STOP_MAX_SECONDS;
    else
        *yes = false;
out:
    return status;
}

typedef struct trying {
    const kn_stgpr *s;
    const kn_cell_trials *trials;
    kn_cell_workspaces crew;
    ptrdiff_t *todo; /* trials with responses on this rank */
} trying;

/* Returns the responses J as columns: a view of alpha if they are contiguous, else a copy in
 * `room`. */
static kn_mat columns(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_mat room)
{
    if (J[n - 1] - J[0] == n - 1)
        return kn_cols(s->alpha, J[0], n);
    for (ptrdiff_t k = 0; k < n; k++)
        kn_mat_set(kn_cols(room, k, 1), kn_stgpr_alpha(s, J[k]));
    return kn_cols(room, 0, n);
}

/* Worker function: one trial. */
static kn_status evaluate(kn_ctx *ctx, void *self, int worker, ptrdiff_t item)
{
    kn_status status;
    trying *b = self;
    kn_cell_trial *t = &b->trials->trial[b->todo[item]];
    kn_cell_work *w = &b->crew.w[worker];
    KN_TRY(kn_cell_decompose(ctx, w, &t->at, t->gamma));
    for (ptrdiff_t k = 0, n; k < t->n; k += n) {
        n = kn_cell_together(w->samples, t->J + k, t->n - k);
        KN_TRY(kn_cell_fit(ctx, w, columns(b->s, t->J + k, n, w->Y), b->trials->nats));
        for (ptrdiff_t j = 0; j < n; j++)
            t->lml[(k + j) * t->stride] = w->lml[j];
    }
    t->done = true;
out:
    return status;
}

/* Evaluates trials first .. first + n - 1, all of them unless cancelled. */
static kn_status try_some(kn_ctx *ctx, trying *b, kn_cell_search *o, ptrdiff_t first, ptrdiff_t n)
{
    kn_status status = KN_OK;
    const kn_cell_trials *t = b->trials;
    kn_worker_pool team = {.workers = b->crew.n,
                           .fn = evaluate,
                           .self = b,
                           .stage = t->stage,
                           .done = first,
                           .total = t->n};
    ptrdiff_t left = 0;
    for (ptrdiff_t k = first; k < first + n; k++) {
        kn_cell_trial *one = &t->trial[k];
        one->done = one->n == 0; /* no response of this rank requests it */
        if (!one->done)
            b->todo[left++] = k;
    }
    status = kn_worker_pool_run(ctx, &team, 0, left);
    if (status == KN_ERR_CANCELLED && !t->all && kn_cancel_keeps_best(ctx)) {
        o->stop = KN_STOP_CANCELLED;
        status = KN_OK;
    }
    KN_TRY(status);
    kn_report_progress(ctx, t->stage, first + n, t->n, NAN);
out:
    return status;
}

/* Number of trials until the clock is read again, equal on all ranks. */
static ptrdiff_t at_a_time(const kn_ctx *ctx, const kn_cell_search *o, ptrdiff_t left)
{
    ptrdiff_t n = left;
    if (o->limits.deadline > 0)
        n = kn_min_size(n, kn_threads(ctx));
    return o->limits.evals_left > 0 ? kn_min_size(n, o->limits.evals_left) : n;
}

kn_status kn_cells_try(kn_ctx *ctx, const kn_cell_samples *samples, kn_cell_search *o,
                       const kn_stgpr *s, const kn_cell_trials *trials)
{
    kn_status status;
    trying b = {.s = s, .trials = trials};
    ptrdiff_t widest = 0, N = s->alpha.rows;
    int workers = kn_cell_workers(kn_threads(ctx), (double)kn_memory(ctx), trials->n, N, 0);
    for (ptrdiff_t k = 0; k < trials->n; k++)
        widest = trials->trial[k].n > widest ? trials->trial[k].n : widest;
    KN_TRY(kn_alloc_i(ctx, trials->n, &b.todo));
    KN_TRY(
        kn_cell_workspaces_new(ctx, workers, N, samples, kn_min_size(widest, KN_BLOCK), &b.crew));
    for (ptrdiff_t k = 0, n; k < trials->n && o->stop != KN_STOP_CANCELLED; k += n) {
        bool end = false, very_first = trials->first && k == 0;
        if (!trials->all && !very_first)
            KN_TRY(stopped(ctx, o, &end));
        if (end)
            break;
        n = trials->all ? trials->n : at_a_time(ctx, o, trials->n - k);
        o->evals += (int)n;
        if (!trials->all && o->limits.evals_left > 0)
            o->limits.evals_left -= (int)n;
        KN_TRY(try_some(ctx, &b, o, k, n));
    }
out:
    kn_cell_workspaces_clear(&b.crew);
    kn_free(b.todo);
    return status;
}

void kn_cells_try_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_plan one = {0};
    int workers = kn_cell_workers(s->threads, s->memory, s->threads, s->N, 0);
    kn_cell_work_need(&one, s, s->N, kn_min_size(s->T, KN_BLOCK));
    kn_cell_workspaces_need(r, workers, &one);
}
