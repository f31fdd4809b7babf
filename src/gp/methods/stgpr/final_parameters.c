/* Final parameters of each response in its cell, after the search [METHOD 7]. Cells run in
 * parallel. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

#include "base/parallel/parallel_for.h"

/* Sets effect (groups x n) = gamma d G* K^-1 y = gamma delta G* alpha, added to the mean in a
 * known group; if c = 0, gamma G* H^-1 y. Called with Y in alpha (N x n) for responses without
 * signal, then with alpha for the others (with_signal). */
static void compute_group_effects(const kn_cell_work *w, kn_mat alpha, bool with_signal,
                                  kn_mat effect)
{
    const kn_groups *g = w->samples->groups;
    for (ptrdiff_t j = 0; j < alpha.cols; j++) {
        if ((w->c[j] > 0) != with_signal)
            continue;
        kn_mat to = kn_cols(effect, j, 1);
        kn_groups_sums(g, kn_cols(alpha, j, 1), to);
        for (ptrdiff_t k = 0; k < g->n; k++)
            to.data[k] *=
                with_signal ? w->gamma * w->d[j] / w->c[j] : kn_groups_less(g, w->gamma, k);
    }
}

/* Sets the final parameters of n responses J of one cell (responses that share hyperparameters),
 * whose decomposition is in *w; fixed: c, d and lml stay. On entry the columns J of s->alpha
 * hold Y; on return alpha. */
static kn_status finish_responses(kn_ctx *ctx, kn_cell_work *w, const ptrdiff_t *J, ptrdiff_t n,
                                  bool fixed, kn_stgpr *s)
{
    kn_mat Y = kn_cols(w->Y, 0, n), effect = kn_cols(w->A2, 0, n);
    effect.rows = s->effect.rows;
    for (ptrdiff_t j = 0; j < n; j++)
        kn_mat_set(kn_cols(Y, j, 1), kn_stgpr_alpha(s, J[j]));
    kn_status status = KN_OK;
    if (fixed)
        kn_cell_project(ctx, w, Y);
    else
        status = kn_cell_fit(ctx, w, Y, 0);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < n; j++) {
        ptrdiff_t t = J[j];
        if (fixed) {
            w->c[j] = s->c[t];
            w->d[j] = s->d[t];
            continue;
        }
        s->c[t] = w->c[j];
        s->d[t] = w->d[j];
        s->delta[t] = w->c[j] > 0 ? w->d[j] / w->c[j] : INFINITY;
        s->lml[t] = w->lml[j];
    }
    if (effect.rows > 0)
        compute_group_effects(w, Y, false, effect);
    kn_cell_alpha(ctx, w, Y);
    if (effect.rows > 0)
        compute_group_effects(w, Y, true, effect);
    for (ptrdiff_t j = 0; j < n; j++) {
        kn_mat_set(kn_stgpr_alpha(s, J[j]), kn_cols(Y, j, 1));
        if (effect.rows > 0)
            kn_mat_set(kn_stgpr_effect(s, J[j]), kn_cols(effect, j, 1));
    }
    return KN_OK;
}

typedef struct finishing {
    kn_stgpr *s;
    bool fixed;
    kn_cell_groups g;
    kn_cell_workspaces workspaces;
} finishing;

/* Task of the worker pool for one cell (self: finishing): decomposes R0 (covariance between
 * participants) at the gamma of its first response, then sets c, d, delta, lml, alpha and, with
 * groups, the group effects of its responses, one block at a time. Does nothing in an empty
 * cell. */
static kn_status finish_cell(kn_ctx *ctx, void *self, int worker, ptrdiff_t cell)
{
    kn_status status = KN_OK;
    finishing *f = self;
    kn_cell_work *w = &f->workspaces.w[worker];
    const ptrdiff_t *J = f->g.order + f->g.start[cell];
    ptrdiff_t n = f->g.start[cell + 1] - f->g.start[cell];
    kn_cov_point at = kn_cell_point(w->samples->cov, f->s->cells, cell);
    if (n == 0)
        return KN_OK;
    KN_TRY(kn_cell_decompose(ctx, w, &at, kn_stgpr_gamma(f->s, J[0])));
    for (ptrdiff_t count; n > 0; J += count, n -= count) {
        count = kn_cell_block_count(w->samples, J, n);
        KN_TRY(finish_responses(ctx, w, J, count, f->fixed, f->s));
    }
out:
    return status;
}

kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_cell_samples *samples, bool fixed, kn_stgpr *s,
                          int *evals)
{
    kn_status status;
    finishing f = {.s = s, .fixed = fixed};
    kn_index_range mine =
        samples->Y ? kn_response_range(ctx, samples->Y) : (kn_index_range){0, s->alpha.cols};
    ptrdiff_t n = mine.last - mine.first, N = s->alpha.rows, cells = s->cells.rows;
    int workers = kn_cell_workers(kn_threads(ctx), (double)kn_memory(ctx), cells, N, 0);
    kn_worker_pool team = {
        .workers = workers, .fn = finish_cell, .self = &f, .stage = "cells", .total = cells};
    if (samples->groups)
        KN_TRY(kn_mat_new(ctx, samples->groups->n, s->alpha.cols, &s->effect));
    KN_TRY(kn_cell_groups_new(ctx, s, mine.first, n, &f.g));
    KN_TRY(
        kn_cell_workspaces_new(ctx, workers, N, samples, kn_min_size(n, KN_BLOCK), &f.workspaces));
    KN_TRY(kn_worker_pool_run(ctx, &team, 0, cells));
    *evals += (int)cells;
out:
    kn_cell_workspaces_clear(&f.workspaces);
    kn_cell_groups_clear(&f.g);
    return status;
}
