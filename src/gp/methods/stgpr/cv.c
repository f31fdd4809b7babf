/* Cross-validated maps of a panel of responses (map_panels.c) [METHOD 5b, 7]. Cell and gamma of a
 * response are fixed; mean, c and d are estimated from the training rows of each fold. Folds run
 * one after the other, the cells of a fold in parallel. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

#include "gp/cv/fold.h"
#include "la/la.h"

/* State of one fold, and the work space of each worker. */
typedef struct fold_work {
    const kn_stgpr_panel *b;
    const kn_fold *f;
    const double *imputed; /* imputed values of the fold; NULL: no cell is missing */
    kn_mat Xs, Xt;         /* covariates of held-out and training rows */
    kn_pairs train, cross;
    kn_groups groups;
    kn_cell_samples samples; /* the training rows */
    kn_cell_workspaces workspaces;
    kn_cell_predictor *predictor;
    kn_mat mu; /* width x workers */
} fold_work;

/* Reads the training rows of the responses J (ascending) into Y (n_train x n) and subtracts
 * their means, which go to mu (n). */
static void read_fold_responses(kn_ctx *ctx, const fold_work *p, const ptrdiff_t *J, kn_mat Y,
                                double *mu)
{
    kn_responses train = kn_responses_rows(p->b->Y, p->f->train, p->f->n_train);
    train.imputed = p->imputed;
    kn_responses_columns(ctx, &train, J, Y);
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        double *y = kn_col(Y, j);
        mu[j] = 0;
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            mu[j] += y[i] / (double)Y.rows;
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            y[i] -= mu[j];
    }
}

/* Frees the work space of one fold. */
static void fold_work_clear(fold_work *p)
{
    for (int k = 0; p->predictor && k < p->workspaces.n; k++)
        kn_cell_predictor_clear(&p->predictor[k]);
    kn_free(p->predictor);
    kn_cell_workspaces_clear(&p->workspaces);
    kn_mat_clear(&p->mu);
    kn_mat_clear(&p->Xs);
    kn_mat_clear(&p->Xt);
    kn_groups_clear(&p->groups);
    kn_pairs_clear(&p->cross);
    kn_pairs_clear(&p->train);
}

/* Prepares covariates, pair statistics and groups of fold *f; if m->without_site, held-out rows
 * are without site effects. The caller clears p, also after an error. */
static kn_status fold_work_new(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_fold *f, fold_work *p)
{
    kn_status status;
    const kn_stgpr_maps *m = b->m;
    const kn_gp *gp = b->gp;
    *p = (fold_work){.b = b, .f = f, .samples = b->samples};
    KN_TRY(kn_mat_new(ctx, f->n_test, gp->F, &p->Xs));
    kn_mat_rows(m->without_site ? m->X_without_site : gp->latent.X, f->test, p->Xs);
    KN_TRY(kn_mat_new(ctx, f->n_train, gp->F, &p->Xt));
    kn_mat_rows(gp->latent.X, f->train, p->Xt);
    KN_TRY(kn_groups_subset(ctx, &gp->latent.groups, f->train, f->n_train, &p->groups));
    p->samples.pairs = &p->train;
    p->samples.X = p->Xt;
    p->samples.groups = p->groups.n > 0 ? &p->groups : NULL;
    KN_TRY(kn_pairs_subset(ctx, &m->pairs, f->train, f->n_train, &p->train));
    KN_TRY(m->without_site ? kn_pairs_between(ctx, p->Xs, p->Xt, &gp->spec.sample.stats, &p->cross)
                           : kn_pairs_cross(ctx, &m->pairs, f->test, f->n_test, f->train,
                                            f->n_train, &p->cross));
out:
    return status;
}

/* Allocates decomposition and predictor of each of `workers` workers for the fold p. */
static kn_status allocate_workers(kn_ctx *ctx, fold_work *p, int workers)
{
    kn_status status;
    void *memory;
    const kn_stgpr_panel *b = p->b;
    KN_TRY(
        kn_cell_workspaces_new(ctx, workers, p->f->n_train, &p->samples, b->width, &p->workspaces));
    KN_TRY(kn_mat_new(ctx, b->width, workers, &p->mu));
    KN_TRY(kn_alloc(ctx, workers, sizeof *p->predictor, &memory));
    p->predictor = memory;
    for (int k = 0; k < workers; k++)
        KN_TRY(kn_cell_predictor_new(ctx, p->Xs, p->f->n_train, &p->cross, b->width,
                                     &p->predictor[k]));
out:
    return status;
}

