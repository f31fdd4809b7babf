/* De-identified STGPR models: each cell is represented by synthetic points instead of the training
 * participants [METHOD 8h]. This is the latent form, in which the responses of a cell are
 * components with c_j and d_j:
 *
 *     alpha_j = c K^-1 y over the participants becomes   A_j = U'y = (U'H alpha_j) (r + delta_j)
 *
 * Synthetic points are interpolated (cov/interpolate_covariance.h). */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

#include "cov/interpolate_covariance.h"
#include "gp/deidentify.h"
#include "gp/limit_leverage.h"
#include "gp/predict/predict.h"
#include "la/la.h"

void kn_stgpr_shared_clear(kn_stgpr *s)
{
    for (ptrdiff_t k = 0; s->shared && k < s->cells.rows; k++) {
        kn_decomp_clear(&s->shared[k].R0);
        kn_mat_clear(&s->shared[k].A);
        kn_free(s->shared[k].which);
    }
    kn_free(s->shared);
    s->shared = NULL;
}

/* ---- conversion ---------------------------------------------------------------------- */

/* Computes A (m x n), from which predictions follow: (U'H alpha) (r + delta) of the responses J
 * of one cell (responses that share hyperparameters); 0 where c = 0. */
static kn_status compute_coordinates(kn_ctx *ctx, const kn_stgpr *s, const kn_cell_work *w,
                                     const ptrdiff_t *J, kn_mat A)
{
    kn_status status;
    const kn_groups *g = w->samples->groups;
    kn_mat alpha = {0}, sums = {0};
    KN_TRY(kn_mat_new(ctx, w->N, 1, &alpha));
    KN_TRY(kn_mat_new(ctx, g ? g->n : 0, 1, &sums));
    for (ptrdiff_t j = 0; j < A.cols; j++) {
        kn_mat a = kn_cols(A, j, 1);
        if (!(s->c[J[j]] > 0))
            continue;
        kn_mat_set(alpha, kn_stgpr_alpha(s, J[j]));
        if (g && w->gamma > 0) { /* H alpha = alpha + gamma G alpha */
            kn_groups_sums(g, alpha, sums);
            for (ptrdiff_t i = 0; i < w->N; i++)
                alpha.data[i] += w->gamma * sums.data[g->of[i]];
        }
        kn_gemm(ctx, 1, KN_T, w->U, KN_N, alpha, 0, a);
        for (ptrdiff_t i = 0; i < w->m; i++)
            a.data[i] *= w->r[i] + s->delta[J[j]];
    }
out:
    kn_mat_clear(&sums);
    kn_mat_clear(&alpha);
    return status;
}

/* Converts one cell (responses that share hyperparameters) to *to: R0 by synthetic points from
 * how->points, and coordinates A (m x n) of its responses J, with noise that limits the
 * leverage. Updates limit, before, after and blurred of *how. */
static kn_status deidentify_cell(kn_ctx *ctx, const kn_gp *gp, const kn_cell_work *w,
                                 kn_deidentification *how, const ptrdiff_t *J, kn_latent_cell *to)
{
    kn_status status;
    kn_mat A = {0};
    double lowest = INFINITY, *d = NULL;
    for (ptrdiff_t j = 0; j < to->n; j++)
        lowest = fmin(lowest, ((const kn_stgpr *)gp->own)->delta[J[j]]);
    kn_projection_source source = {.cov = w->samples->cov,
                                   .theta = w->theta,
                                   .gamma = w->gamma,
                                   .N = gp->N,
                                   .m = w->m,
                                   .r = w->r,
                                   .lowest = how->cut > 0 ? how->cut * lowest : 0,
                                   .X = gp->latent.X,
                                   .W = w->U};
    KN_TRY(kn_projection_interpolate(ctx, &source, how->points, &to->R0));
    if (to->R0.m > how->limit)
        how->limit = to->R0.m;
    KN_TRY(kn_mat_new(ctx, w->m, to->n, &A));
    KN_TRY(compute_coordinates(ctx, gp->own, w, J, A));
    KN_TRY(kn_deidentified_rows(ctx, A, to->R0.m, &to->A));
    KN_TRY(kn_alloc_d(ctx, to->n, &d));
    for (ptrdiff_t j = 0; j < to->n; j++)
        d[j] = ((const kn_stgpr *)gp->own)->d[J[j]];
    KN_TRY(kn_limit_leverage(ctx, kn_cols(w->U, w->m - to->R0.m, to->R0.m), w->samples->groups, d,
                             how, to));
out:
    kn_free(d);
    kn_mat_clear(&A);
    return status;
}

/* Converts the cells (responses that share hyperparameters) of model `from` to out->shared, one
 * after the other; *out already has the parameters. */
