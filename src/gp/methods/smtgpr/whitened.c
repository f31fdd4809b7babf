/* S-MTGPR with whitened noise: each response has its own noise variance, and the complement of the
 * basis has one signal and one noise variance [METHOD 1f]. Has the fit, the joint density of maps
 * and the method's table entry. */
#include "gp/methods/smtgpr/internal.h"

#include <math.h>

#include "base/machine.h"
#include "gp/assign_folds.h"
#include "gp/basis/basis.h"
#include "gp/basis/complement.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"

static const double FLOPS = 4e10, LONG = 10; /* flops per second, measured on two cores; seconds
                                              * worth a message */

/* Returns KN_ERR_ARGUMENT for more than KN_MANY participants, because whitened noise needs
 * matrices over all pairs. */
static kn_status check_samples(kn_ctx *ctx, ptrdiff_t N)
{
    if (N <= KN_MANY)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_ARGUMENT,
                   "whitened noise needs matrices over all pairs of participants, and %td "
                   "participants are too many (at most %d); use {noise=structured}",
                   N, KN_MANY);
}

/* Limits a chosen number of components *P, or refuses a given one (KN_ERR_ARGUMENT), so that
 * variance remains outside the components, unless they span all responses. */
static kn_status check_components(kn_ctx *ctx, const kn_fit_problem *p, ptrdiff_t *P)
{
    const kn_gp_options *o = p->options;
    ptrdiff_t rank = p->gram.rank, limit = rank == p->Y.T ? rank : rank - 1;
    if (o->components == 0 && *P > limit)
        *P = limit;
    if (*P <= limit)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_ARGUMENT,
                   "{components} is %td, but with whitened noise %td participants with %td "
                   "responses allow at most %td%s",
                   *P, p->Y.N, p->Y.T, limit,
                   limit < p->Y.T ? ", because some variance must remain for the noise" : "");
}

/* Logs the expected duration of the factor analysis with P components, per fit and fold, if it
 * is long. */
static void log_duration(kn_ctx *ctx, const kn_fit_problem *p, ptrdiff_t P)
{
    double s = kn_factors_flops(p->Y.N, p->Y.T, P) / FLOPS;
    int folds = p->options->cv ? p->options->folds : 0;
    if (s * (1 + folds) > LONG)
        kn_log(ctx, KN_LOG_INFO,
               "whitened noise: factor analysis of %td responses takes about %.0f s, and as long "
               "in each of %d folds",
               p->Y.T, s, folds);
}

/* Searches a non-additive R0 (covariance between participants) with the whitened components Z (N
 * x P): updates *found, theta (parameters of R0) and p->spec.rank [METHOD 3b]. */
static kn_status search_parameters(kn_ctx *ctx, kn_fit_problem *p, kn_mat Z,
                                   kn_search_result *found, double *theta)
{
    kn_status status;
    kn_engine e = {0};
    kn_basis few = {.Z = Z, .total = 1};
    kn_fit_problem small = *p;
    small.spec.noise = KN_NOISE_STRUCTURED;
    KN_TRY(kn_fit_search(ctx, &small, &few, &e, found));
    kn_cov_theta(&e.cov, &found->at, theta);
    p->spec.rank = e.spec.rank;
out:
    kn_engine_clear(&e);
    return status;
}

/* Moves psi, B and the latent form (independent processes of the components) of *w to the model
 * gp and computes its D0 for the directions outside the components. Collective. */
static kn_status assemble_model(kn_ctx *ctx, const kn_whitened_data *data, kn_whitened *w,
                                kn_gp *gp)
{
    kn_status status = KN_OK;
    gp->complement_component = w->complement;
    gp->s2 = w->complement ? w->latent.d[gp->P] : 0;
    if (w->complement) {
        kn_complement_input outside = kn_whitened_outside(data, w);
        KN_TRY(kn_complement_make(ctx, &w->latent, &outside, &gp->D0));
    }
    gp->psi = w->factors.psi;
    gp->B = w->factors.B;
    gp->latent = w->latent;
    kn_gp_fix_rank(gp, w->rank);
    w->factors.psi = NULL;
    w->factors.B = kn_mat_none();
    w->latent = (kn_latent){0};
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
out:
    return status;
}

/* Records likelihood, components and what the basis leaves out in *info and adds to its
 * evaluation counts, which must be initialised. */
