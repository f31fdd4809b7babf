/* Convolved Gaussian processes over the components of a basis, or over the responses themselves
 * [METHOD 1i]. Has the checks of size, the fit, its folds and the method's table entry. */
#include "gp/methods/convolved/internal.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "gp/basis/user_span.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/cv/refit.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "la/la.h"

/* Limits of size: an evaluation costs m^3, (NP)^3 or N^3 P, and there are some hundred. */
enum { MAX_M = 500, MAX_DENSE = 3000, MAX_PITC = 2000, MAX_RESPONSES = 1000 };
enum { MAX_EVALS = 300 };                      /* in one search */
static const double FLOPS = 20e9;              /* per second: Cholesky factors of some hundred
                                                * rows */
static const double PITC = 3, DENSE = 7 / 3.0; /* times N^3 P, (NP)^3 for value and gradient */

/* Checks the size of the inducing inputs for N participants, before the number of tasks is
 * known: KN_ERR_ARGUMENT if latent processes times inducing inputs exceed MAX_M, or N exceeds
 * MAX_PITC with PITC. */
static kn_status check_inducing(kn_ctx *ctx, const kn_conv_plan *plan, ptrdiff_t N)
{
    ptrdiff_t m = plan->Q * plan->M;
    if (plan->how != KN_INDUCING_NONE && m > MAX_M)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=convolved}: {latent} times {inducing_points} is %td (%td times "
                       "%td), but at most %d is allowed",
                       m, plan->Q, plan->M, MAX_M);
    if (plan->how == KN_INDUCING_PITC && N > MAX_PITC)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=convolved}: {inducing=pitc} takes about %.0f s per evaluation of "
                       "each task with %td participants; at most %d are allowed",
                       PITC * (double)N * (double)N * (double)N / FLOPS, N, MAX_PITC);
    return KN_OK;
}

/* Returns KN_ERR_ARGUMENT if a dense model of N participants times P tasks is too large
 * (MAX_DENSE), and logs the expected time per evaluation. */
static kn_status check_tasks(kn_ctx *ctx, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t P)
{
    double all = (double)N * (double)P, n = (double)N, seconds = 0;
    if (plan->how == KN_INDUCING_NONE)
        seconds = DENSE * all * all * all / FLOPS;
    else if (plan->how == KN_INDUCING_PITC)
        seconds = PITC * n * n * n * (double)P / FLOPS;
    if (plan->how == KN_INDUCING_NONE && all > MAX_DENSE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=convolved}: {inducing=none} uses one Gaussian distribution of %td "
                       "participants times %td tasks (%.1f GB and about %.0f s per evaluation), "
                       "but at most %d values are allowed",
                       N, P, 16e-9 * all * all, seconds, MAX_DENSE);
    if (seconds > 0.1)
        kn_log(ctx, KN_LOG_INFO,
               "{method=convolved}: about %.1f s per evaluation, with some hundred evaluations in "
               "the fit and in each fold",
               seconds);
    return KN_OK;
}

/* ---- fit ---- */

/* Chooses the number of components *P by held-out loss at the R0 (covariance between
 * participants) of a pilot search, at least one: a model of the mean alone is not a convolved
 * process. Warns if the covariates predict nothing. Collective. */
static kn_status choose_components(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status = KN_OK;
    kn_search_result found = {0};
    kn_fit_problem curve;
    if (p->completion)
        found = p->completion->pilot;
    else
        KN_TRY(kn_pilot_of_gram(ctx, p, info, &found));
    curve = *p;
    curve.spec.rank = p->pilot_rank;
    curve.spec.rank_auto = false;
    KN_TRY(kn_choose_components(ctx, &curve, &found.at, info, P));
    if (info->nothing_predicted)
        kn_log(ctx, KN_LOG_WARNING,
               "the covariates do not improve prediction, so one component is used");
    *P = *P > 0 ? *P : 1;
out:
    return status;
}

/* Computes the tasks, which the processes model, as basis->Z (N x P) with loadings basis->B: the
 * responses themselves ({on=responses}), coordinates in the user's basis, or principal
 * components. Sets gp->P. KN_ERR_ARGUMENT for more than MAX_RESPONSES responses. */