static kn_status deidentify_cells(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how,
                                  kn_stgpr *out)
{
    kn_status status;
    const kn_stgpr *s = from->own;
    const kn_groups *groups = from->latent.groups.n > 0 ? &from->latent.groups : NULL;
    kn_pairs pairs = {0};
    kn_cell_groups g = {0};
    kn_cell_work w = {0};
    void *memory;
    kn_cell_samples samples = {.cov = &from->spec.sample,
                               .pairs = &pairs,
                               .X = from->latent.X,
                               .groups = groups,
                               .rank = from->spec.rank};
    kn_stgpr_shared_clear(out);
    how->limit = how->blurred = 0;
    how->before = how->after = 0;
    KN_TRY(kn_alloc(ctx, s->cells.rows, sizeof *out->shared, &memory));
    out->shared = memory;
    KN_TRY(kn_pairs_within(ctx, from->latent.X, &samples.cov->stats, &pairs));
    KN_TRY(kn_cell_groups_new(ctx, s, 0, from->T, &g));
    KN_TRY(kn_cell_work_new(ctx, from->N, &samples, 1, &w));
    for (ptrdiff_t k = 0; k < s->cells.rows; k++) {
        const ptrdiff_t *J = g.order + g.start[k];
        kn_latent_cell *cell = &out->shared[k];
        cell->n = g.start[k + 1] - g.start[k];
        if (cell->n == 0)
            continue;
        KN_TRY(kn_check_cancel(ctx));
        kn_cov_point at = kn_cell_point(samples.cov, s->cells, k);
        KN_TRY(kn_cell_decompose(ctx, &w, &at, kn_stgpr_gamma(s, J[0])));
        KN_TRY(deidentify_cell(ctx, from, &w, how, J, cell));
        kn_report_progress(ctx, "cells", k + 1, s->cells.rows, NAN);
    }
out:
    kn_cell_work_clear(&w);
    kn_cell_groups_clear(&g);
    kn_pairs_clear(&pairs);
    return status;
}

kn_status kn_stgpr_deidentify(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how, kn_gp *to)
{
    kn_stgpr *s = to->own;
    kn_status status = deidentify_cells(ctx, from, how, s);
    if (status != KN_OK)
        return status;
    kn_mat_clear(&s->alpha);
    kn_mat_clear(&s->effect);
    kn_mat_clear(&to->latent.X);
    kn_groups_clear(&to->latent.groups);
    to->spec.rank = 0;
    to->shared = true;
    return KN_OK;
}

ptrdiff_t kn_stgpr_points(const kn_gp *gp)
{
    const kn_stgpr *s = gp->own;
    ptrdiff_t n = 0;
    for (ptrdiff_t k = 0; k < s->cells.rows; k++)
        n += s->shared[k].R0.n_pivots;
    return n;
}

/* ---- prediction ---------------------------------------------------------------------- */

kn_status kn_stgpr_shared_predict(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t at,
                                  kn_shared_maps *shared_maps)
{
    kn_status status;
    const kn_stgpr *s = gp->own;
    const ptrdiff_t *J = shared_maps->g->order + at;
    ptrdiff_t k = (ptrdiff_t)s->cell[J[0]], skip = 0;
    const kn_latent_cell *cell = &s->shared[k];
    kn_latent l = {.n_cells = 1};
    shared_maps->n = kn_min_size(shared_maps->g->start[k + 1] - at, shared_maps->width);
    for (ptrdiff_t j = 0; j < J[0]; j++) /* columns of A are in the order of the responses */
        skip += (ptrdiff_t)s->cell[j] == k;
    KN_TRY(kn_alloc_d(ctx, shared_maps->n, &l.c));
    KN_TRY(kn_alloc_d(ctx, shared_maps->n, &l.d));
    for (ptrdiff_t j = 0; j < shared_maps->n; j++) {
        l.c[j] = s->c[J[j]];
        l.d[j] = s->d[J[j]];
    }
    l.P = shared_maps->n;
    l.cell[0] = (kn_latent_cell){.R0 = cell->R0,
                                 .A = kn_cols(cell->A, skip, shared_maps->n),
                                 .n = shared_maps->n};
    KN_TRY(kn_latent_predict(ctx, &l, &(kn_predict_input){.X = shared_maps->Xs},
                             kn_cols(shared_maps->mean, 0, shared_maps->n),
                             kn_cols(shared_maps->var, 0, shared_maps->n), shared_maps->clamped));
out:
    kn_free(l.c);
    kn_free(l.d);
    return status;
}

/* ---- model file ---------------------------------------------------------------------- */

/* Visits the arrays A, r and those of the synthetic points of cell k in the model file; reading
 * checks them (a->bad). */
static kn_status visit_cell(kn_gp *gp, ptrdiff_t k, kn_arrays *a)
{
    kn_status status;
    char name[24];
    kn_latent_cell *cell = &((kn_stgpr *)gp->own)->shared[k];
    kn_decomp *R0 = &cell->R0;
    KN_TRY(a->mat(a, kn_cell_name("A", k, name, sizeof name), a->reading ? -1 : R0->m, cell->n,
                  &cell->A));
    R0->m = cell->A.rows;
    if (a->reading && R0->m < 1)
        return a->bad(a, name);
    KN_TRY(a->doubles(a, kn_cell_name("r", k, name, sizeof name), R0->m, KN_NOT_NEGATIVE, &R0->r));
    KN_TRY(kn_deidentified_arrays(gp, R0, k, a));
out:
    return status;
}

kn_status kn_stgpr_shared_arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    kn_stgpr *s = gp->own;
    const kn_cov *cov = &gp->spec.sample;
    void *memory;
    if (a->reading) {
        KN_TRY(kn_alloc(a->ctx, s->cells.rows, sizeof *s->shared, &memory));
        s->shared = memory;
        for (ptrdiff_t j = 0; j < gp->T; j++) {
            kn_latent_cell *cell = &s->shared[(ptrdiff_t)s->cell[j]];
            kn_cov_point at = kn_cell_point(cov, s->cells, (ptrdiff_t)s->cell[j]);
            if (cell->n++ > 0)
                continue;
            cell->R0 = (kn_decomp){.N = gp->N, .cov = *cov, .gamma = kn_stgpr_gamma(s, j)};
            kn_cov_theta(cov, &at, cell->R0.theta);
        }
    }
    for (ptrdiff_t k = 0; k < s->cells.rows; k++)
        if (s->shared[k].n > 0)
            KN_TRY(visit_cell(gp, k, a));
out:
    return status;
}
