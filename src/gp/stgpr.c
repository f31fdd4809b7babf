/* STGPR: responses to cells, cells to predictions                                    [METHOD 7] */
#include "gp/stgpr.h"

#include <math.h>

#include "base/clock.h"
#include "gp/covariance.h"
#include "gp/fit_steps.h"
#include "gp/stgpr_lattice.h"
#include "gp/stgpr_predict.h"
#include "gp/stgpr_single.h"
#include "la/la.h"

/* Some responses of one cell, whose decomposition is at hand. */
static kn_status finish_responses(kn_ctx *ctx, kn_cell_work *w, const ptrdiff_t *J, ptrdiff_t n,
                                  bool held, kn_stgpr *s)
{
    kn_mat Y = kn_cols(w->Y, 0, n), alpha = kn_cols(w->A2, 0, n);
    for (ptrdiff_t j = 0; j < n; j++)
        kn_mat_set(kn_cols(Y, j, 1), kn_cols(s->alpha, J[j], 1));
    kn_status status = KN_OK;
    if (held)
        kn_gemm(ctx, 1, KN_T, w->R0.U, KN_N, Y, 0, kn_cols(w->A, 0, n));
    else
        status = kn_cell_fit(ctx, w, Y, 0);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < n; j++) {
        ptrdiff_t t = J[j];
        if (held) {
            w->c[j] = s->c[t];
            w->d[j] = s->d[t];
            continue;
        }
        s->c[t] = w->c[j];
        s->d[t] = w->d[j];
        s->delta[t] = w->c[j] > 0 ? w->d[j] / w->c[j] : INFINITY;
        s->lml[t] = w->lml[j];
    }
    kn_cell_alpha(ctx, w, n, alpha);
    for (ptrdiff_t j = 0; j < n; j++)
        kn_mat_set(kn_cols(s->alpha, J[j], 1), kn_cols(alpha, j, 1));
    return KN_OK;
}

kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_pairs *pairs, const kn_cov *cov, bool held,
                          kn_stgpr *s, int *evals)
{
    kn_status status;
    kn_cell_groups g = {0};
    kn_cell_work w = {0};
    ptrdiff_t T = s->alpha.cols, width = T < KN_BLOCK ? T : KN_BLOCK;
    KN_TRY(kn_cell_groups_new(ctx, s, 0, T, &g));
    KN_TRY(kn_cell_work_new(ctx, s->alpha.rows, cov, width, &w));
    for (ptrdiff_t k = 0; k < s->cells.rows; k++) {
        ptrdiff_t from = g.start[k], to = g.start[k + 1];
        if (from == to)
            continue;
        KN_TRY(kn_cell_decompose(ctx, &w, pairs, kn_at(s->cells, k, 0), kn_at(s->cells, k, 1)));
        ++*evals;
        for (ptrdiff_t j = from; j < to; j += width)
            KN_TRY(
                finish_responses(ctx, &w, g.order + j, to - j < width ? to - j : width, held, s));
        kn_tell(ctx, "cells", k + 1, s->cells.rows, NAN);
    }
out:
    kn_cell_work_clear(&w);
    kn_cell_groups_clear(&g);
    return status;
}

/* Each response alone, all parameters free. */
static kn_status plain(kn_ctx *ctx, kn_mat X, const kn_search_options *o, kn_gp *gp,
                       kn_fit_info *info)
{
    kn_status status;
    kn_pairs pairs = {0}, own = {0};
    kn_mat theta = {0}, grad = {0};
    kn_found found = {0};
    kn_stgpr *s = gp->own;
    const kn_cov *cov = &gp->spec.sample;
    int n = cov->n_theta + 1, evals = 0;
    KN_TRY(kn_pairs_within(ctx, X, &cov->stats, &pairs));
    KN_TRY(kn_pairs_within(ctx, X, &cov->stats, &own));
    KN_TRY(kn_mat_new(ctx, gp->T, n, &theta));
    KN_TRY(kn_mat_new(ctx, gp->T, n, &grad));
    for (int i = 0; o->theta && i < n; i++)
        for (ptrdiff_t j = 0; j < gp->T; j++)
            kn_col(theta, i)[j] = o->theta[i];
    KN_TRY(kn_plain_fit(ctx, &own, cov, s->alpha, o, false, theta, o->theta != NULL, s->lml, grad,
                        &found));
    KN_TRY(kn_plain_cells(ctx, cov, theta, s));
    KN_TRY(kn_stgpr_finish(ctx, &pairs, cov, true, s, &evals));
    info->evaluations = found.evals + evals;
    info->stop = found.stop;
    info->projected_gradient = found.projected;
out:
    kn_mat_clear(&grad);
    kn_mat_clear(&theta);
    kn_pairs_clear(&own);
    kn_pairs_clear(&pairs);
    return status;
}

static kn_status by_cells(kn_ctx *ctx, kn_mat X, const kn_search_options *o, kn_gp *gp,
                          kn_fit_info *info)
{
    kn_status status;
    kn_pairs pairs = {0};
    const kn_cov *cov = &gp->spec.sample;
    kn_cell_search search = {.limits = o->limits,
                             .rho = o->rho,
                             .length = o->length,
                             .optimise = o->optimise,
                             .journal = o->journal};
    KN_TRY(kn_pairs_within(ctx, X, &cov->stats, &pairs));
    KN_TRY(kn_cells_choose(ctx, &pairs, cov, &search, gp->own));
    KN_TRY(kn_stgpr_finish(ctx, &pairs, cov, false, gp->own, &search.evals));
    info->evaluations = search.evals;
    info->stop = search.stop;
    info->projected_gradient = NAN;
out:
    kn_pairs_clear(&pairs);
    return status;
}

