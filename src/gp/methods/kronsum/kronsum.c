/* MT-Kronsum: signal and noise covariance of the responses are both full T x T matrices
 * [METHOD 1g]; for T < N and T <= 1500. Has the fit, which finds R0, group noise, shrinkage, then C
 * and S; the joint density of whole maps [METHOD 8j]; and the method's table entry. The model has
 * P = T components z_p = Y w_p with loadings Q, c_p and d_p = 1. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "gp/assign_folds.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/cv/refit.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"
#include "gp/predict/loo.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"
#include "la/la.h"

enum { MAX_COUNT = 1500 }; /* responses */

/* Returns the estimated seconds of one EM or L-BFGS step for T responses and m directions.
 * Measured on two cores: dsyevd 0.085 ns T^3; about 20 T^3 flops of products and solves and 6 m
 * T^2 at 113 GF/s. */
static double estimate_seconds(double T, double m)
{
    return 0.085e-9 * T * T * T + (20 * T + 6 * m) * T * T / 113e9;
}

/* Returns the estimated memory in GB: T x T doubles of two likelihoods and of the optimiser, and
 * three N x T. */
static double estimate_gigabytes(double N, double T)
{
    return 8e-9 * (50 * T * T + 3 * N * T);
}

/* Implements kn_method.admits: KN_ERR_ARGUMENT unless T < N and T <= MAX_COUNT responses. */
static kn_status check_admissible(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T)
{
    if (T >= N || T > MAX_COUNT)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{method=kronsum} fits two full %td x %td covariances, and %td responses of "
                       "%td participants are too many; use fewer responses than participants (at "
                       "most %d), the default method or {basis}",
                       T, T, T, N, MAX_COUNT);
    return KN_OK;
}

/* Refuses sizes that are too large (check_admissible), else logs expected memory and time of all
 * fits. */
static kn_status check_size(kn_ctx *ctx, const kn_fit_problem *p)
{
    ptrdiff_t N = p->Y.N, T = p->Y.T;
    bool chosen = p->options->shrinkage == KN_SHRINKAGE_AUTO;
    kn_status status = check_admissible(ctx, N, T);
    if (status != KN_OK)
        return status;
    int fits = 1 + p->options->folds + (chosen ? KN_SHRINKAGE_FOLDS * (KN_KRONSUM_NUS - 1) : 0);
    double seconds = estimate_seconds((double)T, (double)N);
    kn_log(ctx, KN_LOG_INFO,
           "two full covariances of %td responses: %.1f MB, %d fits of some hundred steps, about "
           "%.2g s per fit",
           T, 1e3 * estimate_gigabytes((double)N, (double)T), fits, 100 * seconds);
    return KN_OK;
}

/* ---- before C and S ------------------------------------------------------------------ */

/* Pilot search for R0 with many participants: coordinates in principal components from the T x T
 * matrix Y'Y. Y: N x T, centred. Result in *found. */
static kn_status pilot_without_gram(kn_ctx *ctx, kn_fit_problem *p, kn_mat Y, kn_fit_info *info,
                                    kn_search_result *found)
{
    kn_status status;
    kn_mat YY = {0}, Z = {0};
    double *w = NULL;
    ptrdiff_t T = Y.cols, P = kn_pilot_components(p, T);
    KN_TRY(kn_mat_new(ctx, T, T, &YY));
    KN_TRY(kn_alloc_d(ctx, T, &w));
    KN_TRY(kn_mat_new(ctx, Y.rows, P, &Z));
    kn_syrk(ctx, 1, KN_T, Y, 0, YY);
    KN_TRY(kn_eig(ctx, YY, w));
    kn_gemm(ctx, 1, KN_N, Y, KN_N, kn_cols(YY, T - P, P), 0, Z);
    KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, p->options->row_order, Z, info, found));
out:
    kn_free(w);
    kn_mat_clear(&Z);
    kn_mat_clear(&YY);
    return status;
}

/* Finds R0 (covariance between participants), which is fixed from here on, by a pilot search
 * (result in *found), and *P, the number of components of the structured model: chosen by
 * held-out loss; for N > KN_MANY that of the pilot. Y: N x T. */
