/* Maps of STGPR [METHOD 5, 5b, 7]. A cell costs one eigenproblem however many responses it has, and
 * blocks cut across cells. Maps are therefore computed for a panel of many responses at once, as
 * wide as PANEL_BYTES allows, and blocks are copied from it. Each thread computes one cell of the
 * panel at a time; panels of an MPI rank have its own responses only. */
#include "gp/methods/stgpr/internal.h"

#include "gp/cv/fold.h"
#include "gp/missing/completion.h"

static const double PANEL_BYTES = 1e9; /* size of mean and variance of a panel */

ptrdiff_t kn_stgpr_batch(const kn_gp *gp)
{
    return (ptrdiff_t)(PANEL_BYTES / (16 * (double)gp->T));
}

/* Frees the method's own state of maps, a kn_stgpr_maps; implements kn_gp_maps.own_free. */
static void free_maps(void *own)
{
    kn_stgpr_maps *m = own;
    kn_mat_clear(&m->Xs);
    kn_free(m->group);
    kn_pairs_clear(&m->pairs);
    kn_free(m->fold);
    kn_mat_clear(&m->X_without_site);
    for (int k = 0; k < m->n_imputed; k++)
        kn_free(m->imputed[k]);
    kn_free(m->imputed);
    kn_mat_clear(&m->mean);
    kn_mat_clear(&m->var);
    kn_free(m);
}

/* Allocates maps *out of n participants with the method's own state (kn_stgpr_maps), without a
 * panel (predictions of a range of responses); computes the pair statistics of the training
 * sample. */
static kn_status begin_maps(kn_ctx *ctx, const kn_gp *gp, kn_maps_kind kind, ptrdiff_t n,
                            kn_gp_maps *out)
{
    kn_status status;
    void *p;
    *out = (kn_gp_maps){.gp = gp, .n = n};
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_stgpr_maps), &p));
    kn_stgpr_maps *m = out->own = p;
    out->own_free = free_maps;
    m->kind = kind;
    if (!gp->shared) /* a de-identified model has no participants */
        KN_TRY(kn_pairs_within(ctx, gp->latent.X, &gp->spec.sample.stats, &m->pairs));
out:
    return status;
}

kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                           kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(begin_maps(ctx, gp, KN_MAPS_PREDICT, input->X.rows, out));
    kn_stgpr_maps *m = out->own;
    KN_TRY(kn_mat_copy(ctx, input->X, &m->Xs));
    if (input->group && gp->latent.groups.n > 0) {
        void *known;
        KN_TRY(kn_alloc_i(ctx, out->n, &m->group));
        KN_TRY(kn_alloc(ctx, out->n, sizeof *out->known, &known));
        out->known = known;
        for (ptrdiff_t i = 0; i < out->n; i++) {
            m->group[i] = input->group[i];
            out->known[i] = input->group[i] >= 0;
        }
    }
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status = begin_maps(ctx, gp, KN_MAPS_LOO, gp->N, out);
    out->Y = *Y;
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Imputes the training rows of each fold from themselves; the imputed values of the folds go to
 * m->imputed. */
static kn_status impute_folds(kn_ctx *ctx, const kn_cv_problem *problem, ptrdiff_t N,
                              kn_stgpr_maps *m)
{
    kn_status status;
    void *memory;
    kn_fold f = {0};
    kn_responses Y;
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof *m->imputed, &memory));
    m->imputed = memory;
    m->n_imputed = problem->folds;
    for (int k = 0; k < problem->folds; k++) {
        KN_TRY(kn_fold_rows(ctx, N, problem->fold, k, &f));
        KN_TRY(
            kn_completion_fold(ctx, problem->completion, f.train, f.n_train, &m->imputed[k], &Y));
        kn_fold_clear(&f);
    }
out:
    kn_fold_clear(&f);
    return status;
}

kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out)
{
    kn_status status;
    void *p;
    KN_TRY(begin_maps(ctx, gp, KN_MAPS_CV, gp->N, out));
    kn_stgpr_maps *m = out->own;
    out->Y = kn_responses_as_given(problem->Y);
    out->folds = problem->folds;
    KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &p));
    m->fold = p;
    for (ptrdiff_t i = 0; i < gp->N; i++)
        m->fold[i] = problem->fold[i];
    if (problem->X_without_site.data)
        KN_TRY(kn_mat_copy(ctx, problem->X_without_site, &m->X_without_site));
    if (problem->completion)
        KN_TRY(impute_folds(ctx, problem, gp->N, m));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* ---- cells of a panel ---------------------------------------------------------------- */

bool kn_panel_find_cell(const kn_stgpr_panel *b, ptrdiff_t cell, kn_panel_cell *out)
{
    const kn_stgpr *s = b->gp->own;
    ptrdiff_t from = b->g.start[cell], n = b->g.start[cell + 1] - from;
    if (n == 0)
        return false;
    *out = (kn_panel_cell){.J = b->g.order + from,
                           .n = n,
                           .at = kn_cell_point(b->samples.cov, s->cells, cell),
                           .gamma = kn_stgpr_gamma(s, b->g.order[from])};
    return true;
}

void kn_panel_load(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_cell_work *w)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        w->c[j] = s->c[J[j]];
        w->d[j] = s->d[J[j]];
    }
}

void kn_panel_write(kn_mat from, const ptrdiff_t *rows, const ptrdiff_t *J, ptrdiff_t first,
                    kn_mat panel)
{
    for (ptrdiff_t j = 0; j < from.cols; j++)
        for (ptrdiff_t i = 0; i < from.rows; i++)
            kn_col(panel, J[j] - first)[rows ? rows[i] : i] = kn_at(from, i, j);
}

