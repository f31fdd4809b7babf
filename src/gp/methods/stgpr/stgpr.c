/* STGPR, single-task Gaussian process regression: each response has its own process [METHOD 7]. Has
 * the fit, the arrays of the model file and the method's table entry. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>

#include "base/machine.h"
#include "data/mpi/gather_responses.h"
#include "gp/components/pilot.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/predict/covariance.h"
#include "la/la.h"

/* Fits each response separately with all hyperparameters free ({plain}); one MPI rank.
 * KN_ERR_ARGUMENT with groups. */
static kn_status fit_each_response(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_pairs pairs = {0}, own = {0};
    kn_mat theta = {0}, grad = {0};
    kn_search_result found = {0};
    kn_stgpr *s = gp->own;
    const kn_search_options *o = &p->options->search;
    const kn_cov *cov = &gp->spec.sample;
    int n = cov->n_theta + 1, evals = 0;
    kn_cell_samples samples = {.cov = cov, .pairs = &pairs};
    if (p->groups.n > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{plain} fits independent noise per row, but %td rows form %td groups that "
                       "share noise; {group=none} ignores the groups",
                       p->groups.N, p->groups.n);
    KN_TRY(kn_pairs_within(ctx, p->X, &cov->stats, &pairs));
    KN_TRY(kn_pairs_within(ctx, p->X, &cov->stats, &own));
    KN_TRY(kn_mat_new(ctx, gp->T, n, &theta));
    KN_TRY(kn_mat_new(ctx, gp->T, n, &grad));
    for (int i = 0; o->theta && i < n; i++)
        for (ptrdiff_t j = 0; j < gp->T; j++)
            kn_col(theta, i)[j] = o->theta[i];
    KN_TRY(kn_plain_fit(ctx, &own, cov, s->alpha, o, p->spec.additive, theta, o->theta != NULL,
                        s->lml, grad, &found));
    KN_TRY(kn_plain_cells(ctx, cov, theta, s));
    KN_TRY(kn_stgpr_finish(ctx, &samples, true, s, &evals));
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

/* Finds *out, the weights of the categories and the R0 for choosing gamma (group noise over
 * noise), by a pilot search of S-MTGPR, if the kernel or groups need it; else equal to one
 * smooth term. Collective. */
static kn_status find_base(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info, kn_cov_point *out)
{
    kn_status status = KN_OK;
    kn_gp_options o = *p->options;
    kn_fit_problem mine = *p;
    kn_search_result found = {0};
    *out = (kn_cov_point){.w = {1}, .shape = {1}};
    if (!kn_family_takes(&p->spec.sample) && p->groups.n == 0)
        return KN_OK;
    o.search.rho = o.search.length = NAN; /* the cells determine these */
    mine.options = &o;
    KN_TRY(kn_gram_new(ctx, &p->Y, &mine.gram));
    KN_TRY(kn_pilot_of_gram(ctx, &mine, info, &found));
    *out = found.at;
out:
    kn_gram_clear(&mine.gram);
    return status;
}

/* Chooses the cell of every response, all responses with the same gamma (group noise over noise)
 * together, one gamma after the other. Collective. */
static kn_status choose_cells(kn_ctx *ctx, const kn_cell_samples *samples, kn_cell_search *search,
                              kn_stgpr *s)
{
    kn_status status = KN_OK;
    ptrdiff_t *J = NULL;
    kn_index_range mine = kn_response_range(ctx, samples->Y);
    KN_TRY(kn_alloc_i(ctx, mine.last - mine.first, &J));
    for (int k = 0; k < (s->gamma ? KN_GAMMAS : 1); k++) {
        kn_cell_class these = {.J = J, .gamma = s->gamma ? kn_gamma[k] : 0};
        bool any = false; /* on any MPI rank */
        for (ptrdiff_t j = 0; j < samples->Y->T; j++) {
            if (kn_stgpr_gamma(s, j) != these.gamma)
                continue;
            any = true;
            if (j >= mine.first && j < mine.last)
                J[these.n++] = j;
        }
        if (any)
            KN_TRY(kn_cells_choose(ctx, samples, &these, search, s));
    }
out:
    kn_free(J);
    return status;
}

/* Gathers cell, c, delta, d, lml, alpha and effects of all ranks' responses on every MPI rank.
 * Collective. */
static kn_status gather_results(kn_ctx *ctx, const kn_responses *Y, kn_stgpr *s)
{
    kn_status status;
    double *number[] = {s->cell, s->c, s->delta, s->d, s->lml};
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        KN_TRY(kn_allgather_responses_d(ctx, Y, number[k]));
    KN_TRY(kn_allgather_response_cols(ctx, Y, s->alpha));
    KN_TRY(kn_allgather_response_cols(ctx, Y, s->effect));
out:
    return status;
}

/* Fits all responses together on the lattice of (rho, length): pilot, gamma (group noise over
 * noise), cells, final parameters; records the fit in *info. Collective. */
static kn_status fit_by_cells(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_pairs pairs = {0};
    kn_cov_point base;
    const kn_cov *cov = &gp->spec.sample;
    const kn_search_options *o = &p->options->search;
    const kn_groups *groups = gp->latent.groups.n > 0 ? &gp->latent.groups : NULL;
    kn_stgpr *s = gp->own;
    kn_cell_samples samples = {.cov = cov,
                               .pairs = &pairs,
                               .X = gp->latent.X,
                               .groups = groups,
                               .rank = gp->spec.rank,
                               .Y = &p->Y};
    kn_cell_search search = {.limits = o->limits,
                             .rho = o->rho,
                             .length = o->length,
                             .optimise = o->optimise};
    KN_TRY(find_base(ctx, p, info, &base));
    search.family = kn_family_of(cov, &base);
    KN_TRY(kn_pairs_within(ctx, p->X, &cov->stats, &pairs));
    if (groups) {
        KN_TRY(kn_alloc_d(ctx, gp->T, &s->gamma));
        KN_TRY(
            kn_cells_choose_gamma(ctx, &samples, kn_response_range(ctx, &p->Y), &base, &search, s));
        KN_TRY(kn_allgather_responses_d(ctx, &p->Y, s->gamma));
    }
    KN_TRY(choose_cells(ctx, &samples, &search, s));
    KN_TRY(kn_stgpr_finish(ctx, &samples, false, s, &search.evals));
    KN_TRY(gather_results(ctx, &p->Y, s));
    info->evaluations += search.evals;
    info->stop = search.stop;
    info->projected_gradient = NAN;
out:
    kn_pairs_clear(&pairs);
    return status;
}

/* Scales d and delta of each response by N/n_j, its number of observed cells: imputed cells have
 * no residual, so noise estimated over all N rows is too small [METHOD 0b]. */
static void correct_noise(const kn_fit_problem *p, kn_stgpr *s)
{
    const ptrdiff_t *n = p->Y.scaling->n;
    for (ptrdiff_t j = 0; n && j < p->Y.T; j++) {
        s->d[j] *= (double)p->Y.N / (double)n[j];
        s->delta[j] *= (double)p->Y.N / (double)n[j];
    }
}

/* Implements kn_method.fit: reads this MPI rank's responses into alpha, fits them by cells or
 * one by one, then cross-validation. KN_ERR_ARGUMENT for kernels with an iso term or two
 * lengths. [METHOD 7] */
static kn_status fit_stgpr(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    const kn_gp_options *o = p->options;
    kn_stgpr *s;
    double t0 = kn_clock(), t1;
    kn_index_range mine = kn_response_range(ctx, &p->Y);
    if (!kn_family_exists(&p->spec.sample) || kn_spec_sample_iso(&p->spec))
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "STGPR needs a sample covariance without iso and with at most one length-scale");
    *gp = (kn_gp){
        .method = &kn_method_stgpr, .spec = p->spec, .N = p->X.rows, .F = p->X.cols, .T = p->Y.T};
    if (!p->spec.additive || o->plain)
        gp->spec.rank = 0;
    gp->spec.rank = kn_min_size(gp->spec.rank, gp->N / KN_CELL_RANK_RATIO);
    KN_TRY(kn_stgpr_allocate(ctx, gp));
    s = gp->own;
    KN_TRY(kn_stgpr_new(ctx, gp->N, gp->T, s));
    KN_TRY(kn_mat_copy(ctx, p->X, &gp->latent.X));
    KN_TRY(kn_groups_subset(ctx, &p->groups, NULL, gp->N, &gp->latent.groups));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    kn_responses_block(ctx, &p->Y, mine.first,
                       kn_cols(s->alpha, mine.first, mine.last - mine.first));
    KN_TRY((o->plain ? fit_each_response : fit_by_cells)(ctx, p, gp, info));
    correct_noise(p, s);
    info->rank = gp->spec.rank > 0 ? gp->spec.rank : gp->N;
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

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: no components, dense decompositions. */
static void need_settle(kn_problem_size *s)
{
    s->P = 0;
    s->M = s->N;
}

/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: alpha, effects
 * and parameters of each response, and cross-validated maps, stay in the plan. */
static void need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->N, s->T); /* alpha */
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->groups, s->T);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, 7);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F + 4); /* and group numbers */
    kn_plan_stage(r, "search");
    kn_mem_usage mark = r->now;
    if (!s->plain && s->stats > 2) { /* terms beyond linear and smooth need a pilot fit */
        kn_problem_size pilot = *s;
        pilot.P = kn_min_size(s->N - 1, s->T);
        kn_gram_need(r, s);
        kn_pilot_need(r, &pilot);
        kn_plan_free_to(r, mark);
    }
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, s->groups > 0 ? 2 : 1); /* responses of one gamma, and
                                                                    * gamma */
    if (s->groups > 0)
        kn_cells_choose_gamma_need(r, s);
    (s->plain ? kn_plain_need : kn_cells_choose_need)(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1); /* order of responses by cell */
    kn_cells_evaluate_need(r, s);
    kn_plan_free_to(r, mark);
    kn_plan_stage(r, "folds");
    if (s->folds > 0) {
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2);
        kn_stgpr_maps_need(r, s, KN_MAPS_CV, s->N);
    }
}

