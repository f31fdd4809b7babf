/* Predicts a panel of responses (map_panels.c) for new participants [METHOD 4, 7]. ROWS new
 * participants are predicted at a time, cells in parallel. */
#include "gp/methods/stgpr/internal.h"

#include "la/la.h"

enum { ROWS = 4096 }; /* new participants at a time */

/* Adds the group effects of the responses J to mean (participants x n) of participants in known
 * groups. */
static void add_effects(const kn_cell_predictor *a, const kn_stgpr *s, const ptrdiff_t *J,
                        kn_mat mean)
{
    for (ptrdiff_t j = 0; a->group && j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < mean.rows; i++)
            if (a->group[i] >= 0)
                kn_col(mean, j)[i] += kn_stgpr_effect(s, J[j]).data[a->group[i]];
}

/* New participants from `row` on, and the work space of each worker. */
typedef struct predict_work {
    const kn_stgpr_panel *b;
    ptrdiff_t row, n;
    kn_cell_workspaces *workspaces;
    kn_cell_predictor *predictor;
} predict_work;

/* Task of kn_panel_run for one cell (self: predict_work): mean = R0* alpha, and if requested the
 * model variances, of its responses for the current participants, written to the panel. */
static kn_status predict_cell(kn_ctx *ctx, void *self, int worker, ptrdiff_t cell)
{
    kn_status status = KN_OK;
    const predict_work *p = self;
    const kn_stgpr_panel *b = p->b;
    const kn_stgpr *s = b->gp->own;
    kn_stgpr_maps *m = b->m;
    kn_cell_work *w = &p->workspaces->w[worker];
    kn_cell_predictor *a = &p->predictor[worker];
    kn_panel_cell c;
    if (!kn_panel_find_cell(b, cell, &c))
        return KN_OK;
    if (b->var)
        KN_TRY(kn_cell_decompose(ctx, w, &c.at, c.gamma));
    kn_cell_predictor_bind(ctx, a, w, &c.at, b->var);
    for (ptrdiff_t n; c.n > 0; c.J += n, c.n -= n) {
        n = kn_cell_block_count(&b->samples, c.J, c.n);
        if (b->mean) {
            kn_mat alpha = kn_cols(w->Y, 0, n), mean = kn_cols(a->mean, 0, n);
            for (ptrdiff_t j = 0; j < n; j++)
                kn_mat_set(kn_cols(alpha, j, 1), kn_stgpr_alpha(s, c.J[j]));
            kn_gemm(ctx, 1, KN_N, a->Rs, KN_N, alpha, 0, mean);
            add_effects(a, s, c.J, mean);
            kn_panel_write(mean, NULL, c.J, m->first, kn_sub(m->mean, p->row, 0, p->n, m->count));
        }
        if (b->var) {
            kn_panel_load(s, c.J, n, w);
            kn_cell_predictor_variances(ctx, a, w, n);
            kn_panel_write(kn_cols(a->var, 0, n), NULL, c.J, m->first,
                           kn_sub(m->var, p->row, 0, p->n, m->count));
        }
    }
out:
    return status;
}

/* Predicts all cells of the panel for n new participants from `row` on, with the decompositions'
 * work space of all workers. */