static kn_status find_R0(kn_ctx *ctx, kn_fit_problem *p, kn_mat Y, kn_fit_info *info,
                         kn_search_result *found, ptrdiff_t *P)
{
    kn_status status = KN_OK;
    bool many = p->Y.N > KN_MANY;
    if (!many && !p->gram.G.data)
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
    if (p->completion)
        *found = p->completion->pilot;
    else
        KN_TRY(many ? pilot_without_gram(ctx, p, Y, info, found)
                    : kn_pilot_of_gram(ctx, p, info, found));
    p->spec.rank = p->pilot_rank;
    p->spec.rank_auto = false;
    *P = kn_pilot_components(p, p->Y.T);
    if (!many && p->options->shrinkage != 0)
        KN_TRY(kn_choose_components(ctx, p, &found->at, info, P));
    *P = *P > 0 ? *P : 1;
out:
    return status;
}

/* Sets problem->tau, the ratio of group noise to noise, by maximum likelihood over all
 * participants; without groups does nothing. */
static kn_status find_tau(kn_ctx *ctx, kn_kronsum_problem *problem)
{
    kn_status status = KN_OK;
    kn_kronsum_fit f = {0};
    if (problem->groups->n == 0)
        return KN_OK;
    KN_TRY(kn_kronsum_fit_new(ctx, problem, &f));
    KN_TRY(kn_kronsum_fit_tau(ctx, &f, &problem->tau));
out:
    kn_kronsum_fit_clear(&f);
    return status;
}

/* Sets the shrinkage *nu of C and S to the structured model as the option gives it, or chooses
 * it by held-out density. */
static kn_status find_nu(kn_ctx *ctx, const kn_fit_problem *p, const kn_kronsum_problem *problem,
                         double *nu)
{
    int option = p->options->shrinkage;
    if (option != KN_SHRINKAGE_AUTO) {
        *nu = option == KN_SHRINKAGE_INF ? (double)INFINITY : (double)option;
        return KN_OK;
    }
    return kn_kronsum_choose_nu(ctx, p, problem, nu);
}

/* ---- fit ----------------------------------------------------------------------------- */

/* Finds tau, nu, C and S in this order, for all participants: sets o->nu and *f. Cancelled
 * before C and S are learned, there is no model; later, the best point so far is kept. Warns if
 * S is nearly singular. */
static kn_status search_covariances(kn_ctx *ctx, const kn_fit_problem *p,
                                    kn_kronsum_problem *problem, kn_kronsum_state *o,
                                    kn_kronsum_fit *f)
{
    kn_status status;
    KN_TRY(find_tau(ctx, problem));
    KN_TRY(find_nu(ctx, p, problem, &o->nu));
    KN_TRY(kn_kronsum_fit_new(ctx, problem, f));
    KN_TRY(kn_kronsum_fit_learn(ctx, f, o->nu));
    if (isfinite(o->nu))
        kn_log(ctx, KN_LOG_INFO, "log-likelihood %.2f by EM, %.2f after %d evaluations",
               f->learned.em_lml, f->learned.lml, f->learned.evals);
    if (f->learned.floored)
        kn_log(ctx, KN_LOG_WARNING,
               "the responses are nearly linearly dependent; eigenvalues of the noise covariance "
               "are limited to at least 1e-6 of their mean");
out:
    return status;
}

/* Records the learned point in *info and adds to its evaluation counts, which must be
 * initialised. */
static void record_fit(const kn_gp *gp, const kn_kronsum_fit *f, const kn_search_result *found,
                       kn_fit_info *info)
{
    const kn_kronsum_learned *l = &f->learned;
    info->n_components = gp->P;
    info->rank = gp->latent.cell[0].R0.m;
    info->rank_residual = gp->latent.cell[0].R0.residual;
    info->lml = l->lml;
    info->evaluations_inner += l->evals;
    info->stop = l->stop;
    info->projected_gradient = l->projected;
    info->rho = info->length = NAN;
    if (!gp->spec.additive && kn_cov_is_rho_length(&gp->spec.sample))
        kn_cov_rho_length(&gp->spec.sample, &found->at, &info->rho, &info->length);
}

/* Gives gp its loadings B = Q and W (T x T, copied), allocates gp->noise (T) and moves the
 * components from f->latent. */
