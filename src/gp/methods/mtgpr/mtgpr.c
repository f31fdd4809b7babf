/* MTGPR [Bonilla 2008] and the low-rank Kronecker sum: a learned task covariance of rank P and a
 * noise variance per response, optionally with Q noise factors [METHOD 1h]. Has the fit, its folds
 * and the method's table entry. */
#include "gp/methods/mtgpr/internal.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "gp/assign_folds.h"
#include "gp/basis/complement.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/cv/refit.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/missing/completion.h"
#include "gp/predict/loo.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"
#include "la/la.h"

/* Conservative guess for one core: products of Y with N x k matrices. */
static const double FLOPS_PER_SECOND = 8e9;

/* Returns KN_ERR_ARGUMENT if P components or the noise factors are too many for the method
 * (KN_MTGPR_MAX), the T responses or the N participants. */
static kn_status check_columns(kn_ctx *ctx, const kn_fit_problem *p, ptrdiff_t P)
{
    ptrdiff_t T = p->Y.T, Q = p->options->noise_rank, limit = P > Q ? P : Q;
    if (limit > KN_MTGPR_MAX)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=mtgpr} estimates every loading separately, and %td components or "
                       "noise factors are too many (at most %d); use the default method",
                       limit, KN_MTGPR_MAX);
    if (limit >= T)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=mtgpr} with %td components or noise factors needs more than %td "
                       "responses, but there are %td",
                       limit, limit, T);
    if (limit >= p->Y.N)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=mtgpr} with %td components or noise factors needs more than %td "
                       "participants, but there are %td",
                       limit, limit, p->Y.N);
    return KN_OK;
}

/* Logs expected memory and time of the fit with k directions if it is long, and warns if the
 * model has no noise factors, because shared noise then counts as signal. */
static void log_cost(kn_ctx *ctx, const kn_fit_problem *p, ptrdiff_t k)
{
    double N = (double)p->Y.N, T = (double)p->Y.T, evals = KN_MTGPR_EM + KN_MTGPR_EVALS;
    double seconds = 6 * N * T * (double)k / FLOPS_PER_SECOND;
    double GB = 8e-9 * T * 34 * (double)(k + 1);
    if (p->options->noise_rank == 0 && !p->options->iso_term)
        kn_log(ctx, KN_LOG_WARNING,
               "without structured noise, noise shared between responses counts as signal; "
               "{noise_rank=Q} or {sample_kernel=additive+iso} models it");
    if (p->options->search.limits.evals_left >= 0)
        evals = fmin(evals, p->options->search.limits.evals_left);
    if (seconds * evals * (1 + p->options->folds) > 10)
        kn_log(ctx, KN_LOG_INFO,
               "MTGPR: %.0f MB and about %.2g s per evaluation, at most %.0f of them, in the fit "
               "and in each of %d folds",
               1e3 * GB, seconds, evals, p->options->folds);
}

/* ---- R0 ------------------------------------------------------------------------------ */

/* Finds R0 by a pilot search (result in *found) and, if *P is 0, the number of components at
 * that R0 by held-out loss. KN_ERR_ARGUMENT for *P = 0 and more than KN_MANY participants. */
static kn_status find_R0(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info, kn_search_result *found,
                         ptrdiff_t *P)
{
    kn_status status = KN_OK;
    kn_basis few = {0};
    kn_range_info range;
    kn_range_options ro = {.passes = KN_RANGE_PASSES, .seed = p->options->search.seed};
    bool many = p->Y.N > KN_MANY;
    if (many && *P == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=mtgpr} with more than %d participants needs a number of "
                       "{components}, not auto",
                       (int)KN_MANY);
    if (!many && (*P == 0 || !p->completion))
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
    if (p->completion) {
        *found = p->completion->pilot;
    } else if (!many) {
        KN_TRY(kn_pilot_of_gram(ctx, p, info, found));
    } else {
        KN_TRY(kn_basis_range(ctx, &p->Y, kn_pilot_components(p, p->Y.T), &ro, &few, &range));
        KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, p->options->row_order, few.Z, info, found));
    }
    p->spec.rank = p->pilot_rank;
    p->spec.rank_auto = false;
    if (*P == 0) {
        KN_TRY(kn_choose_components(ctx, p, &found->at, info, P));
        *P = kn_min_size(kn_min_size(*P > 0 ? *P : 1, KN_MTGPR_MAX), p->Y.T - 1);
        *P = kn_min_size(*P, p->gram.rank);
    }
