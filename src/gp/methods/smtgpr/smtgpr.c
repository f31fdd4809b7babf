/* S-MTGPR, the default method: Gaussian processes of the components of a basis, with structured or
 * iso noise [METHOD 1a, 1b]. Has the fit (basis, number of components, hyperparameters, folds), its
 * memory plan and the method's table entry; a good place to start reading. */
#include "gp/methods/smtgpr/internal.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "gp/assign_folds.h"
#include "gp/basis/user_span.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/deidentify.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"
#include "gp/predict/loo.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"
#include "la/la.h"

/* Returns KN_ERR_DATA, naming the numbers of components that work, if the basis spans the
 * responses under the exact iso likelihood, which then has no noise left to fit [METHOD 2]. */
static kn_status check_complement(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis)
{
    const kn_gram *gram = &p->gram;
    ptrdiff_t P = basis->B.cols;
    if (p->spec.noise != KN_NOISE_ISO || p->spec.likelihood != KN_EXACT || P == p->Y.T ||
        basis->E > 1e-10 * basis->total)
        return KN_OK;
    double left = 0;
    ptrdiff_t works = 0;
    if (gram->G.data)
        for (ptrdiff_t k = gram->rank; k-- > 0 && works == 0;) {
            left += gram->s2[k];
            if (left > 1e-10 * basis->total)
                works = k;
        }
    return kn_fail(ctx, KN_ERR_DATA,
                   "%td components span the responses, which leaves the exact iso likelihood "
                   "without noise; use at most %td",
                   P, works);
}

/* Fills *basis with no component (P = 0): all variance, from the moments of the scaling, is
 * outside it. */
static kn_status make_empty_basis(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, p->Y.T, 0, &basis->B));
    KN_TRY(kn_mat_new(ctx, p->Y.N, 0, &basis->Z));
    for (ptrdiff_t j = 0; j < p->Y.T; j++) {
        const kn_scaling *s = p->Y.scaling;
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        basis->total += (double)p->Y.N * (sd * sd + shift * shift);
    }
    basis->E = basis->total;
out:
    return status;
}

/* Fills *basis with *P principal components from the Gram matrix p->gram, which is computed if
 * necessary; *P = 0: chosen by held-out loss (pilot R0 in *found). KN_ERR_ARGUMENT if *P exceeds
 * the rank. Collective. */
static kn_status make_gram_basis(kn_ctx *ctx, kn_fit_problem *p, kn_basis *basis, ptrdiff_t *P,
                                 kn_components_pilot *found, kn_fit_info *info)
{
    kn_status status;
    if (!p->gram.G.data)
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
    if (*P == 0) {
        KN_TRY(kn_components_auto(ctx, p, info, found, P));
        if (*P == 0)
            return make_empty_basis(ctx, p, basis);
    }
    KN_TRY(kn_basis_check(ctx, &p->Y, *P, p->gram.rank));
    KN_TRY(kn_basis_pca(ctx, &p->Y, &p->gram, *P, basis));
out:
    return status;
}

/* Computes p->held_out: at most K components of the rows that fold (N) does not hold out; their
 * missing cells are imputed from themselves. Collective. */
static kn_status make_held_out_basis(kn_ctx *ctx, kn_fit_problem *p, const int *fold, ptrdiff_t K)
{
    kn_status status;
    kn_fold f = {0};
    kn_responses Y = p->Y;
    kn_heldout_input input = {.Y = &Y, .fold = fold, .seed = p->options->search.seed};
    double *imputed = NULL;
    if (p->gram.by_responses && !p->completion)
        input.gram = &p->gram;
    if (p->completion) {
        KN_TRY(kn_fold_rows(ctx, Y.N, fold, 0, &f));
        KN_TRY(kn_completion_fold(ctx, p->completion, f.train, f.n_train, &imputed, &Y));
    }
    KN_TRY(kn_heldout_new(ctx, &input, K, &p->held_out));
    if (p->completion)
        kn_completion_reject_sparse(p->completion, f.train, f.n_train, p->held_out.mean);
out:
    kn_fold_clear(&f);
    kn_free(imputed);
    return status;
}

/* Fills *basis with P components of all rows by the range finder, which starts from the basis of
 * those not held out, if there is one. Collective. */