static kn_status assemble_model(kn_ctx *ctx, kn_kronsum_fit *f, kn_gp *gp)
{
    kn_status status;
    KN_TRY(kn_mat_copy(ctx, f->k.Q, &gp->B));
    KN_TRY(kn_mat_copy(ctx, f->k.W, &gp->W));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    gp->latent = f->latent;
    f->latent = (kn_latent){0};
out:
    return status;
}

/* Implements kn_method.fit: R0 and P by a pilot, then tau, nu, C and S, then cross-validation.
 * [METHOD 1g] */
static kn_status fit_kronsum(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    void *memory;
    kn_mat Y = {0};
    kn_kronsum_fit f = {0};
    kn_search_result found = {0};
    double theta[KN_COV_THETA], t0 = kn_clock(), t1, t2;
    kn_cov cov = kn_cov_between(&p->spec.sample);
    *gp = (kn_gp){.method = &kn_method_kronsum,
                  .N = p->X.rows,
                  .F = p->X.cols,
                  .T = p->Y.T,
                  .P = p->Y.T,
                  .pca = true};
    KN_TRY(check_size(ctx, p));
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_kronsum_state), &memory));
    gp->own = memory;
    kn_kronsum_state *o = memory;
    o->limits = p->options->search.limits;
    KN_TRY(kn_kronsum_read_responses(ctx, &p->Y, NULL, &Y));
    KN_TRY(find_R0(ctx, p, Y, info, &found, &o->P));
    gp->spec = p->spec;
    kn_cov_theta(&cov, &found.at, theta);
    t1 = kn_clock();
    kn_kronsum_problem problem = {.spec = &p->spec,
                                  .theta = theta,
                                  .P = o->P,
                                  .X = p->X,
                                  .Y = Y,
                                  .groups = &p->groups,
                                  .limits = o->limits,
                                  .stage = "covariances"};
    KN_TRY(search_covariances(ctx, p, &problem, o, &f));
    KN_TRY(assemble_model(ctx, &f, gp));
    record_fit(gp, &f, &found, info);
    kn_kronsum_fit_clear(&f);
    kn_mat_clear(&Y);
    t2 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    o->limits.deadline = 0;
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    kn_kronsum_fit_clear(&f);
    kn_mat_clear(&Y);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* ---- folds --------------------------------------------------------------------------- */

/* Learns C and S of a fold at fixed R0 (covariance between participants), tau and shrinkage, and
 * predicts its held-out rows, for kn_refit_cv: sets mean, var (h x T) and loadings of the part. */
static kn_status refit_fold(kn_ctx *ctx, const kn_refit *r, kn_fold_prediction *part,
                            double *clamped)
{
    kn_status status;
    const kn_gp *gp = r->gp;
    const kn_kronsum_state *o = gp->own;
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    kn_mat Y = {0}, ignored = {0};
    kn_kronsum_fit f = {0};
    kn_kronsum_problem problem = {.spec = &gp->spec,
                                  .theta = R0->theta,
                                  .tau = r->groups.n > 0 ? R0->gamma : 0,
                                  .P = kn_min_size(o->P, (r->n - 1) / 2),
                                  .X = r->X,
                                  .groups = &r->groups,
                                  .limits = o->limits};
    ptrdiff_t h = r->Xs.rows;
    KN_TRY(kn_kronsum_read_responses(ctx, &r->Y, r->mu, &Y));
    problem.Y = Y;
    KN_TRY(kn_kronsum_fit_new(ctx, &problem, &f));
    KN_TRY(kn_kronsum_fit_learn(ctx, &f, o->nu));
    KN_TRY(kn_check_cancel(ctx)); /* a cancelled fold is discarded */
    KN_TRY(kn_mat_new(ctx, h, gp->T, &part->mean));
    KN_TRY(kn_mat_new(ctx, h, gp->T, &part->var));
    KN_TRY(kn_latent_predict(ctx, &f.latent, &(kn_predict_input){.X = r->Xs}, part->mean, part->var,
                             clamped));
    if (r->X_without_site.data) {
        KN_TRY(kn_mat_new(ctx, h, gp->T, &part->mean_without_site));
        KN_TRY(kn_mat_new(ctx, h, gp->T, &ignored));
        KN_TRY(kn_latent_predict(ctx, &f.latent, &(kn_predict_input){.X = r->X_without_site},
                                 part->mean_without_site, ignored, clamped));
    }
    KN_TRY(kn_mat_copy(ctx, f.k.Q, &part->B));
out:
    kn_kronsum_fit_clear(&f);
    kn_mat_clear(&ignored);
    kn_mat_clear(&Y);
    return status;
}