out:
    kn_basis_clear(&few);
    kn_gram_clear(&p->gram);
    return status;
}

/* Decomposes R0 (covariance between participants) of the rows X (N x F) at parameters theta into
 * *R0, dense or low rank (spec->rank). Its eigenvectors U are R0->U if dense, else computed in
 * *own (N x m). The caller frees both. */
static kn_status decompose_R0(kn_ctx *ctx, const kn_spec *spec, kn_mat X, const double *theta,
                              kn_decomp *R0, kn_mat *own)
{
    kn_status status;
    kn_pairs pairs = {0};
    kn_lowrank low = {0};
    kn_mat Z = {0};
    if (spec->rank == 0) {
        KN_TRY(kn_pairs_within(ctx, X, &spec->sample.stats, &pairs));
        KN_TRY(kn_decomp_new(ctx, X.rows, &spec->sample, R0));
        KN_TRY(kn_decomp_compute(ctx, R0, &pairs, NULL, theta));
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, X.rows, 1, &Z));
    KN_TRY(kn_lowrank_new(ctx, X, Z, NULL, &spec->sample, kn_min_size(spec->rank, X.rows), &low));
    low.tol = kn_rank_tolerance;
    *R0 = (kn_decomp){.N = X.rows, .cov = spec->sample};
    memcpy(R0->theta, theta, (size_t)spec->sample.n_theta * sizeof *theta);
    KN_TRY(kn_lowrank_at(ctx, &low, theta));
    KN_TRY(kn_lowrank_decompose(ctx, &low, R0));
    kn_mat_clear(&R0->rotation);
    KN_TRY(kn_mat_new(ctx, X.rows, R0->m, own));
    KN_TRY(kn_decomp_vectors(ctx, R0, NULL, X, *own));
out:
    kn_mat_clear(&Z);
    kn_lowrank_clear(&low);
    kn_pairs_clear(&pairs);
    return status;
}

/* ---- from the learned point to the latent form --------------------------------------- */

/* Builds the latent form *out of a learned point: k components with variances c and d = c iso +
 * 1, and one more for the directions outside V if `complement`. *X and *R0 (covariance between
 * participants) are moved. */
static kn_status new_latent(kn_ctx *ctx, const kn_lowrank_sum *w, bool complement, kn_mat *X,
                            kn_decomp *R0, kn_latent *out)
{
    kn_status status;
    ptrdiff_t k = w->k, P = k + complement;
    kn_mat A = {0};
    double *c = NULL, *d = NULL;
    KN_TRY(kn_alloc_d(ctx, P, &c));
    KN_TRY(kn_alloc_d(ctx, P, &d));
    KN_TRY(kn_mat_new(ctx, w->m, P, &A));
    kn_mat_set(kn_cols(A, 0, k), w->A);
    for (ptrdiff_t q = 0; q < P; q++) {
        c[q] = q < k ? w->c[q] : w->gamma;
        d[q] = c[q] * w->iso + 1;
    }
    KN_TRY(kn_latent_new(ctx, &(kn_latent_parts){X, R0, &A, c, d, w->iso}, out));
out:
    kn_mat_clear(&A);
    kn_free(d);
    kn_free(c);
    return status;
}

/* Loadings from components to responses, of a model or of a fold; all arrays are owned. */
typedef struct loadings {
    kn_mat B, L, D0;
    double *psi, *outside;
} loadings;

/* Frees loadings, noise factors and the complement. */
static void loadings_clear(loadings *m)
{
    kn_mat_clear(&m->B);
    kn_mat_clear(&m->L);
    kn_mat_clear(&m->D0);
    kn_free(m->psi);
    kn_free(m->outside);
}

/* Computes m->B (T x k), with noise factors m->L, and with a complement m->D0 and m->outside. On
 * success l->at.psi is moved to m->psi. On error m is partly filled; the caller clears it. */