/* Task of kn_panel_run for one cell (self: fold_work): estimates mean, c and d of its responses
 * from the training rows, at fixed cell and gamma, and writes the predictions of the held-out
 * rows to the panel (predictions of a range of responses) [METHOD 5b]. */
static kn_status predict_fold_cell(kn_ctx *ctx, void *self, int worker, ptrdiff_t cell)
{
    kn_status status = KN_OK;
    const fold_work *p = self;
    const kn_stgpr_panel *b = p->b;
    kn_stgpr_maps *m = b->m;
    kn_cell_work *w = &p->workspaces.w[worker];
    kn_cell_predictor *a = &p->predictor[worker];
    double *mu = kn_col(p->mu, worker);
    kn_panel_cell c;
    if (!kn_panel_find_cell(b, cell, &c))
        return KN_OK;
    KN_TRY(kn_cell_decompose(ctx, w, &c.at, c.gamma));
    kn_cell_predictor_bind(ctx, a, w, &c.at, true);
    for (ptrdiff_t n; c.n > 0; c.J += n, c.n -= n) {
        n = kn_cell_block_count(&b->samples, c.J, c.n);
        kn_mat Y = kn_cols(w->Y, 0, n), mean = kn_cols(a->mean, 0, n);
        read_fold_responses(ctx, p, c.J, Y, mu);
        KN_TRY(kn_cell_fit(ctx, w, Y, 0));
        kn_cell_alpha(ctx, w, Y);
        kn_gemm(ctx, 1, KN_N, a->Rs, KN_N, Y, 0, mean);
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t i = 0; i < mean.rows; i++)
                kn_col(mean, j)[i] += mu[j];
        kn_cell_predictor_variances(ctx, a, w, n);
        kn_panel_write(mean, p->f->test, c.J, m->first, m->mean);
        kn_panel_write(kn_cols(a->var, 0, n), p->f->test, c.J, m->first, m->var);
    }
out:
    return status;
}

/* Returns the number of cells to process at a time in a fold, by threads and memory. */
static int count_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N, int folds,
                         ptrdiff_t width)
{
    return kn_cell_workers(threads, memory, cells, N,
                           kn_cell_predictor_means((N + folds - 1) / folds, N, width));
}

/* Computes the rows of the panel (predictions of a range of responses) that belong to the
 * held-out participants of fold f (number k of `folds`). */
static kn_status predict_fold(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_fold *f, int folds,
                              int k)
{
    kn_status status;
    fold_work p = {0};
    int workers =
        count_workers(kn_threads(ctx), (double)kn_memory(ctx),
                      ((const kn_stgpr *)b->gp->own)->cells.rows, b->gp->N, folds, b->width);
    KN_TRY(fold_work_new(ctx, b, f, &p));
    p.imputed = b->m->imputed ? b->m->imputed[k] : NULL;
    KN_TRY(allocate_workers(ctx, &p, workers));
    KN_TRY(kn_panel_run(ctx, b, workers, predict_fold_cell, &p));
out:
    fold_work_clear(&p);
    return status;
}

kn_status kn_stgpr_cv_panel(kn_ctx *ctx, const kn_stgpr_panel *b, int folds)
{
    kn_status status = KN_OK;
    kn_fold f = {0};
    for (int k = 0; k < folds; k++) {
        KN_TRY(kn_fold_rows(ctx, b->gp->N, b->m->fold, k, &f));
        if (f.n_test > 0)
            KN_TRY(predict_fold(ctx, b, &f, folds, k));
        kn_fold_clear(&f);
        kn_report_progress(ctx, "cross-validation", k + 1, folds, NAN);
    }
out:
    kn_fold_clear(&f);
    return status;
}

void kn_stgpr_cv_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_mem_plan one = {0};
    ptrdiff_t h = (s->N + s->folds - 1) / s->folds, train = s->N - s->N / s->folds;
    ptrdiff_t width = kn_min_size(s->T, KN_BLOCK);
    int workers = count_workers(s->threads, s->memory, s->threads, s->N, s->folds, width);
    kn_plan_alloc_d(r, KN_NEED_WORK, 6 * s->N + s->N * s->F, 1);
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, train, train);
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, h, train);
    kn_plan_alloc_d(&one, KN_NEED_WORK, width, 1);
    kn_cell_predictor_need(&one, s, h, train, width);
    kn_cell_work_need(&one, s, train, width);
    kn_cell_workspaces_need(r, workers, &one);
    kn_plan_free_to(r, mark);
}
