/* Search for the cell of each response on a lattice of (rho, length) shared by all responses
 * [METHOD 7].
 *
 * rho is the proportion of the curved terms of R0 beside the linear one; the weights of categories
 * come from a pilot fit [cov/simplex_weights.h]. 8 x 8 cells and rho = 0 and 1 are evaluated for
 * every response: one eigenproblem, one product U'Y and one profile each. Then the step is halved
 * around the best cell of each response that may gain, and each new cell is evaluated for the
 * responses that request it. Three halvings: over 4 x 100 simulated responses (test_stgpr, KN_SEED
 * 1 to 4) two left 395 within 0.1 nat of their own optimum, three 397. Finally responses move to
 * cells that others use if that costs almost nothing, because predictions cost per cell. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

static const double ENOUGH = 1e-3; /* nats: accuracy of the compared likelihoods */

typedef struct cell_choice {
    const kn_cell_samples *samples;
    const kn_cell_class *which;
    kn_cell_search *o;
    kn_stgpr *s;
    kn_lattice l;
} cell_choice;

/* Evaluates the coarse cells (responses that share hyperparameters) of the lattice for all its
 * responses and keeps the best log likelihood of each. Collective. */
static kn_status evaluate_coarse(kn_ctx *ctx, cell_choice *b)
{
    kn_status status;
    kn_lattice *l = &b->l;
    void *memory = NULL;
    kn_cell_evaluations t = {.n = l->n_coarse, .nats = ENOUGH, .first = true, .stage = "grid"};
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_alloc(ctx, t.n, sizeof *t.evaluation, &memory));
    t.evaluation = memory;
    for (int c = 0; c < l->n_coarse; c++)
        t.evaluation[c] = (kn_cell_evaluation){.at = kn_lattice_point(l, c),
                                               .gamma = b->which->gamma,
                                               .J = l->J,
                                               .n = l->T,
                                               .lml = l->T > 0 ? l->lml.data + c : NULL,
                                               .stride = l->lml.ld};
    KN_TRY(kn_cells_evaluate(ctx, b->samples, b->o, b->s, &t));
    if (!t.evaluation[0].done) /* no likelihood at all */
        KN_TRY(kn_fail_cancelled(ctx));
    for (int c = 0; c < l->n_coarse; c++)
        for (ptrdiff_t j = 0; t.evaluation[c].done && j < l->T; j++)
            kn_lattice_keep(l, j, c);
out:
    kn_free(memory);
    return status;
}

/* Requests of a level sorted by cell: those of cell c start at start[c - old]. */
typedef struct fine_cells {
    kn_eval_request *request, *sorted;
    ptrdiff_t *start, *J;
    double *lml;
    kn_cell_evaluation *evaluation;
} fine_cells;

/* Frees the requests and results of the fine cells. */
static void fine_cells_clear(fine_cells *f)
{
    kn_free(f->request);
    kn_free(f->sorted);
    kn_free(f->start);
    kn_free(f->J);
    kn_free(f->lml);
    kn_free(f->evaluation);
}

/* Turns n requests (f->request) into one evaluation per new cell (numbers from `old` on), with
 * the responses that request it; allocates the arrays of *f, which the caller clears. */