static kn_status make_basis_from_held_out(kn_ctx *ctx, kn_fit_problem *p, ptrdiff_t P,
                                          kn_basis *basis, kn_fit_info *info)
{
    kn_status status;
    const kn_responses *Y = &p->Y;
    kn_range_info range;
    kn_mat sketch = {0};
    kn_range_options ro = {.passes = KN_RANGE_PASSES, .seed = p->options->search.seed};
    if (p->held_out.mean) {
        ro.passes = 1;
        ro.enough = KN_RANGE_ENOUGH;
        KN_TRY(kn_heldout_sketch(ctx, &p->held_out, Y, kn_range_columns(Y->N, Y->T, P), &sketch));
    }
    ro.sketch = sketch;
    KN_TRY(kn_basis_range(ctx, Y, P, &ro, basis, &range));
    KN_TRY(kn_basis_check(ctx, Y, P, basis->B.cols));
    info->basis_residual = range.residual;
out:
    kn_mat_clear(&sketch);
    return status;
}

/* Fills *basis with *P principal components for more than KN_MANY participants, without any N x
 * N matrix: first the basis of the rows not held out, which chooses *P if it is 0, then that of
 * all rows. Collective. */
static kn_status make_large_basis(kn_ctx *ctx, kn_fit_problem *p, kn_basis *basis, ptrdiff_t *P,
                                  kn_components_pilot *found, kn_fit_info *info)
{
    kn_status status = KN_OK;
    const kn_responses *Y = &p->Y;
    const kn_gp_options *o = p->options;
    void *fold = NULL;
    bool products = kn_heldout_by_products(Y->T);
    int once = KN_HELD_OUT_ONCE;
    if (products && !p->gram.G.data)
        KN_TRY(kn_gram_new(ctx, Y, &p->gram));
    if (*P == 0 || o->folds > 0) {
        KN_TRY(kn_alloc(ctx, Y->N, sizeof(int), &fold));
        KN_TRY(kn_folds_assign(ctx, Y->N, o->groups, o->row_order, o->search.seed, &once, fold));
        KN_TRY(
            make_held_out_basis(ctx, p, fold, *P == 0 ? kn_min_size(KN_RANGE_LADDER, Y->T) : *P));
    }
    if (*P == 0) {
        KN_TRY(kn_components_auto(ctx, p, info, found, P));
        if (*P == 0) {
            KN_TRY(make_empty_basis(ctx, p, basis));
            goto out;
        }
    }
    if (products) {
        KN_TRY(kn_basis_check(ctx, Y, *P, p->gram.rank));
        KN_TRY(kn_basis_pca(ctx, Y, &p->gram, *P, basis));
    } else {
        KN_TRY(make_basis_from_held_out(ctx, p, *P, basis, info));
    }
out:
    kn_free(fold);
    return status;
}

/* Computes the basis that the options request, the user's or principal components, and sets
 * gp->P; *found receives the pilot's R0 (covariance between participants) if components are
 * chosen. Collective. */
static kn_status make_basis(kn_ctx *ctx, kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                            kn_components_pilot *found, kn_fit_info *info)
{
    kn_status status;
    if (p->options->basis.data) {
        KN_TRY(kn_user_span_given(ctx, p, basis, gp, info));
    } else {
        KN_TRY((p->Y.N > KN_MANY ? make_large_basis : make_gram_basis)(ctx, p, basis, &gp->P, found,
                                                                       info));
    }
    KN_TRY(check_complement(ctx, p, basis));
out:
    return status;
}

/* Builds the fitted model gp from the engine at its optimum: latent form (independent processes
 * of the components), noise, and loadings B, which are moved from the basis or, with dense iso
 * noise, B U_C. X (N x F) is copied. */
static kn_status assemble_model(kn_ctx *ctx, kn_mat X, kn_engine *e, kn_basis *basis, kn_gp *gp)
{
    kn_status status;
    kn_mat own_X = {0};
    bool iso = e->spec.noise == KN_NOISE_ISO;
    KN_TRY(kn_mat_copy(ctx, X, &own_X));
    if (iso && !e->iso.diagonal) {
        KN_TRY(kn_mat_new(ctx, basis->B.rows, e->P, &gp->B));
        kn_gemm(ctx, 1, KN_N, basis->B, KN_N, e->iso.UC, 0, gp->B); /* B U_C */
        KN_TRY(kn_mat_copy(ctx, e->iso.UC, &gp->UC));
    } else {
        gp->B = basis->B;
        basis->B = kn_mat_none();
    }
    gp->s2 = e->s2;
    memcpy(gp->inside, e->inside, sizeof gp->inside);
    KN_TRY(kn_fit_latent(ctx, &own_X, e, &gp->latent));
    kn_gp_fix_rank(gp, e->spec.rank);
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
out:
    kn_mat_clear(&own_X);
    return status;
}