static void record_fit(const kn_gp *gp, const kn_whitened *w, kn_search_result *found,
                       kn_fit_info *info)
{
    kn_engine none = {.complement = true};
    kn_basis basis = {.total = w->factors.total, .E = w->factors.total - kn_sumsq(w->factors.Z)};
    found->lml = w->lml;
    kn_fit_record(gp, found, &none, &basis, info);
}

kn_status kn_whitened_fit_at(kn_ctx *ctx, kn_fit_problem *p, kn_search_result *found, ptrdiff_t P,
                             kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_whitened w = {0};
    double theta[KN_COV_THETA], t0 = kn_clock(), t1;
    kn_cov between = kn_cov_between(&p->spec.sample);
    kn_whitened_data data = {.spec = &p->spec, .X = p->X, .Y = &p->Y, .theta = theta};
    *gp = (kn_gp){.method = &kn_method_whitened,
                  .spec = p->spec,
                  .N = p->X.rows,
                  .F = p->X.cols,
                  .T = p->Y.T,
                  .P = P,
                  .pca = true};
    gp->spec.noise = KN_NOISE_WHITENED;
    log_duration(ctx, p, P);
    KN_TRY(kn_factors_new(ctx, &p->Y, NULL, P, &w.factors));
    gp->P = w.factors.B.cols; /* fewer than requested only by rounding */
    w.complement = gp->P < gp->T;
    t1 = kn_clock();
    kn_cov_theta(&between, &found->at, theta);
    found->evals = 1; /* earlier evaluations are already counted */
    found->evals_subsample = found->inner_evals = 0;
    if (!p->spec.additive && gp->P > 0)
        KN_TRY(search_parameters(ctx, p, w.factors.Z, found, theta));
    KN_TRY(kn_whitened_at(ctx, &data, &w));
    record_fit(gp, &w, found, info);
    KN_TRY(assemble_model(ctx, &data, &w, gp));
    info->rank = gp->latent.cell[0].R0.m;
    info->rank_residual = gp->latent.cell[0].R0.residual;
    info->seconds_basis += t1 - t0;
    info->seconds_fit += kn_clock() - t1;
    t1 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_reference += kn_clock() - t1;
out:
    kn_whitened_clear(&w);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* Implements kn_method.fit for {noise=whitened}: R0 and number of components are those of
 * structured noise; groups matter for the folds only. [METHOD 1f] */
static kn_status fit_whitened(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_components_pilot found = {0};
    ptrdiff_t P = p->options->components;
    double t0 = kn_clock();
    *gp = (kn_gp){0};
    p->groups = (kn_groups){0}; /* borrowed: no need to free */
    if (p->completion)
        found = (kn_components_pilot){true, p->completion->pilot};
    KN_TRY(check_samples(ctx, p->Y.N));
    KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
    if (P == 0)
        KN_TRY(kn_components_auto(ctx, p, info, &found, &P));
    KN_TRY(check_components(ctx, p, &P));
    if (!found.found)
        KN_TRY(kn_pilot_of_gram(ctx, p, info, &found.at));
    if (p->spec.additive || P == 0)
        p->spec.rank = p->pilot_rank;
    info->seconds_fit = kn_clock() - t0;
    KN_TRY(kn_whitened_fit_at(ctx, p, &found.at, P, gp, info));
out:
    return status;
}

/* ---- joint density of a map ---- */

/* Implements kn_method.map_density: V = B, variances d of the components, and v0 and d0 of the
 * directions outside; a fold has its own. */
static kn_status map_density_whitened(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                      kn_map_density *out)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    ptrdiff_t K = p->d ? p->B.cols : gp->P; /* a fold has its own number */
    *out = (kn_map_density){.K = K, .d0 = p->d ? p->s2 : gp->s2};
    KN_TRY(kn_mat_copy(ctx, kn_cols(p->var, 0, out->K), &out->v));
    KN_TRY(kn_alloc_d(ctx, out->K, &out->d));
    for (ptrdiff_t k = 0; k < out->K; k++)
        out->d[k] = p->d ? p->d[k] : gp->latent.d[k];
    if (p->var.cols == K)
        goto out;
    KN_TRY(kn_alloc_d(ctx, p->n, &out->v0));
    for (ptrdiff_t i = 0; i < p->n; i++)
        out->v0[i] = kn_at(p->var, i, out->K);
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

/* Implements kn_method.map_density_block: rows of B (count x P) and scale psi^1/2 of the
 * responses from `first` on. */
static kn_status map_density_block_whitened(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                            ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    const kn_fold_prediction *p = &maps->part[part];
    const double *psi = p->psi ? p->psi : maps->gp->psi;
    (void)ctx, (void)y;
    kn_mat_set(V, kn_sub(p->B.data ? p->B : maps->gp->B, first, 0, V.rows, V.cols));
    for (ptrdiff_t j = 0; j < V.rows; j++)
        scale[j] = sqrt(psi[first + j]);
    return KN_OK;
}

/* ---- other functions of the table entry ---- */

/* Implements kn_method.arrays: those of the components; checks after reading that psi exists and
 * D0 has the expected number of rows. */
static kn_status visit_arrays_whitened(kn_gp *gp, kn_arrays *a)
{
    kn_status status = kn_components_arrays(gp, a);
    if (status != KN_OK || !a->reading)
        return status;
    if (!gp->psi || gp->shared)
        return a->bad(a, "psi");
    if (gp->complement_component && gp->D0.rows != kn_complement_count(&gp->latent))
        return a->bad(a, "D0");
    return KN_OK;
}

/* Implements kn_method.deidentify: always KN_ERR_ARGUMENT, because D0 holds the responses of the
 * training participants. */
static kn_status refuse_deidentification(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how,
                                         kn_gp *to)
{
    (void)from, (void)how, (void)to;
    return kn_fail(
        ctx, KN_ERR_ARGUMENT,
        "a model with whitened noise cannot be exported; fit it with {noise=structured}");
}

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: no given basis, no groups, the largest number of components if it is chosen. */
static void need_settle(kn_problem_size *s)
{
    s->chosen = s->P == 0;
    s->given_basis = false;
    s->groups = 0;
    if (s->chosen)
        s->P = kn_components_max(s->N, s->T, s->N);
}

/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: factors,
 * components, D0 and cross-validated maps stay in the plan. */
static void need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now, gram;
    kn_plan_stage(r, "gram");
    kn_gram_need(r, s);
    gram = r->now;
    kn_plan_stage(r, "components");
    if (s->chosen)
        kn_components_need(r, s);
    kn_plan_stage(r, "search");
    kn_pilot_need(r, s);
    kn_plan_stage(r, "basis");
    kn_whitened_need(r, s);
    kn_complement_need(r, s, s->M);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_stage(r, "folds");
    if (s->folds > 0)
        kn_whitened_cv_need(r, s);
    kn_plan_free(r, begin, gram);
}