static kn_status make_evaluations(kn_ctx *ctx, const cell_choice *b, int old, ptrdiff_t n,
                                  fine_cells *f)
{
    kn_status status;
    void *p;
    const kn_lattice *l = &b->l;
    ptrdiff_t cells = l->n_cells - old;
    KN_TRY(kn_alloc(ctx, n, sizeof(kn_eval_request), &p));
    f->sorted = p;
    KN_TRY(kn_alloc_i(ctx, cells + 2, &f->start));
    KN_TRY(kn_alloc_i(ctx, n, &f->J));
    KN_TRY(kn_alloc_d(ctx, n, &f->lml));
    KN_TRY(kn_alloc(ctx, cells, sizeof *f->evaluation, &p));
    f->evaluation = p;
    for (ptrdiff_t k = 0; k < n; k++) /* counting sort, stable */
        f->start[f->request[k].cell - old + 2]++;
    for (ptrdiff_t c = 2; c < cells + 2; c++)
        f->start[c] += f->start[c - 1];
    for (ptrdiff_t k = 0; k < n; k++)
        f->sorted[f->start[f->request[k].cell - old + 1]++] = f->request[k];
    for (ptrdiff_t k = 0; k < n; k++)
        f->J[k] = l->J[f->sorted[k].response];
    for (ptrdiff_t c = 0; c < cells; c++)
        f->evaluation[c] = (kn_cell_evaluation){.at = kn_lattice_point(l, old + (int)c),
                                                .gamma = b->which->gamma,
                                                .J = n > 0 ? f->J + f->start[c] : NULL,
                                                .n = f->start[c + 1] - f->start[c],
                                                .lml = n > 0 ? f->lml + f->start[c] : NULL,
                                                .stride = 1};
out:
    return status;
}

/* Halves the step of the lattice for the level-th time: evaluates new cells for the responses
 * that request them. Collective. */
static kn_status halve_step(kn_ctx *ctx, cell_choice *b, int level)
{
    kn_status status;
    kn_lattice *l = &b->l;
    fine_cells f = {0};
    void *p;
    ptrdiff_t n;
    int old = l->n_cells;
    KN_TRY(kn_alloc(ctx, l->T * KN_LATTICE_AROUND, sizeof(kn_eval_request), &p));
    f.request = p;
    KN_TRY(kn_lattice_refine(ctx, l, level, f.request, &n));
    KN_TRY(make_evaluations(ctx, b, old, n, &f));
    kn_cell_evaluations t = {.evaluation = f.evaluation,
                             .n = l->n_cells - old,
                             .nats = ENOUGH,
                             .stage = "fit"};
    KN_TRY(kn_cells_evaluate(ctx, b->samples, b->o, b->s, &t));
    for (ptrdiff_t c = 0; c < t.n; c++)
        for (ptrdiff_t k = f.start[c]; t.evaluation[c].done && k < f.start[c + 1]; k++) {
            const kn_eval_request *w = &f.sorted[k];
            kn_col(l->lml, w->response)[w->row] = f.lml[k];
            kn_lattice_keep(l, w->response, w->row);
        }
out:
    fine_cells_clear(&f);
    return status;
}

kn_status kn_cells_choose(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                          kn_cell_search *o, kn_stgpr *s)
{
    kn_status status;
    cell_choice b = {.samples = samples, .which = which, .o = o, .s = s};
    if (!o->optimise) {
        o->stop = KN_STOP_NOT_OPTIMISED;
        o->limits.evals_left = -1; /* one cell is evaluated even beyond the limit */
    }
    KN_TRY(kn_lattice_new(ctx, samples, which, o, &b.l));
    KN_TRY(evaluate_coarse(ctx, &b));
    for (int k = 0; o->optimise && k < KN_LATTICE_LEVELS && o->stop == KN_STOP_CONVERGED; k++)
        KN_TRY(halve_step(ctx, &b, k));
    KN_TRY(kn_cells_merge(ctx, &b.l, s));
out:
    kn_lattice_clear(&b.l);
    return status;
}

void kn_cells_choose_need(kn_mem_plan *r, const kn_problem_size *s)
{
    enum { REQUESTS = KN_LATTICE_AROUND }; /* requests of a response per level, at most */
    kn_mem_usage mark = r->now;
    kn_lattice_need(r, s);
    kn_plan_alloc(r, KN_NEED_WORK, 2 * s->T * REQUESTS, sizeof(kn_eval_request));
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2 * REQUESTS);
    kn_plan_alloc(r, KN_NEED_WORK, KN_LATTICE_POSITIONS,
                  sizeof(kn_cell_evaluation) + 2 * sizeof(ptrdiff_t));
    kn_cells_evaluate_need(r, s);
    kn_cells_merge_need(r);
    kn_plan_free_to(r, mark);
}