/* Implements kn_method.cv: every fold is refitted. */
static kn_status cv_kronsum(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                            kn_gp_maps *out)
{
    return kn_refit_cv(ctx, gp, problem, refit_fold, out);
}

/* Computes *W = S^-1 Q (T x T, owned by the caller) and *log_det = ln|S| for S = Q Q'.
 * KN_ERR_NUMERIC if S is not positive definite. */
static kn_status compute_coordinates(kn_ctx *ctx, kn_mat Q, kn_mat *W, double *log_det)
{
    kn_status status;
    kn_mat S = {0};
    KN_TRY(kn_mat_new(ctx, Q.rows, Q.rows, &S));
    KN_TRY(kn_mat_copy(ctx, Q, W));
    kn_syrk(ctx, 1, KN_N, Q, 0, S);
    KN_TRY(kn_chol(ctx, S, "the covariance of noise"));
    kn_trsm_left(ctx, KN_N, S, *W);
    kn_trsm_left(ctx, KN_T, S, *W);
    *log_det = 0;
    for (ptrdiff_t j = 0; j < S.cols; j++)
        *log_det += 2 * log(kn_at(S, j, j));
out:
    kn_mat_clear(&S);
    return status;
}

/* Implements kn_method.map_density: V = I, W = Q^-T, log_det = ln|S| with S = QQ' of the fold or
 * model; a = e W, v the variance of each component, d = 1 + tau, in a known group 1. */
static kn_status map_density_kronsum(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                     kn_map_density *out)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    double tau = kn_latent_gamma(&gp->latent, 0);
    *out = (kn_map_density){.K = gp->T};
    KN_TRY(kn_mat_copy(ctx, p->var, &out->v));
    KN_TRY(kn_alloc_d(ctx, gp->T, &out->d));
    KN_TRY(compute_coordinates(ctx, p->B.data ? p->B : gp->B, &out->W, &out->log_det));
    if (maps->known)
        KN_TRY(kn_alloc_d(ctx, gp->T, &out->d_known));
    for (ptrdiff_t k = 0; k < gp->T; k++) {
        out->d[k] = 1 + tau;
        if (maps->known)
            out->d_known[k] = 1; /* the posterior variance of the group noise is in v */
    }
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

/* Implements kn_method.map_density_block: rows of the identity, scale 1. */
static kn_status map_density_block_kronsum(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                           ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    (void)ctx, (void)maps, (void)part, (void)y;
    kn_mat_zero(V);
    for (ptrdiff_t j = 0; j < V.rows; j++) {
        kn_col(V, first + j)[j] = 1;
        scale[j] = 1;
    }
    return KN_OK;
}

const kn_method kn_method_kronsum = {
    .name = "kronsum",
    .title = "MT-Kronsum",
    .words =
        "multi-task Gaussian process regression with free covariances of signal and noise between "
        "responses, a sum of two Kronecker products",
    .cite = "Rakitsch et al., 2013",
    .paper =
        "Rakitsch B, Lippert C, Borgwardt K, Stegle O (2013). It is all in the noise: efficient "
        "multi-task Gaussian process inference with structured residuals. Advances in Neural "
        "Information Processing Systems 26.",
    .low_rank = true,
    .own_deviance = true,
    .admits = check_admissible,
    .own_noise = true,
    .fit = fit_kronsum,
    .predict = kn_components_predict,
    .loo = kn_components_loo,
    .cv = cv_kronsum,
    .block = kn_components_block,
    .covariance = kn_components_covariance,
    .map_density = map_density_kronsum,
    .map_density_block = map_density_block_kronsum,
    /* no known_noise: without held-out participants the noise is S_jj (1 + tau) [METHOD 1d] */
    .group_noise = kn_kronsum_group_noise,
    .group_noise_proportion = kn_components_group_proportion,
    .arrays = kn_kronsum_arrays,
    .clear = kn_kronsum_state_clear,
    .bytes = kn_kronsum_bytes,
    .describe = kn_kronsum_describe,
    .need = {kn_kronsum_finalise, kn_kronsum_need_fit, kn_components_maps_need,
             kn_components_block_need},
};
