/* MT-Kronprod, a baseline of the paper: S-MTGPR with iso noise and B = I [METHOD 1c]. Defines the
 * method's table entry.
 *
 * The noise is iso and the basis the identity; the task features are the rows of Y'.
 *
 * A spectral task covariance [cov/spectral_task.h] needs no T x T eigenproblem: D = exp(2a) Y'Y +
 * c0 I has the right singular vectors of Y as eigenvectors, and c0 everywhere else. Other task
 * kernels need a T x T problem: T^3 for every evaluation. */
#include "gp/methods/methods.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "cov/spectral_task.h"
#include "gp/methods/fit_steps.h"
#include "gp/predict/covariance.h"
#include "gp/predict/loo.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"

enum { MAX_DENSE = 10000 };

/* Returns the estimated seconds per evaluation with T responses and a dense task covariance.
 * Measured on two cores: dsyevd 0.085 ns T^3, three products of 2 T^3 flops at 113 GF/s. */
static double estimate_seconds(double T)
{
    return (0.085e-9 + 6 / 113e9) * T * T * T;
}

/* Returns the memory in GB of a dense task covariance of T responses: statistics of pairs (two),
 * U_D, two work matrices, dsyevd's two, T x T doubles each. */
static double estimate_gigabytes(double T)
{
    return 7 * 8e-9 * T * T;
}

/* Returns KN_ERR_ARGUMENT for a T x T eigenproblem with T > MAX_DENSE, naming memory and time;
 * announces them if an evaluation takes longer than a second. */
static kn_status check_dense(kn_ctx *ctx, const kn_cov *task, ptrdiff_t T)
{
    char text[128];
    kn_cov_text(task, text, sizeof text);
    double GB = estimate_gigabytes((double)T), s = estimate_seconds((double)T);
    if (T > MAX_DENSE)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "MT-Kronprod with task kernel %s needs a %td x %td eigenproblem of %.0f GB and about "
            "%.0f s per evaluation; use at most %d responses, or the default task kernel",
            text, T, T, GB, s, MAX_DENSE);
    if (s > 1)
        kn_log(ctx, KN_LOG_INFO, "task kernel %s: %.1f GB and about %.0f s per evaluation", text,
               GB, s);
    return KN_OK;
}

/* Fills *basis with all principal components of Y, which span it, and *gram with the Gram matrix
 * they come from. Collective. */
static kn_status span_responses(kn_ctx *ctx, const kn_responses *Y, kn_gram *gram, kn_basis *basis)
{
    kn_status status;
    KN_TRY(kn_gram_new(ctx, Y, gram));
    KN_TRY(kn_basis_pca(ctx, Y, gram, gram->rank, basis));
out:
    return status;
}

/* Fills *basis for B = I: Z = Y (N x T, copied); B itself is not allocated, the eigenvectors of
 * the task covariance take its place. KN_ERR_ARGUMENT if T is too large. */
static kn_status make_identity(kn_ctx *ctx, const kn_cov *task, const kn_responses *Y,
                               kn_basis *basis)
{
    kn_status status;
    KN_TRY(check_dense(ctx, task, Y->T));
    KN_TRY(kn_mat_new(ctx, Y->N, Y->T, &basis->Z));
    kn_responses_block(ctx, Y, 0, basis->Z);
    basis->total = kn_sumsq(basis->Z);
out:
    return status;
}

/* Implements kn_method.fit: all principal components (spectral task kernel) or the responses
 * themselves (dense task kernel), search, cross-validation. [METHOD 1c] */
static kn_status fit_kronprod(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    bool dense = !kn_cov_is_spectral(&p->spec.task);
    kn_basis basis = {0};
    kn_engine e = {0};
    kn_mat own_X = {0};
    kn_search_result found;
    double t0 = kn_clock(), t1, t2;
    *gp = (kn_gp){.method = &kn_method_kronprod,
                  .spec = p->spec,
                  .N = p->X.rows,
                  .F = p->X.cols,
                  .T = p->Y.T,
                  .pca = !dense,
                  .complement_component = !dense};
    KN_TRY(dense ? make_identity(ctx, &p->spec.task, &p->Y, &basis)
                 : span_responses(ctx, &p->Y, &p->gram, &basis));
    gp->P = basis.Z.cols;
    basis.E = 0; /* only rounding of components that were omitted */
    t1 = kn_clock();
    KN_TRY(kn_fit_search(ctx, p, &basis, &e, &found));
    kn_mat *B = dense ? &e.iso.UC : &basis.B;
    gp->B = *B;
    *B = kn_mat_none();
    gp->s2 = e.s2;
    memcpy(gp->inside, e.inside, sizeof gp->inside);
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
    KN_TRY(kn_mat_copy(ctx, p->X, &own_X));
    KN_TRY(kn_fit_latent(ctx, &own_X, &e, &gp->latent));
    kn_fit_record(gp, &found, &e, &basis, info);
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    t2 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    kn_mat_clear(&own_X);
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: s->P is T for a dense task covariance, else min(N, T), the bound of the rank of Y. */
static void need_settle(kn_problem_size *s)
{
    s->iso = true;
    s->P = s->rotated ? s->T : kn_min_size(s->N, s->T);
    s->given_basis = s->rotated; /* the identity, which folds do not recompute */
}

/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: basis, components
 * and cross-validated maps stay in the plan. */
static void need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now, gram;
    kn_plan_stage(r, "gram");
    if (!s->rotated)
        kn_gram_need(r, s);
    gram = r->now;
    kn_plan_stage(r, "basis");
    if (s->rotated)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->T);
    else
        kn_basis_need(r, s);
    kn_plan_stage(r, "search");
    kn_search_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F + s->P + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_free_to(r, gram);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
    kn_latent_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_stage(r, "folds");
    if (s->folds > 0)
        kn_components_cv_need(r, s);
    kn_plan_free(r, begin, gram);
}

/* Implements kn_method.known_noise: the noise variance of every response is s2; returns true. */
static bool known_noise(kn_gp *gp)
{
    for (ptrdiff_t j = 0; j < gp->T; j++)
        gp->noise[j] = gp->s2;
    return true;
}

const kn_method kn_method_kronprod = {
    .name = "kronprod",
    .title = "MT-Kronprod",
    .words = "multi-task Gaussian process regression whose covariance is the Kronecker product of "
             "one between participants and one between all responses",
    .cite = KN_KIA_MARQUAND_CITE,
    .paper = KN_KIA_MARQUAND,
    .identity = true,
    .fit = fit_kronprod,
    .predict = kn_components_predict,
    .loo = kn_components_loo,
    .cv = kn_components_cv,
    .block = kn_components_block,
    .covariance = kn_components_covariance,
    .map_density = kn_components_map_density,
    .map_density_block = kn_components_map_density_block,
    .known_noise = known_noise,
    .group_noise = kn_components_group_noise,
    .group_noise_proportion = kn_components_group_proportion,
    .arrays = kn_components_arrays,
    .bytes = kn_components_bytes,
    .need = {need_settle, need_fit, kn_components_maps_need, kn_components_block_need},
};
