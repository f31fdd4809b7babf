/* Implements fit_steps.h: steps that the fits of several methods share. Each method calls them in
 * its own order. */

#include "gp/methods/fit_steps.h"
#include <math.h>

#include "base/mpi/comm.h"
#include "gp/assign_folds.h"
#include "gp/basis/user_span.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/method.h"
#include "io/file/path.h"

_Static_assert((int)KN_MAX_THETA >= (int)KN_THETA, "info has room for every parameter");

void kn_fit_record(const kn_gp *gp, const kn_search_result *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info)
{
    info->n_components = gp->P;
    info->rank = gp->latent.cell[0].R0.m;
    info->rank_residual = gp->latent.cell[0].R0.residual;
    info->lml = found->lml;
    info->evaluations += found->evals;
    info->evaluations_subsample += found->evals_subsample;
    info->evaluations_inner += found->inner_evals;
    info->stop = found->stop;
    info->projected_gradient = found->projected;
    info->rho = info->length = NAN;
    info->complement = basis->total > 0 ? basis->E / basis->total : 0;
    info->complement_empty = gp->P < gp->T && !e->complement && !gp->complement_component;
    info->basis_orthonormalised = basis->orthonormalised;
    if (gp->spec.noise != KN_NOISE_ISO) {
        if (!gp->spec.additive && kn_cov_is_rho_length(&gp->spec.sample))
            kn_cov_rho_length(&gp->spec.sample, &found->at, &info->rho, &info->length);
    } else {
        info->n_theta = kn_spec_n_theta(&gp->spec);
        for (int i = 0; i < info->n_theta; i++) {
            info->theta[i] = found->theta[i];
            info->gradient[i] = found->gradient[i];
            kn_spec_theta_name(&gp->spec, i, info->theta_name[i], sizeof info->theta_name[i]);
        }
    }
}

kn_status kn_fit_cv(kn_ctx *ctx, const kn_gp *gp, kn_fit_problem *p, kn_fit_info *info)
{
    kn_status status = KN_OK;
    const kn_gp_options *o = p->options;
    void *fold = NULL;
    bool once = gp->method->held_out_once && gp->N > KN_MANY;
    int folds = once && o->folds > 0 ? KN_HELD_OUT_ONCE : o->folds;
    kn_cv_problem cv = {.Y = &p->Y,
                        .X_without_site = p->X_without_site,
                        .gram = p->gram.G.data ? &p->gram : NULL,
                        .completion = p->completion,
                        .pairs = p->core && p->core->pairs.n > 0 ? &p->core->pairs : NULL};
    if (!kn_cancel_keeps_best(ctx))
        KN_TRY(kn_check_cancel(ctx));
    if (!o->cv || folds == 0 || gp->N < 2 || info->stop == KN_STOP_CANCELLED)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &fold));
    KN_TRY(kn_folds_assign(ctx, gp->N, o->groups, o->row_order, o->search.seed, &folds, fold));
    cv.folds = folds;
    cv.fold = fold;
    KN_TRY(p->held_out.mean ? kn_gp_cv_heldout(ctx, gp, &cv, &p->held_out, o->cv)
                            : kn_gp_cv(ctx, gp, &cv, o->cv));
    info->clamped = fmax(info->clamped, o->cv->clamped);
out:
    if (status == KN_ERR_CANCELLED && kn_cancel_keeps_best(ctx)) { /* keep the model */
        info->stop = KN_STOP_CANCELLED;
        status = KN_OK;
    }
    kn_free(fold);
    return status;
}

kn_status kn_user_span_given(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                             kn_fit_info *info)
{
    static const double SHARED = 0.5;
    kn_status status;
    KN_TRY(kn_basis_given(ctx, &p->Y, p->options->basis, basis));
    info->basis_columns = basis->B.cols;
    info->basis_constant = kn_user_span_constant(basis->B);
    if (info->basis_constant < SHARED)
        kn_log(ctx, KN_LOG_WARNING,
               "the basis explains %.0f%% of a uniform shift of all responses, so effects common "
               "to all responses count as noise; add a constant column",
               100 * info->basis_constant);
    if (!p->options->axes_given) {
        KN_TRY(kn_user_span_axes(ctx, basis, gp->P, &gp->span));
        if (gp->P > 0)
            KN_TRY(kn_basis_check(ctx, &p->Y, gp->P, basis->B.cols));
    }
    gp->axes = !p->options->axes_given;
    gp->P = basis->B.cols;
out:
    return status;
}

void kn_user_span_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size all = *s;
    kn_mem_usage begin = r->now, given;
    all.P = s->span;
    kn_basis_need(r, &all);
    given = r->now;
    kn_user_span_axes_need(r, s);
    if (s->P < s->span) { /* their coordinates are freed */
        kn_plan_free(r, begin, given);
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->span);
    }
}