kn_status kn_panel_run(kn_ctx *ctx, const kn_stgpr_panel *b, int workers, kn_worker_pool_fn fn,
                       void *self)
{
    kn_worker_pool team = {.workers = workers, .fn = fn, .self = self};
    return kn_worker_pool_run(ctx, &team, 0, ((const kn_stgpr *)b->gp->own)->cells.rows);
}

/* ---- panels -------------------------------------------------------------------------- */

/* Returns the number of responses of a panel (predictions of a range of responses) of n
 * participants, by PANEL_BYTES, but at least `lowest`. */
static ptrdiff_t compute_panel_width(ptrdiff_t n, ptrdiff_t lowest)
{
    ptrdiff_t wide = (ptrdiff_t)(PANEL_BYTES / (16 * (double)n));
    return wide > lowest ? wide : lowest;
}

/* Returns the end of the responses that this MPI rank can compute: all T for predictions, else
 * those whose training values it has. */
static ptrdiff_t find_end(const kn_ctx *ctx, const kn_gp_maps *maps, const kn_stgpr_maps *m)
{
    return m->kind == KN_MAPS_PREDICT ? maps->gp->T : kn_response_range(ctx, &maps->Y).last;
}

/* Allocates mean and variance of a panel (predictions of a range of responses) that begins with
 * the requested responses, unless the current panel has them. */
static kn_status allocate_panel(kn_ctx *ctx, const kn_gp_maps *maps, kn_index_range requested,
                                bool mean, bool var)
{
    kn_status status = KN_OK;
    kn_stgpr_maps *m = maps->own;
    bool inside = requested.first >= m->first && requested.last <= m->first + m->count &&
                  m->without_site == maps->without_site;
    m->without_site = maps->without_site;
    if (!inside) {
        m->first = requested.first;
        m->count = kn_min_size(find_end(ctx, maps, m) - requested.first,
                               compute_panel_width(maps->n, requested.last - requested.first));
        m->has_mean = m->has_var = false;
        kn_mat_clear(&m->mean);
        kn_mat_clear(&m->var);
    }
    if (mean && !m->mean.data)
        KN_TRY(kn_mat_new(ctx, maps->n, m->count, &m->mean));
    if (var && !m->var.data)
        KN_TRY(kn_mat_new(ctx, maps->n, m->count, &m->var));
out:
    return status;
}

/* Makes sure that the current panel (predictions of a range of responses) has the requested
 * responses, with mean and variance as requested; computes it if not. */
static kn_status prepare_panel(kn_ctx *ctx, const kn_gp_maps *maps, kn_index_range requested,
                               bool mean, bool var)
{
    kn_status status = KN_OK;
    kn_stgpr_maps *m = maps->own;
    const kn_gp *gp = maps->gp;
    bool predicts = m->kind == KN_MAPS_PREDICT;
    kn_stgpr_panel b = {.gp = gp,
                        .samples = {.cov = &gp->spec.sample,
                                    .pairs = &m->pairs,
                                    .X = gp->latent.X,
                                    .groups = gp->latent.groups.n > 0 ? &gp->latent.groups : NULL,
                                    .rank = gp->spec.rank,
                                    .Y = predicts ? NULL : &maps->Y},
                        .Y = &maps->Y,
                        .m = m,
                        .width = kn_min_size(gp->T, KN_BLOCK)};
    if (m->kind == KN_MAPS_CV)
        mean = var = true; /* both are computed at once */
    KN_TRY(allocate_panel(ctx, maps, requested, mean, var));
    b.mean = mean && !m->has_mean;
    b.var = var && !m->has_var;
    if (!b.mean && !b.var)
        return KN_OK;
    KN_TRY(kn_cell_groups_new(ctx, gp->own, m->first, m->count, &b.g));
    KN_TRY(predicts                 ? kn_stgpr_predict_panel(ctx, &b)
           : m->kind == KN_MAPS_LOO ? kn_stgpr_loo_panel(ctx, &b)
                                    : kn_stgpr_cv_panel(ctx, &b, maps->folds));
    m->has_mean = m->has_mean || mean;
    m->has_var = m->has_var || var;
out:
    kn_cell_groups_clear(&b.g);
    if (status != KN_OK)
        m->count = 0; /* the panel is invalid */
    return status;
}

kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var)
{
    (void)y; /* panels read the responses themselves */
    const kn_stgpr_maps *m = maps->own;
    ptrdiff_t count = mean.data ? mean.cols : var.cols;
    kn_status status = prepare_panel(ctx, maps, (kn_index_range){first, first + count},
                                     mean.data != NULL, var.data != NULL);
    if (status != KN_OK)
        return status;
    ptrdiff_t from = first - m->first;
    if (mean.data)
        kn_mat_set(mean, kn_cols(m->mean, from, count));
    if (var.data)
        kn_mat_set(var, kn_cols(m->var, from, count));
    return KN_OK;
}

void kn_stgpr_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    if (kind == KN_MAPS_PREDICT)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, s->F + 1);
}

void kn_stgpr_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    ptrdiff_t width = kn_min_size(s->T, KN_BLOCK),
              count = kn_min_size(s->T, compute_panel_width(n, width));
    /* Scoring also predicts the variance of participants with clamped covariates or an unknown site
     * a second time, with maps of its own [commands/score/extrapolation.h]. */
    kn_plan_alloc_d(r, KN_NEED_WORK, n, (kind == KN_MAPS_PREDICT ? 3 : 2) * count);
    if (kind == KN_MAPS_PREDICT)
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, count, 1); /* order of responses by cell */
    if (kind == KN_MAPS_CV)
        kn_stgpr_cv_need(r, s);
    else if (kind == KN_MAPS_LOO)
        kn_stgpr_loo_need(r, s);
    else
        kn_stgpr_predict_need(r, s, n);
    kn_plan_free_to(r, mark);
}