static kn_status make_tasks(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_basis *basis,
                            kn_fit_info *info)
{
    kn_status status;
    const kn_gp_options *o = p->options;
    if (o->tasks.on == KN_ON_RESPONSES) {
        if (p->Y.T > MAX_RESPONSES)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{method=convolved}: {on=responses} allows at most %d responses, but "
                           "there are %td; use {on=components}",
                           MAX_RESPONSES, p->Y.T);
        kn_log(ctx, KN_LOG_WARNING,
               "without structured noise, noise shared between responses counts as signal; "
               "{on=components} has separate noise per component");
        KN_TRY(kn_conv_identity(ctx, &p->Y, basis));
    } else if (o->basis.data) {
        KN_TRY(kn_user_span_given(ctx, p, basis, gp, info));
    } else {
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
        if (gp->P == 0)
            KN_TRY(choose_components(ctx, p, info, &gp->P));
        KN_TRY(kn_basis_check(ctx, &p->Y, gp->P, p->gram.rank));
        KN_TRY(kn_basis_pca(ctx, &p->Y, &p->gram, gp->P, basis));
    }
    gp->P = basis->B.cols;
out:
    return status;
}

/* Records the result of the search in *info: likelihood, evaluations, reason of the stop; rho
 * and length do not exist here and become NaN. */
static void record_fit(const kn_gp *gp, const kn_conv_search *s, const kn_basis *basis,
                       kn_fit_info *info)
{
    info->n_components = gp->P;
    info->rank = gp->N;
    info->lml = s->value;
    info->evaluations += s->evals;
    info->stop = s->stop;
    info->projected_gradient = s->projected;
    info->rho = info->length = NAN;
    info->complement = basis->total > 0 ? basis->E / basis->total : 0;
    info->basis_orthonormalised = basis->orthonormalised;
}

/* Moves the loadings basis->B to the model, copies the design, allocates gp->noise (T) and sets
 * gp->s2, the mean variance outside the basis. */
static kn_status assemble_model(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp)
{
    kn_status status;
    double outside = (double)gp->N * (double)(gp->T - gp->P);
    KN_TRY(kn_mat_copy(ctx, p->X, &gp->latent.X));
    KN_TRY(kn_convolved_latent(ctx, gp));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    gp->s2 = outside > 0 ? fmax(basis->E, 0) / outside : 0;
    gp->B = basis->B;
    basis->B = kn_mat_none();
out:
    return status;
}

/* Implements kn_method.fit: options and columns, tasks, parameters of the processes, then
 * cross-validation. [METHOD 1i] */
static kn_status fit_convolved(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    const kn_gp_options *o = p->options;
    kn_basis basis = {0};
    kn_convolved *own;
    kn_conv_search search = {.deadline = o->search.limits.deadline, .stage = "search"};
    double t0 = kn_clock(), t1, t2;
    *gp = (kn_gp){.method = &kn_method_convolved,
                  .spec = p->spec,
                  .N = p->X.rows,
                  .F = p->X.cols,
                  .T = p->Y.T,
                  .P = o->components,
                  .pca = !o->basis.data && o->tasks.on == KN_ON_COMPONENTS};
    KN_TRY(kn_convolved_allocate(ctx, gp));
    own = gp->own;
    int evals = o->search.limits.evals_left;
    own->spec.plan = (kn_conv_plan){.how = o->tasks.inducing,
                                    .widths = o->tasks.widths,
                                    .Q = o->tasks.latent,
                                    .M = o->tasks.points,
                                    .evals = evals < 0 || evals > MAX_EVALS ? MAX_EVALS : evals,
                                    .restarts = o->search.restarts};
    KN_TRY(kn_conv_columns(ctx, o, &own->spec));
    KN_TRY(check_inducing(ctx, &own->spec.plan, gp->N));
    KN_TRY(make_tasks(ctx, p, gp, &basis, info));
    KN_TRY(check_tasks(ctx, &own->spec.plan, gp->N, gp->P));
    t1 = kn_clock();
    KN_TRY(kn_conv_model_new(ctx, &own->spec, p->X, basis.Z, &search, &own->model));
    KN_TRY(assemble_model(ctx, p, &basis, gp));
    record_fit(gp, &search, &basis, info);
    kn_basis_clear(&basis);
    t2 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    kn_basis_clear(&basis);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* ---- folds ---- */

/* Fits a fold anew and predicts its held-out rows, for kn_refit_cv: sets part->mean and var (h x
 * P), means without site, loadings and s2. The search begins at the fold's own start, because
 * components of two folds do not correspond. */
static kn_status refit_fold(kn_ctx *ctx, const kn_refit *r, kn_fold_prediction *part,
                            double *clamped)
{
    kn_status status;
    const kn_convolved *own = r->gp->own;
    kn_conv_model model = {0};
    kn_mat Z = {0}, var = {0};
    kn_conv_search search = {0};
    KN_TRY(kn_conv_fold_tasks(ctx, r, &Z, part));
    KN_TRY(kn_conv_model_new(ctx, &own->spec, r->X, Z, &search, &model));
    if (search.stop == KN_STOP_CANCELLED) /* a cancelled fold is discarded */
        KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_mat_new(ctx, r->Xs.rows, Z.cols, &part->mean));
    KN_TRY(kn_mat_new(ctx, r->Xs.rows, Z.cols, &part->var));
    kn_conv_samples samples = {r->Xs, part->mean, part->var};
    KN_TRY(kn_conv_model_predict(ctx, &own->spec, &model, r->X, &samples, clamped));
    if (r->X_without_site.data) {
        KN_TRY(kn_mat_new(ctx, r->Xs.rows, Z.cols, &part->mean_without_site));
        KN_TRY(kn_mat_new(ctx, r->Xs.rows, Z.cols, &var));
        samples = (kn_conv_samples){r->X_without_site, part->mean_without_site, var};
        KN_TRY(kn_conv_model_predict(ctx, &own->spec, &model, r->X, &samples, clamped));
    }
    part->d = model.d;
    model.d = NULL;
out:
    kn_conv_model_clear(&model);
    kn_mat_clear(&var);
    kn_mat_clear(&Z);
    return status;
}