static kn_status compute_loadings(kn_ctx *ctx, kn_mtgpr_learned *l, bool complement,
                                  const kn_latent *latent, loadings *m)
{
    kn_status status;
    const kn_lowrank_sum *w = &l->low;
    KN_TRY(kn_mat_new(ctx, w->T, w->k, &m->B));
    kn_lowrank_sum_loadings(ctx, w, NULL, m->B);
    if (w->Q > 0)
        KN_TRY(kn_mtgpr_factor(ctx, m->B, &m->L));
    if (complement) {
        kn_complement_input numbers = {
            .Y = &w->Y, .mean = w->mu, .psi = l->at.psi, .V = w->V, .AV = w->UZ};
        KN_TRY(kn_alloc_d(ctx, w->T, &m->outside));
        kn_lowrank_sum_outside(w, m->outside);
        KN_TRY(kn_complement_make(ctx, latent, &numbers, &m->D0));
    }
    m->psi = l->at.psi;
    l->at.psi = NULL;
out:
    return status;
}

/* Sets noise[j] (T) to the in-sample noise variance psi_j (1 + |h_j|^2), h_j the row of noise
 * loadings. */
static void compute_training_noise(const kn_lowrank_sum_point *at, double *noise)
{
    for (ptrdiff_t j = 0; j < at->G.rows; j++) {
        double h = 1;
        for (ptrdiff_t q = 0; q < at->H.cols; q++)
            h += kn_at(at->H, j, q) * kn_at(at->H, j, q);
        noise[j] = at->psi[j] * h;
    }
}

/* ---- fit ----------------------------------------------------------------------------- */

/* Returns the options of learning for a model with the columns and limits of own; gamma: it is
 * free. */
static kn_mtgpr_plan make_plan(const kn_mtgpr *own, bool gamma)
{
    return (kn_mtgpr_plan){.columns = {own->P, own->Q},
                           .gamma = gamma,
                           .iso = own->iso,
                           .limits = {.evals_left = own->evals}};
}

/* Records the learned point in *info: likelihood, evaluations, reason of the stop, rho and
 * length. */
static void record_fit(const kn_mtgpr_learned *l, const kn_gp *gp, const kn_search_result *found,
                       kn_fit_info *info)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    info->n_components = gp->P;
    info->rank = R0->m;
    info->rank_residual = R0->residual;
    info->lml = l->lml;
    info->evaluations++;
    info->evaluations_inner += l->evals;
    info->stop = l->stop;
    info->projected_gradient = l->projected;
    info->rho = info->length = NAN;
    if (!gp->spec.additive && kn_cov_is_rho_length(&gp->spec.sample))
        kn_cov_rho_length(&gp->spec.sample, &found->at, &info->rho, &info->length);
}

/* Learns loadings and noise of all participants at the R0 in *found and builds the model gp;
 * records the fit in *info. */
static kn_status learn_model(kn_ctx *ctx, kn_fit_problem *p, const kn_search_result *found,
                             kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_mtgpr *own = gp->own;
    double theta[KN_COV_THETA];
    kn_decomp R0 = {0};
    kn_mat U = {0}, X = {0};
    kn_mtgpr_learned l = {0};
    loadings m = {0};
    kn_mtgpr_plan plan = make_plan(own, gp->complement_component);
    plan.limits = p->options->search.limits;
    plan.stage = "loadings";
    kn_cov_theta(&gp->spec.sample, &found->at, theta);
    KN_TRY(decompose_R0(ctx, &gp->spec, p->X, theta, &R0, &U));
    kn_lowrank_sum_samples s = {.U = U.data ? U : R0.U, .r = R0.r};
    KN_TRY(kn_mtgpr_learn(ctx, &s, &p->Y, NULL, &plan, &l));
    if (l.stop == KN_STOP_MAX_SECONDS) /* folds get no more evaluations than the fit */
        own->evals = l.evals;
    gp->P = l.low.k;
    KN_TRY(kn_mat_copy(ctx, p->X, &X));
    KN_TRY(new_latent(ctx, &l.low, gp->complement_component, &X, &R0, &gp->latent));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    compute_training_noise(&l.at, gp->noise);
    KN_TRY(compute_loadings(ctx, &l, gp->complement_component, &gp->latent, &m));
    gp->B = m.B;
    own->L = m.L;
    gp->D0 = m.D0;
    gp->psi = m.psi;
    gp->outside = m.outside;
    m = (loadings){0};
    record_fit(&l, gp, found, info);
    if (l.lowest > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%td of %td responses have the smallest noise allowed, 0.001 of their variance",
               l.lowest, gp->T);
out:
    loadings_clear(&m);
    kn_mtgpr_learned_clear(&l);
    kn_mat_clear(&X);
    kn_mat_clear(&U);
    kn_decomp_clear(&R0);
    return status;
}

