/* Evaluates the likelihood of responses in candidate cells, in parallel [METHOD 7]. An evaluation
 * is one decomposition of R0 and a profile of each response that requests the cell. Each thread
 * evaluates its own cell, which is faster than all threads on one, because an eigenproblem gains
 * little from a second thread (bench/stgpr.c). The limits of the search are checked between rounds
 * of evaluations. Group noise gamma is one more use of it: a fixed list of values at one point of
 * R0. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

#include "base/machine.h"
#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"

/* Sets *yes if the search must stop, and o->stop to the reason: cancelled, too many evaluations,
 * deadline. With several MPI ranks cancellation is an error, and the clock of root decides.
 * Collective if there is a deadline. */
static kn_status check_stop(kn_ctx *ctx, kn_cell_search *o, bool *yes)
{
    kn_status status = KN_OK;
    double late = o->limits.deadline > 0 && kn_clock() > o->limits.deadline;
    bool is_cancelled = kn_cancelled(ctx); /* read once: it may change between two reads */
    *yes = false;
    if (is_cancelled && !kn_cancel_keeps_best(ctx))
        KN_TRY(kn_fail_cancelled(ctx));
    if (o->limits.deadline > 0)
        KN_TRY(kn_comm_broadcast(ctx, &late, sizeof late, 0));
    *yes = true;
    if (is_cancelled)
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

typedef struct evaluating {
    const kn_stgpr *s;
    const kn_cell_evaluations *evaluations;
    kn_cell_workspaces workspaces;
    ptrdiff_t *todo; /* evaluations with responses on this rank */
} evaluating;

/* Returns the responses J (n, ascending) as columns (N x n): a view of s->alpha, which holds Y
 * during the search, if they are contiguous, else a copy in `buffer`. */
static kn_mat gather_columns(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_mat buffer)
{
    if (J[n - 1] - J[0] == n - 1)
        return kn_cols(s->alpha, J[0], n);
    for (ptrdiff_t k = 0; k < n; k++)
        kn_mat_set(kn_cols(buffer, k, 1), kn_stgpr_alpha(s, J[k]));
    return kn_cols(buffer, 0, n);
}

/* Task of the worker pool (self: evaluating): decomposes R0 of one candidate cell (responses
 * that share hyperparameters) and writes the log likelihood of each response that requests it. */
static kn_status evaluate_one(kn_ctx *ctx, void *self, int worker, ptrdiff_t item)
{
    kn_status status;
    evaluating *b = self;
    kn_cell_evaluation *t = &b->evaluations->evaluation[b->todo[item]];
    kn_cell_work *w = &b->workspaces.w[worker];
    KN_TRY(kn_cell_decompose(ctx, w, &t->at, t->gamma));
    for (ptrdiff_t k = 0, n; k < t->n; k += n) {
        n = kn_cell_block_count(w->samples, t->J + k, t->n - k);
        KN_TRY(kn_cell_fit(ctx, w, gather_columns(b->s, t->J + k, n, w->Y), b->evaluations->nats));
        for (ptrdiff_t j = 0; j < n; j++)
            t->lml[(k + j) * t->stride] = w->lml[j];
    }
    t->done = true;
out:
    return status;
}

/* Evaluates the n evaluations from number `first` on in parallel, all of them unless cancelled,
 * and counts them in o->evals and o->limits. */
static kn_status evaluate_round(kn_ctx *ctx, evaluating *b, kn_cell_search *o, ptrdiff_t first,
                                ptrdiff_t n)
{
    kn_status status = KN_OK;
    const kn_cell_evaluations *t = b->evaluations;
    kn_worker_pool pool = {.workers = b->workspaces.n,
                           .fn = evaluate_one,
                           .self = b,
                           .stage = t->stage,
                           .done = first,
                           .total = t->n};
    ptrdiff_t n_todo = 0;
    for (ptrdiff_t k = first; k < first + n; k++) {
        kn_cell_evaluation *one = &t->evaluation[k];
        one->done = one->n == 0; /* no response of this rank requests it */
        if (!one->done)
            b->todo[n_todo++] = k;
    }
    status = kn_worker_pool_run(ctx, &pool, 0, n_todo);
    if (status == KN_ERR_CANCELLED && !t->all && kn_cancel_keeps_best(ctx)) {
        o->stop = KN_STOP_CANCELLED;
        status = KN_OK;
    }
    KN_TRY(status);
    kn_report_progress(ctx, t->stage, first + n, t->n, NAN);
out:
    return status;
}

/* Returns the number of evaluations until the clock is read again, equal on all MPI ranks: all
 * n_todo, or one per thread if there is a deadline; at most what o->limits leave. */
static ptrdiff_t count_round(const kn_ctx *ctx, const kn_cell_search *o, ptrdiff_t n_todo)
{
    ptrdiff_t n = n_todo;
    if (o->limits.deadline > 0)
        n = kn_min_size(n, kn_threads(ctx));
    return o->limits.evals_left > 0 ? kn_min_size(n, o->limits.evals_left) : n;
}

kn_status kn_cells_evaluate(kn_ctx *ctx, const kn_cell_samples *samples, kn_cell_search *o,
                            const kn_stgpr *s, const kn_cell_evaluations *evaluations)
{
    kn_status status;
    evaluating b = {.s = s, .evaluations = evaluations};
    ptrdiff_t widest = 0, N = s->alpha.rows;
    int workers = kn_cell_workers(kn_threads(ctx), (double)kn_memory(ctx), evaluations->n, N, 0);
    for (ptrdiff_t k = 0; k < evaluations->n; k++)
        widest = evaluations->evaluation[k].n > widest ? evaluations->evaluation[k].n : widest;
    KN_TRY(kn_alloc_i(ctx, evaluations->n, &b.todo));
    KN_TRY(kn_cell_workspaces_new(ctx, workers, N, samples, kn_min_size(widest, KN_BLOCK),
                                  &b.workspaces));
    for (ptrdiff_t k = 0, n; k < evaluations->n && o->stop != KN_STOP_CANCELLED; k += n) {
        bool end = false, very_first = evaluations->first && k == 0;
        if (!evaluations->all && !very_first)
            KN_TRY(check_stop(ctx, o, &end));
        if (end)
            break;
        n = evaluations->all ? evaluations->n : count_round(ctx, o, evaluations->n - k);
        o->evals += (int)n;
        if (!evaluations->all && o->limits.evals_left > 0)
            o->limits.evals_left -= (int)n;
        KN_TRY(evaluate_round(ctx, &b, o, k, n));
    }
out:
    kn_cell_workspaces_clear(&b.workspaces);
    kn_free(b.todo);
    return status;
}

void kn_cells_evaluate_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_plan one = {0};
    int workers = kn_cell_workers(s->threads, s->memory, s->threads, s->N, 0);
    kn_cell_work_need(&one, s, s->N, kn_min_size(s->T, KN_BLOCK));
    kn_cell_workspaces_need(r, workers, &one);
}