/* Implements kn_method.cv: every fold is refitted. */
static kn_status cv_convolved(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                              kn_gp_maps *out)
{
    return kn_refit_cv(ctx, gp, problem, refit_fold, out);
}

/* ---- maps ---- */

/* Implements kn_method.predict: latent mean and variance (n x P) of new participants; out
 * borrows gp. */
static kn_status predict_convolved(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *samples,
                                   kn_gp_maps *out)
{
    kn_status status;
    const kn_convolved *own = gp->own;
    KN_TRY(kn_gp_maps_one_part(ctx, gp, samples->X.rows, out));
    KN_TRY(
        kn_conv_model_predict(ctx, &own->spec, &own->model, gp->latent.X,
                              &(kn_conv_samples){samples->X, out->part[0].mean, out->part[0].var},
                              &out->clamped));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Implements kn_method.loo at the learned parameters; Y is the training sample, from which only
 * the coordinates are computed. */
static kn_status loo_convolved(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status;
    const kn_convolved *own = gp->own;
    kn_mat Z = {0};
    KN_TRY(kn_gp_maps_one_part(ctx, gp, gp->N, out));
    KN_TRY(kn_mat_new(ctx, gp->N, gp->P, &Z));
    KN_TRY(kn_gp_coordinates(ctx, gp, Y, Z));
    KN_TRY(kn_conv_model_loo(ctx, &own->spec, &own->model, Z,
                             &(kn_conv_samples){gp->latent.X, out->part[0].mean, out->part[0].var},
                             &out->clamped));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Implements kn_method.batch: 256, because predictions of PITC and dense models factor the
 * training covariance again each time. */
static ptrdiff_t batch_convolved(const kn_gp *gp)
{
    (void)gp;
    return 256;
}

const kn_method kn_method_convolved = {
    .name = "convolved",
    .title = "convolved",
    .words =
        "convolved multi-output Gaussian processes, in which latent functions are smoothed for "
        "each output",
    .cite = "Alvarez & Lawrence, 2009",
    .paper = "Alvarez MA, Lawrence ND (2009). Sparse convolved Gaussian processes for multi-output "
             "regression. Advances in Neural Information Processing Systems 21.",
    .components = true,
    .own_covariance = true,
    .own_noise = true,
    .fit = fit_convolved,
    .predict = predict_convolved,
    .loo = loo_convolved,
    .cv = cv_convolved,
    .block = kn_components_block,
    .covariance = kn_components_covariance,
    .map_density = kn_components_map_density,
    .map_density_block = kn_components_map_density_block,
    .group_noise = kn_components_group_noise,
    .group_noise_proportion = kn_components_group_proportion,
    .arrays = kn_convolved_arrays,
    .clear = kn_convolved_clear,
    .bytes = kn_convolved_bytes,
    .batch = batch_convolved,
    .describe = kn_convolved_describe,
    .need = {kn_conv_finalise, kn_conv_fit_need, kn_conv_maps_need, kn_components_block_need},
    .shape = kn_conv_shape,
};