/* Implements kn_method.need.maps, which predicts in plan r the memory of maps of n participants:
 * the maps, and R0* U (n x M) or the leave-one-out smoother, which stay allocated. */
static void need_maps(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_components_maps_need(r, s, kind, n);
    if (kind == KN_MAPS_LOO)
        kn_whitened_loo_need(r, s);
    else
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, s->M); /* RU */
}

/* Implements kn_method.need.block, which predicts in plan r the memory of the work space for one
 * block of responses of maps of n participants; only the peak rises. */
static void need_block(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    if (kind == KN_MAPS_CV)
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, s->N); /* smoothers of the folds over all rows */
    kn_mem_usage folds = r->now;
    kn_problem_size one = *s;
    one.folds = 0;
    kn_components_block_need(r, &one, kind, n);
    kn_plan_free_to(r, folds);
    kn_plan_free_to(r, mark);
}

const kn_method kn_method_whitened = {
    .name = "smtgpr",
    .title = "S-MTGPR",
    .words = "scalable multi-task Gaussian process regression, in which all responses are "
             "predicted jointly through components that are weighted by the noise of each response",
    .cite = KN_KIA_MARQUAND_CITE,
    .paper = KN_KIA_MARQUAND,
    .components = true,
    .low_rank = true,
    .own_deviance = true,
    .fit = fit_whitened,
    .predict = kn_components_predict,
    .loo = kn_whitened_loo,
    .cv = kn_whitened_cv,
    .block = kn_components_block,
    .covariance = kn_components_covariance,
    .map_density = map_density_whitened,
    .map_density_block = map_density_block_whitened,
    .group_noise = kn_components_group_noise,
    .group_noise_proportion = kn_components_group_proportion,
    .deidentify = refuse_deidentification,
    .arrays = visit_arrays_whitened,
    .bytes = kn_components_bytes,
    .need = {need_settle, need_fit, need_maps, need_block},
};