/* Implements kn_method.known_noise: noise variance of a new group, d (1 + gamma); returns true. */
static bool known_noise(kn_gp *gp)
{
    const kn_stgpr *s = gp->own;
    for (ptrdiff_t j = 0; j < gp->T; j++)
        gp->noise[j] = s->d[j] * (1 + kn_stgpr_gamma(s, j));
    return true;
}

/* Implements kn_method.group_noise: noise[j] (T) of a known group is d_j. */
static void group_noise(const kn_gp *gp, double *noise)
{
    const kn_stgpr *s = gp->own;
    for (ptrdiff_t j = 0; j < gp->T; j++)
        noise[j] = s->d[j];
}

/* Implements kn_method.group_noise_proportion: group noise over all noise, both summed over
 * responses. */
static double group_noise_proportion(const kn_gp *gp)
{
    const kn_stgpr *s = gp->own;
    double own = 0, all = 0;
    for (ptrdiff_t j = 0; j < gp->T; j++) {
        own += s->d[j] * kn_stgpr_gamma(s, j);
        all += s->d[j] * (1 + kn_stgpr_gamma(s, j));
    }
    return all > 0 ? own / all : 0;
}

kn_status kn_stgpr_allocate(kn_ctx *ctx, kn_gp *gp)
{
    return kn_alloc(ctx, 1, sizeof(kn_stgpr), &gp->own);
}