/* Implements kn_method.fit: R0 and P by a pilot search, loadings and noise by maximum
 * likelihood, then cross-validation. [METHOD 1h] */
static kn_status fit_mtgpr(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_search_result found = {0};
    ptrdiff_t P = p->options->components;
    double t0 = kn_clock(), t1, t2;
    *gp = (kn_gp){
        .method = &kn_method_mtgpr, .N = p->X.rows, .F = p->X.cols, .T = p->Y.T, .pca = true};
    KN_TRY(check_columns(ctx, p, P > 0 ? P : 1));
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_mtgpr), &gp->own));
    KN_TRY(find_R0(ctx, p, info, &found, &P));
    kn_mtgpr *own = gp->own;
    *own = (kn_mtgpr){.P = P,
                      .Q = p->options->noise_rank,
                      .evals = p->options->search.limits.evals_left,
                      .iso = p->options->iso_term};
    gp->spec = p->spec;
    gp->complement_component = p->options->ppca && own->P + own->Q < gp->T;
    log_cost(ctx, p, own->P + own->Q);
    t1 = kn_clock();
    KN_TRY(learn_model(ctx, p, &found, gp, info));
    t2 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* ---- folds --------------------------------------------------------------------------- */

/* Predicts the components of the held-out rows of fold f from the latent form l: sets
 * part->mean, var (h x P), RU for the complement, and the same without site effects if
 * requested. */
static kn_status predict_fold(kn_ctx *ctx, const kn_latent *l, const kn_refit *f,
                              kn_fold_prediction *part, double *clamped)
{
    kn_status status;
    ptrdiff_t h = f->Xs.rows, stored = part->D0.rows;
    kn_mat var = {0};
    double unused = 0;
    KN_TRY(kn_mat_new(ctx, h, l->P, &part->mean));
    KN_TRY(kn_mat_new(ctx, h, l->P, &part->var));
    if (stored > 0)
        KN_TRY(kn_mat_new(ctx, h, stored, &part->RU));
    KN_TRY(kn_latent_predict_all(ctx, l, &(kn_predict_input){.X = f->Xs},
                                 &(kn_latent_prediction){part->mean, part->var, part->RU},
                                 clamped));
    if (!f->X_without_site.data)
        goto out;
    KN_TRY(kn_mat_new(ctx, h, l->P, &part->mean_without_site));
    KN_TRY(kn_mat_new(ctx, h, l->P, &var));
    if (stored > 0)
        KN_TRY(kn_mat_new(ctx, h, stored, &part->RU_without_site));
    KN_TRY(kn_latent_predict_all(ctx, l, &(kn_predict_input){.X = f->X_without_site},
                                 &(kn_latent_prediction){part->mean_without_site, var,
                                                         part->RU_without_site},
                                 &unused));
out:
    kn_mat_clear(&var);
    return status;
}

/* Learns loadings and noise of a fold at fixed R0 (covariance between participants), from its
 * own start, and predicts its held-out rows, for kn_refit_cv; loadings and noise are moved to
 * the part. */
static kn_status refit_fold(kn_ctx *ctx, const kn_refit *f, kn_fold_prediction *part,
                            double *clamped)
{
    kn_status status;
    const kn_gp *gp = f->gp;
    kn_mtgpr_plan plan = make_plan(gp->own, gp->complement_component);
    kn_decomp R0 = {0};
    kn_mat U = {0}, X = {0};
    kn_mtgpr_learned l = {0};
    kn_latent latent = {0};
    loadings m = {0};
    KN_TRY(decompose_R0(ctx, &gp->spec, f->X, gp->latent.cell[0].R0.theta, &R0, &U));
    kn_lowrank_sum_samples s = {.U = U.data ? U : R0.U, .r = R0.r};
    KN_TRY(kn_mtgpr_learn(ctx, &s, &f->Y, f->mu, &plan, &l));
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_mat_copy(ctx, f->X, &X));
    KN_TRY(new_latent(ctx, &l.low, gp->complement_component, &X, &R0, &latent));
    KN_TRY(compute_loadings(ctx, &l, gp->complement_component, &latent, &m));
    part->B = m.B;
    part->rotate = m.L; /* L of the fold, for the joint density; `rotate` has no other use in a
                         * part with its own B */
    part->D0 = m.D0;
    part->psi = m.psi;
    part->outside = m.outside;
    m = (loadings){0};
    KN_TRY(predict_fold(ctx, &latent, f, part, clamped));