/* Finds R0 and everything inside for the chosen basis; the engine *e is left at the optimum,
 * found->at holds it. The additive R0 is estimated by a pilot with its own number of components
 * and then fixed [METHOD 3b]; other kernels are searched with these components. Collective. */
static kn_status search_parameters(kn_ctx *ctx, kn_fit_problem *p, const kn_basis *basis,
                                   kn_components_pilot *found, kn_engine *e, kn_fit_info *info)
{
    kn_status status = KN_OK;
    ptrdiff_t limit = kn_pilot_components(p, basis->Z.cols);
    if (!p->spec.additive)
        return kn_fit_search(ctx, p, basis, e, &found->at);
    if (!found->found && p->gram.G.data)
        KN_TRY(kn_pilot_of_gram(ctx, p, info, &found->at));
    else if (!found->found)
        KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, p->options->row_order,
                        kn_cols(basis->Z, 0, limit), info, &found->at));
    p->spec.rank = p->pilot_rank;
    KN_TRY(kn_fit_at(ctx, p, basis, e, &found->at));
out:
    return status;
}

/* Sets gp->energy[p] = |z_p|^2 (P) of the coordinates Z (N x P), from which the in-sample noise
 * follows without a pass over Y of 2 N P T flops [noise.c]. */
static kn_status keep_energies(kn_ctx *ctx, kn_mat Z, kn_gp *gp)
{
    kn_status status = kn_alloc_d(ctx, gp->P, &gp->energy);
    for (ptrdiff_t k = 0; status == KN_OK && k < gp->P; k++)
        gp->energy[k] = kn_sumsq(kn_cols(Z, k, 1));
    return status;
}

/* Moves the pair statistics of the engine to core, for the folds, and frees the decompositions. */
static void move_pairs(kn_engine *e, kn_engine_core *core)
{
    kn_engine_donate(e, core);
    for (int k = 0; k < core->n_cells; k++)
        kn_decomp_clear(&core->R0[k]);
    core->decomposed = false;
}

/* Implements kn_method.fit: basis and number of components, hyperparameters, the model, then
 * cross-validation. After cancellation the best point is kept if the caller wants that, without
 * cross-validated maps. [METHOD 1] */