/* Shifts the mean of each response with missing cells, s->mean, to that of its completed values,
 * and its imputed cells accordingly. Complete responses do not change, not even by rounding. */
static kn_status centre_table(kn_ctx *ctx, const kn_responses *Y, kn_scaling *s, double *imputed)
{
    kn_status status;
    kn_mat y = {0};
    ptrdiff_t width = kn_min_size(Y->T, KN_BLOCK);
    KN_TRY(kn_mat_new(ctx, Y->N, width, &y));
    for (ptrdiff_t first = 0; first < Y->T; first += width) {
        kn_mat block = kn_cols(y, 0, kn_min_size(Y->T - first, width));
        kn_responses_block(ctx, Y, first, block);
        for (ptrdiff_t k = 0; k < block.cols; k++) {
            ptrdiff_t j = first + k, words = Y->missing->words;
            double mean = 0;
            if (kn_missing_in(Y->missing, j) == 0)
                continue; /* complete: must not change even by rounding */
            for (ptrdiff_t i = 0; i < Y->N; i++)
                mean += kn_at(block, i, k) / (double)Y->N;
            s->mean[j] += mean * s->sd[j];
            for (ptrdiff_t c = Y->missing->before[j * words];
                 c < Y->missing->before[(j + 1) * words]; c++)
                imputed[c] -= mean;
        }
    }
out:
    kn_mat_clear(&y);
    return status;
}

/* Finds R0 by a pilot search on the completed responses p->Y, with coordinates from a Gram
 * matrix or, for many participants, from the range finder. Collective. */
static kn_status find_r0(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info, kn_search_result *found)
{
    kn_status status;
    kn_basis few = {0};
    kn_range_info range;
    kn_range_options ro = {.passes = KN_RANGE_PASSES, .seed = p->options->search.seed};
    ptrdiff_t P = kn_min_size(KN_PILOT_COMPONENTS, p->Y.T);
    if (p->Y.N <= KN_MANY) {
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
        KN_TRY(kn_pilot_of_gram(ctx, p, info, found));
        kn_gram_clear(&p->gram);
    } else {
        KN_TRY(kn_basis_range(ctx, &p->Y, P, &ro, &few, &range));
        P = kn_pilot_components(p, few.Z.cols);
        KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, p->options->row_order, kn_cols(few.Z, 0, P), info,
                        found));
    }
out:
    kn_basis_clear(&few);
    return status;
}

/* Returns KN_ERR_MEMORY if the imputation does not fit the budget: imputed cells of all
 * participants and of one fold, and work space. */
static kn_status check_memory(kn_ctx *ctx, const kn_completion *c)
{
    double cells = 8 * (double)c->missing.cells, work = kn_imputer_bytes(&c->filler, c->missing.N);
    double need = (double)kn_memory_now(ctx) + 2 * cells + work, have = (double)kn_memory(ctx);
    if (need <= have)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY,
                   "imputing %td missing cells needs %s, but %s are available; "
                   "{missing_responses=drop} excludes such responses",
                   c->missing.cells, kn_format_size(need).text, kn_format_size(have).text);
}

kn_status kn_completion_new(kn_ctx *ctx, kn_fit_problem *p, kn_scaling *scaling, bool centre,
                            kn_fit_info *info, kn_completion *out)
{
    kn_status status;
    *out = (kn_completion){0};
    KN_TRY(kn_missing_mask_new(ctx, p->Y.Y, scaling->kept, scaling->n_kept, &out->missing));
    if (out->missing.cells == 0)
        goto out;
    p->Y.missing = &out->missing;
    KN_TRY(kn_imputer_new(ctx, &p->spec, p->X, &p->Y, &out->filler));
    out->filler.seed = p->options->search.seed;
    KN_TRY(check_memory(ctx, out));
    KN_TRY(kn_alloc_d(ctx, out->missing.cells, &out->imputed));
    for (int again = 0; again < 2; again++) {
        kn_report_progress(ctx, "filling in", again, 2, NAN);
        KN_TRY(kn_imputer_run(ctx, &out->filler, NULL, 0, out->imputed, &out->info));
        p->Y.imputed = out->imputed;
        if (centre)
            KN_TRY(centre_table(ctx, &p->Y, scaling, out->imputed));
        if (again == 0) {
            KN_TRY(find_r0(ctx, p, info, &out->pilot));
            kn_imputer_move(&out->filler, &out->pilot.at, p->pilot_rank);
        }
    }
    kn_report_progress(ctx, "filling in", 2, 2, NAN);
    p->completion = out;
out:
    if (status != KN_OK || out->missing.cells == 0)
        kn_completion_clear(out);
    return status;
}