static void clear_stgpr(kn_gp *gp)
{
    kn_stgpr_clear(gp->own);
    kn_free(gp->own);
    gp->own = NULL;
}

/* Implements kn_method.bytes: size of alpha and effects in memory. */
static double bytes_stgpr(const kn_gp *gp)
{
    return 8 * (double)(gp->N + gp->latent.groups.n) * (double)gp->T;
}

/* Converts cells that were read as (rho, length), as model files before 0.2 store them, to
 * weights and shapes. */
static kn_status convert_rho_length(kn_ctx *ctx, const kn_cov *cov, kn_stgpr *s)
{
    kn_mat old = s->cells;
    ptrdiff_t n = old.rows;
    kn_status status = kn_mat_new(ctx, n, kn_cell_columns(cov), &s->cells);
    for (ptrdiff_t k = 0; status == KN_OK && k < n; k++) {
        kn_cov_point at = kn_cov_at_rho(cov, kn_at(old, k, 0), kn_at(old, k, 1));
        kn_cell_write(cov, &at, s->cells, k);
    }
    kn_mat_clear(&old);
    return status;
}

/* Returns true if the weights in row `row` of cells are nonnegative with sum 1 and its shapes
 * are positive. */
static bool is_sound_cell(const kn_cov *cov, kn_mat cells, ptrdiff_t row)
{
    static const double SUM = 1e-9; /* tolerance of the sum of weights */
    double sum = 0;
    for (int k = 0; k < cov->n; k++) {
        if (!(kn_at(cells, row, k) >= 0))
            return false;
        sum += kn_at(cells, row, k);
    }
    for (int i = 0; i < cov->n_shapes; i++)
        if (!(kn_at(cells, row, cov->n + i) > 0))
            return false;
    return fabs(sum - 1) <= SUM;
}

/* Checks cells, cell numbers and variances that were read from a file (a->bad names the array)
 * and computes delta. */