static kn_status fit(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    const kn_gp_options *o = p->options;
    kn_stgpr *s;
    double t0 = kn_clock(), t1;
    if (!kn_cov_is_rho_length(&p->spec.sample) || kn_spec_sample_iso(&p->spec))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "STGPR's cells are of rho and length: a sample covariance of two terms, the "
                       "second with a length-scale");
    *gp = (kn_gp){
        .method = &kn_method_stgpr, .spec = p->spec, .N = p->X.rows, .F = p->X.cols, .T = p->Y.T};
    KN_TRY(kn_stgpr_own(ctx, gp));
    s = gp->own;
    KN_TRY(kn_stgpr_new(ctx, gp->N, gp->T, s));
    KN_TRY(kn_mat_copy(ctx, p->X, &gp->latent.X));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    kn_responses_block(ctx, &p->Y, 0, s->alpha);
    KN_TRY((o->plain ? plain : by_cells)(ctx, p->X, &o->search, gp, info));
    info->rank = gp->N;
    info->lml = 0;
    for (ptrdiff_t j = 0; j < gp->T; j++)
        info->lml += s->lml[j];
    t1 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_fit = t1 - t0;
    info->seconds_reference = kn_clock() - t1;
out:
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

static void need_settle(kn_need_shape *s)
{
    s->P = 0;
    s->M = s->N;
}

static void need_fit(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_hold_d(r, KN_NEED_BASIS, s->N, s->T); /* alpha */
    kn_hold_d(r, KN_NEED_BASIS, s->T, 6);
    kn_hold_d(r, KN_NEED_WORK, s->N, s->F);
    kn_rehearse_stage(r, "search");
    kn_held mark = r->now;
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    (s->plain ? kn_plain_need : kn_cells_choose_need)(r, s);
    kn_hold_d(r, KN_NEED_WORK, s->T, 1); /* groups */
    kn_cell_work_need(r, s->N, kn_at_most(s->T, KN_BLOCK));
    kn_let_go(r, mark);
    kn_rehearse_stage(r, "folds");
    if (s->folds > 0) {
        kn_hold_d(r, KN_NEED_WORK, s->N, 2);
        kn_stgpr_maps_need(r, s, KN_MAPS_CV, s->N);
    }
}

static bool known_noise(kn_gp *gp)
{
    const kn_stgpr *s = gp->own;
    for (ptrdiff_t j = 0; j < gp->T; j++)
        gp->noise[j] = s->d[j];
    return true;
}

kn_status kn_stgpr_own(kn_ctx *ctx, kn_gp *gp)
{
    return kn_alloc(ctx, 1, sizeof(kn_stgpr), &gp->own);
}

static void clear(kn_gp *gp)
{
    kn_stgpr_clear(gp->own);
    kn_free(gp->own);
    gp->own = NULL;
}

static double bytes(const kn_gp *gp)
{
    return 8 * (double)gp->N * (double)gp->T;
}

/* From a file: everything within its bounds, and what follows from it. */
static kn_status check_cells(const kn_gp *gp, kn_arrays *a)
{
    kn_stgpr *s = gp->own;
    kn_status status = kn_alloc_d(a->ctx, gp->T, &s->delta);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < gp->T; j++) {
        if (s->cell[j] >= (double)s->cells.rows || s->cell[j] != floor(s->cell[j]))
            return a->bad(a, "cell");
        s->delta[j] = s->c[j] > 0 ? s->d[j] / s->c[j] : INFINITY;
    }
    for (ptrdiff_t k = 0; k < s->cells.rows; k++)
        if (!(kn_at(s->cells, k, 0) >= 0 && kn_at(s->cells, k, 0) <= 1 &&
              kn_at(s->cells, k, 1) > 0))
            return a->bad(a, "cells");
    return KN_OK;
}

/* alpha = (R0 + delta I)^-1 y needs no eigenvectors, whose signs no two machines agree on; in
 * single precision it is as large as the responses were. */
static kn_status arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    if (a->reading)
        KN_TRY(kn_stgpr_own(a->ctx, gp));
    kn_stgpr *s = gp->own;
    KN_TRY(a->mat(a, "cells", a->reading ? -1 : s->cells.rows, 2, &s->cells));
    KN_TRY(a->doubles(a, "cell", gp->T, KN_NOT_NEGATIVE, &s->cell));
    KN_TRY(a->doubles(a, "c", gp->T, KN_NOT_NEGATIVE, &s->c));
    KN_TRY(a->doubles(a, "d", gp->T, KN_NOT_NEGATIVE, &s->d));
    KN_TRY(a->doubles(a, "lml", gp->T, KN_ANY, &s->lml));
    KN_TRY(a->mat_f32(a, "alpha", gp->N, gp->T, &s->alpha));
    KN_TRY(a->reading ? check_cells(gp, a) : a->derived(a, "delta", gp->T, &s->delta));
out:
    return status;
}

const kn_method kn_method_stgpr = {
    .name = "stgpr",
    .title = "STGPR",
    .alone = true,
    .fit = fit,
    .predict = kn_stgpr_predict,
    .loo = kn_stgpr_loo,
    .cv = kn_stgpr_cv,
    .block = kn_stgpr_maps_block,
    .covariance = kn_diagonal_covariance,
    .known_noise = known_noise,
    .arrays = arrays,
    .clear = clear,
    .bytes = bytes,
    .batch = kn_stgpr_batch,
    .need = {need_settle, need_fit, kn_stgpr_maps_need, kn_stgpr_block_need},
};