out:
    loadings_clear(&m);
    kn_latent_clear(&latent);
    kn_mtgpr_learned_clear(&l);
    kn_mat_clear(&X);
    kn_mat_clear(&U);
    kn_decomp_clear(&R0);
    return status;
}

/* Implements kn_method.cv: every fold is refitted. */
static kn_status cv_mtgpr(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                          kn_gp_maps *out)
{
    return kn_refit_cv(ctx, gp, problem, refit_fold, out);
}

/* ---- table entry --------------------------------------------------------------------- */

/* Implements kn_method.arrays: visits all arrays of the model file, checking them when reading;
 * L is not stored but computed again after reading. */
static kn_status visit_arrays_mtgpr(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    ptrdiff_t n = 4, *numbers;
    if (a->reading)
        KN_TRY(kn_alloc(a->ctx, 1, sizeof(kn_mtgpr), &gp->own));
    kn_mtgpr *own = gp->own;
    own->stored[0] = own->P;
    own->stored[1] = own->Q;
    own->stored[2] = own->evals + 1;
    own->stored[3] = own->iso;
    numbers = own->stored;
    KN_TRY(a->indices(a, "mtgpr", &n, &numbers));
    if (a->reading) {
        bool sound = n == 4 && numbers[0] >= 1 && numbers[1] >= 0 && numbers[2] >= 0 &&
                     numbers[0] <= KN_MTGPR_MAX && numbers[1] <= KN_MTGPR_MAX &&
                     numbers[2] <= INT32_MAX &&
                     gp->P == kn_min_size(numbers[0] + numbers[1], gp->T);
        if (sound)
            *own = (kn_mtgpr){.P = numbers[0],
                              .Q = numbers[1],
                              .evals = (int)numbers[2] - 1,
                              .iso = numbers[3] != 0};
        kn_free(numbers);
        if (!sound)
            return a->bad(a, "mtgpr");
    }
    KN_TRY(kn_components_arrays(gp, a));
    if (a->reading && !gp->psi)
        return a->bad(a, "psi");
    if (a->reading && own->Q > 0)
        KN_TRY(kn_mtgpr_factor(a->ctx, gp->B, &own->L));
out:
    return status;
}

static void clear_mtgpr(kn_gp *gp)
{
    kn_mtgpr *own = gp->own;
    kn_mat_clear(&own->L);
    kn_free(own);
    gp->own = NULL;
}

const kn_method kn_method_mtgpr = {
    .name = "mtgpr",
    .title = "MTGPR",
    .words = "multi-task Gaussian process regression with a learned covariance of low rank between "
             "responses",
    .cite = "Bonilla et al., 2008",
    .paper = "Bonilla EV, Chai KMA, Williams CKI (2008). Multi-task Gaussian process prediction. "
             "Advances in Neural Information Processing Systems 20.",
    .components = true,
    .low_rank = true,
    .iso_term = true,
    .training_noise = true,
    .own_deviance = true,
    .own_noise = true,
    .fit = fit_mtgpr,
    .predict = kn_components_predict,
    .loo = kn_mtgpr_loo,
    .cv = cv_mtgpr,
    .block = kn_components_block,
    .covariance = kn_mtgpr_covariance,
    .map_density = kn_mtgpr_map_density,
    .map_density_block = kn_mtgpr_map_density_block,
    .group_noise = kn_components_group_noise,
    .group_noise_proportion = kn_components_group_proportion,
    .arrays = visit_arrays_mtgpr,
    .clear = clear_mtgpr,
    .describe = kn_mtgpr_describe,
    .bytes = kn_components_bytes,
    .need = {kn_mtgpr_need_finalise, kn_mtgpr_need_fit, kn_components_maps_need,
             kn_components_block_need},
};