static kn_status check_cells(const kn_gp *gp, kn_arrays *a)
{
    kn_stgpr *s = gp->own;
    const kn_cov *cov = &gp->spec.sample;
    kn_status status = KN_OK;
    double *gamma = NULL;
    if (cov->n > cov->n_between) /* the iso term must not be part of R0 */
        return a->bad(a, "'kernel'");
    if (s->cells.cols == 2 && kn_cov_is_rho_length(cov))
        KN_TRY(convert_rho_length(a->ctx, cov, s));
    if (s->cells.cols != kn_cell_columns(cov))
        return a->bad(a, "cells");
    KN_TRY(kn_alloc_d(a->ctx, gp->T, &s->delta));
    KN_TRY(kn_alloc_d(a->ctx, s->cells.rows, &gamma));
    for (ptrdiff_t k = 0; k < s->cells.rows; k++) {
        gamma[k] = -1;
        if (!is_sound_cell(cov, s->cells, k))
            KN_TRY(a->bad(a, "cells"));
    }
    for (ptrdiff_t j = 0; j < gp->T; j++) {
        if (s->cell[j] >= (double)s->cells.rows || s->cell[j] != floor(s->cell[j]))
            KN_TRY(a->bad(a, "cell"));
        double *of_cell = &gamma[(ptrdiff_t)s->cell[j]], own = kn_stgpr_gamma(s, j);
        if (*of_cell >= 0 && *of_cell != own)
            KN_TRY(a->bad(a, "gamma"));
        *of_cell = own;
        s->delta[j] = s->c[j] > 0 ? s->d[j] / s->c[j] : INFINITY;
    }
out:
    kn_free(gamma);
    return status;
}

/* Implements kn_method.arrays. The file stores alpha = (R0 + delta H)^-1 y: unlike eigenvectors
 * it does not depend on the sign conventions of a machine, and in single precision it is as
 * large as the responses. */
static kn_status visit_arrays_stgpr(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    if (a->reading)
        KN_TRY(kn_stgpr_allocate(a->ctx, gp));
    kn_stgpr *s = gp->own;
    bool grouped = a->reading ? a->has(a, "gamma") : s->gamma != NULL;
    if (grouped && gp->shared) {
        KN_TRY(a->doubles(a, "gamma", gp->T, KN_NOT_NEGATIVE, &s->gamma));
    } else if (grouped) {
        KN_TRY(kn_group_array(gp, a));
        KN_TRY(a->doubles(a, "gamma", gp->T, KN_NOT_NEGATIVE, &s->gamma));
        KN_TRY(a->mat_f32(a, "group_effect", gp->latent.groups.n, gp->T, &s->effect));
    }
    KN_TRY(a->mat(a, "cells", a->reading ? -1 : s->cells.rows, a->reading ? -1 : s->cells.cols,
                  &s->cells));
    KN_TRY(a->doubles(a, "cell", gp->T, KN_NOT_NEGATIVE, &s->cell));
    KN_TRY(a->doubles(a, "c", gp->T, KN_NOT_NEGATIVE, &s->c));
    KN_TRY(a->doubles(a, "d", gp->T, KN_NOT_NEGATIVE, &s->d));
    KN_TRY(a->doubles(a, "lml", gp->T, KN_ANY, &s->lml));
    if (!gp->shared)
        KN_TRY(a->mat_f32(a, "alpha", gp->N, gp->T, &s->alpha));
    KN_TRY(a->reading ? check_cells(gp, a) : a->derived(a, "delta", gp->T, &s->delta));
    if (gp->shared)
        KN_TRY(kn_stgpr_shared_arrays(gp, a));
out:
    return status;
}

const kn_method kn_method_stgpr = {
    .name = "stgpr",
    .title = "STGPR",
    .words = "Gaussian process regression of each response alone",
    .cite = "Rasmussen & Williams, 2006",
    .paper =
        "Rasmussen CE, Williams CKI (2006). Gaussian Processes for Machine Learning. MIT Press.",
    .independent_responses = true,
    .low_rank = true,
    .spreads = true,
    .fit = fit_stgpr,
    .predict = kn_stgpr_predict,
    .loo = kn_stgpr_loo,
    .cv = kn_stgpr_cv,
    .block = kn_stgpr_maps_block,
    .covariance = kn_diagonal_covariance,
    .known_noise = known_noise,
    .group_noise = group_noise,
    .group_noise_proportion = group_noise_proportion,
    .deidentify = kn_stgpr_deidentify,
    .points = kn_stgpr_points,
    .arrays = visit_arrays_stgpr,
    .clear = clear_stgpr,
    .bytes = bytes_stgpr,
    .batch = kn_stgpr_batch,
    .need = {need_settle, need_fit, kn_stgpr_maps_need, kn_stgpr_block_need},
};