/* ---- group noise: one evaluation per value of gamma ---- */

static const double TIE = 1e-9; /* nats by which a larger gamma must be better */

kn_status kn_cells_choose_gamma(kn_ctx *ctx, const kn_cell_samples *samples, kn_index_range mine,
                                const kn_cov_point *at, kn_cell_search *o, kn_stgpr *s)
{
    kn_status status;
    kn_cell_evaluation evaluation[KN_GAMMAS];
    kn_cell_evaluations evaluations = {.evaluation = evaluation,
                                       .n = KN_GAMMAS,
                                       .all = true,
                                       .stage = "groups"};
    ptrdiff_t n = mine.last - mine.first, *J = NULL;
    kn_mat lml = {0}; /* gammas x n */
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_alloc_i(ctx, n, &J));
    KN_TRY(kn_mat_new(ctx, KN_GAMMAS, n, &lml));
    for (ptrdiff_t j = 0; j < n; j++)
        J[j] = mine.first + j;
    for (int k = 0; k < KN_GAMMAS; k++)
        evaluation[k] = (kn_cell_evaluation){.at = *at,
                                             .gamma = kn_gamma[k],
                                             .J = J,
                                             .n = n,
                                             .lml = n > 0 ? lml.data + k : NULL,
                                             .stride = lml.ld};
    KN_TRY(kn_cells_evaluate(ctx, samples, o, s, &evaluations));
    for (ptrdiff_t j = 0; j < n; j++) {
        double best = kn_at(lml, 0, j);
        s->gamma[J[j]] = kn_gamma[0];
        for (int k = 1; k < KN_GAMMAS; k++)
            if (kn_at(lml, k, j) > best + TIE) {
                best = kn_at(lml, k, j);
                s->gamma[J[j]] = kn_gamma[k];
            }
    }
out:
    kn_mat_clear(&lml);
    kn_free(J);
    return status;
}

void kn_cells_choose_gamma_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, KN_GAMMAS + 1);
    kn_cells_evaluate_need(r, s);
    kn_plan_free_to(r, mark);
}