static kn_status predict_rows(kn_ctx *ctx, const kn_stgpr_panel *b, ptrdiff_t row, ptrdiff_t n,
                              kn_cell_workspaces *workspaces)
{
    kn_status status;
    void *memory = NULL;
    kn_stgpr_maps *m = b->m;
    kn_mat Xs = kn_sub(m->Xs, row, 0, n, m->Xs.cols);
    kn_pairs pairs = {0};
    predict_work p = {.b = b, .row = row, .n = n, .workspaces = workspaces};
    KN_TRY(kn_pairs_between(ctx, Xs, b->gp->latent.X, &b->samples.cov->stats, &pairs));
    KN_TRY(kn_alloc(ctx, workspaces->n, sizeof *p.predictor, &memory));
    p.predictor = memory;
    for (int k = 0; k < workspaces->n; k++) {
        KN_TRY(kn_cell_predictor_new(ctx, Xs, b->gp->N, &pairs, b->width, &p.predictor[k]));
        if (m->group)
            KN_TRY(kn_cell_predictor_set_groups(ctx, &p.predictor[k], m->group + row,
                                                b->gp->latent.groups.n, b->var));
    }
    KN_TRY(kn_panel_run(ctx, b, workspaces->n, predict_cell, &p));
out:
    for (int k = 0; p.predictor && k < workspaces->n; k++)
        kn_cell_predictor_clear(&p.predictor[k]);
    kn_free(memory);
    kn_pairs_clear(&pairs);
    return status;
}

/* Computes the panel (predictions of a range of responses) of a de-identified model, cell by
 * cell, for all new participants. */
static kn_status predict_shared(kn_ctx *ctx, const kn_stgpr_panel *b)
{
    kn_status status = KN_OK;
    kn_stgpr_maps *m = b->m;
    kn_shared_maps shared_maps = {.Xs = m->Xs, .first = m->first, .g = &b->g, .width = b->width};
    kn_mat mean = {0}, var = {0};
    double clamped = 0; /* not reported */
    KN_TRY(kn_mat_new(ctx, m->Xs.rows, b->width, &mean));
    KN_TRY(kn_mat_new(ctx, m->Xs.rows, b->width, &var));
    shared_maps.mean = mean;
    shared_maps.var = var;
    shared_maps.clamped = &clamped;
    for (ptrdiff_t at = 0; at < m->count; at += shared_maps.n) {
        KN_TRY(kn_stgpr_shared_predict(ctx, b->gp, at, &shared_maps));
        if (b->mean)
            kn_panel_write(kn_cols(mean, 0, shared_maps.n), NULL, b->g.order + at, m->first,
                           m->mean);
        if (b->var)
            kn_panel_write(kn_cols(var, 0, shared_maps.n), NULL, b->g.order + at, m->first, m->var);
    }
out:
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    return status;
}

/* Returns the number of cells to process at a time for n new participants, by threads and
 * memory. */
static int count_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N, ptrdiff_t n,
                         ptrdiff_t width)
{
    return kn_cell_workers(threads, memory, cells, N,
                           kn_cell_predictor_means(kn_min_size(n, ROWS), N, width));
}

kn_status kn_stgpr_predict_panel(kn_ctx *ctx, const kn_stgpr_panel *b)
{
    kn_status status;
    kn_cell_workspaces workspaces = {0};
    ptrdiff_t n = b->m->Xs.rows, N = b->gp->N;
    if (b->gp->shared)
        return predict_shared(ctx, b);
    int workers = count_workers(kn_threads(ctx), (double)kn_memory(ctx),
                                ((const kn_stgpr *)b->gp->own)->cells.rows, N, n, b->width);
    KN_TRY(kn_cell_workspaces_new(ctx, workers, N, &b->samples, b->width, &workspaces));
    for (ptrdiff_t row = 0; row < n; row += ROWS)
        KN_TRY(predict_rows(ctx, b, row, kn_min_size(n - row, ROWS), &workspaces));
out:
    kn_cell_workspaces_clear(&workspaces);
    return status;
}

void kn_stgpr_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    kn_mem_plan one = {0};
    ptrdiff_t width = kn_min_size(s->T, KN_BLOCK), rows = kn_min_size(n, ROWS);
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, rows, s->N);
    kn_cell_predictor_need(&one, s, rows, s->N, width);
    kn_cell_work_need(&one, s, s->N, width);
    kn_cell_workspaces_need(r, count_workers(s->threads, s->memory, s->threads, s->N, n, width),
                            &one);
    kn_plan_free_to(r, mark);
}