static kn_status fit_smtgpr(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status = KN_OK;
    kn_basis basis = {0};
    kn_engine e = {0};
    kn_components_pilot found = {0};
    kn_engine_core core = {0};
    double t0 = kn_clock(), t1, t2;
    *gp = (kn_gp){.method = &kn_method_smtgpr,
                  .spec = p->spec,
                  .N = p->X.rows,
                  .F = p->X.cols,
                  .T = p->Y.T,
                  .P = p->options->components,
                  .pca = !p->options->basis.data};
    if (p->completion && gp->pca)
        found = (kn_components_pilot){true, p->completion->pilot};
    p->core = &core;
    KN_TRY(make_basis(ctx, p, &basis, gp, &found, info));
    if (gp->pca && (gp->N > KN_MANY || !p->completion)) /* else psi must come from observed cells */
        KN_TRY(keep_energies(ctx, basis.Z, gp));
    t1 = kn_clock();
    KN_TRY(search_parameters(ctx, p, &basis, &found, &e, info));
    KN_TRY(assemble_model(ctx, p->X, &e, &basis, gp));
    kn_fit_record(gp, &found.at, &e, &basis, info);
    if (p->options->folds > 0)
        move_pairs(&e, &core);
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    t2 = kn_clock();
    KN_TRY(kn_fit_cv(ctx, gp, p, info));
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    p->core = NULL;
    kn_engine_core_clear(&core);
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: sets number of components, width of the range finder and folds. */
static void need_settle(kn_problem_size *s)
{
    bool many = s->N > KN_MANY;
    if (s->span > 0 && s->P == 0)
        s->P = kn_min_size(s->span, s->N);
    s->chosen = s->P == 0;
    if (s->chosen)
        s->P = kn_components_max(s->N, s->T, many ? KN_RANGE_LADDER : s->N);
    s->range = many && !s->given_basis ? kn_range_columns(s->N, s->T, s->P) : 0;
    if (many && s->folds > 0)
        s->folds = KN_HELD_OUT_ONCE;
}

/* Predicts in plan r the memory of make_basis: what the problem keeps stays in the plan; *basis
 * receives the usage before the basis itself. */
static void need_basis(kn_mem_plan *r, const kn_problem_size *s, kn_mem_usage *basis)
{
    bool held_out = s->range > 0 && (s->chosen || s->folds > 0);
    bool finder = s->range > 0 && !kn_heldout_by_products(s->T);
    kn_plan_stage(r, s->given_basis ? "basis" : "gram");
    if (!s->given_basis && !finder)
        kn_gram_need(r, s);
    if (held_out) {
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 1);
        kn_heldout_need(r, s, s->chosen ? kn_min_size(KN_RANGE_LADDER, s->T) : s->P);
    }
    kn_plan_stage(r, "components");
    if (s->chosen)
        kn_components_need(r, s);
    kn_plan_stage(r, "basis");
    *basis = r->now;
    if (s->chosen && s->range == 0)
        kn_engine_core_need(r, s); /* of the pilot fit, until the search takes it */
    else if (held_out && finder)
        kn_heldout_sketch_need(r, s, s->range);
    kn_mem_usage before = r->now;
    if (finder)
        kn_range_need(r, s->N, s->T, s->P);
    else if (s->span > 0)
        kn_user_span_need(r, s);
    else
        kn_basis_need(r, s);
    kn_plan_free(r, *basis, before);
}

/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: basis,
 * components, noise and cross-validated maps stay in the plan. */
static void need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now, made;
    need_basis(r, s, &made);
    kn_plan_stage(r, "search");
    kn_search_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F);
    if (s->rotated)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
    kn_plan_free_to(r, made);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->range > 0 ? s->range : s->P);
    if (s->P < s->span)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->span);
    if (s->rotated)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->P, s->P);
    kn_latent_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_stage(r, "folds");
    kn_mem_usage fitted = r->now;
    if (s->folds > 0 && s->M >= s->N)
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    kn_mem_usage pairs = r->now;
    if (s->folds > 0)
        kn_components_cv_need(r, s);
    kn_plan_free(r, fitted, pairs);
    kn_plan_free(r, begin, made);
    if (s->range > 0 && s->folds > 0) /* basis and mean of the held-out set are kept with the
                                       * maps */
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->range + 1);
}

/* Implements kn_method.known_noise: iso noise is s2 in every response (true); structured noise
 * is estimated from held-out participants (false) [METHOD 1d]. */
static bool known_noise(kn_gp *gp)
{
    bool iso = gp->spec.noise == KN_NOISE_ISO;
    for (ptrdiff_t j = 0; iso && j < gp->T; j++)
        gp->noise[j] = gp->s2;
    return iso;
}

/* Implements kn_method.deidentify; KN_ERR_ARGUMENT for iso noise, whose prediction needs the
 * training sample. */
static kn_status deidentify_smtgpr(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how,
                                   kn_gp *to)
{
    if (from->spec.noise == KN_NOISE_ISO)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a model with iso noise cannot be exported; fit it with {noise=structured}");
    return kn_components_deidentify(ctx, from, how, to);
}

const kn_method kn_method_smtgpr = {
    .name = "smtgpr",
    .title = "S-MTGPR",
    .words = KN_SMTGPR_WORDS,
    .cite = KN_KIA_MARQUAND_CITE,
    .paper = KN_KIA_MARQUAND,
    .components = true,
    .low_rank = true,
    .spreads = true,
    .same_steps = true,
    .held_out_once = true,
    .fit = fit_smtgpr,
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
    .deidentify = deidentify_smtgpr,
    .points = kn_components_points,
    .arrays = kn_components_arrays,
    .bytes = kn_components_bytes,
    .need = {need_settle, need_fit, kn_components_maps_need, kn_components_block_need},
};
