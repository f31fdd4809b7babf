/* Predictions of one fold with the likelihood engine (gp/likelihood) at the hyperparameters of the
 * full fit. The test participants of the fold are predicted from its training participants. */
#include "gp/cv/internal.h"

#include "gp/basis/user_span.h"
#include "gp/method.h"
#include "gp/predict/predict.h"
#include "la/la.h"

/* Fits the latent model *out of a fold's training rows at the hyperparameters of gp: R0 fixed, c
 * and d estimated again from f->Z_train. all: pair statistics of all participants, or NULL. The
 * fold's own basis is multiplied by its U_C (iso noise); for a basis that folds share, *rotate
 * receives the matrix that turns it into the fold's, none if they are equal. The caller frees
 * *rotate and *out. */
static kn_status fit_fold(kn_ctx *ctx, const kn_gp *gp, const kn_pairs *all, kn_fold *f,
                          kn_mat *rotate, kn_latent *out)
{
    kn_status status;
    kn_engine e = {0};
    kn_mat X = {0}, rotated = {0};
    kn_groups groups = {0};
    kn_pairs pairs = {0};
    kn_engine_data data = {
        .Z = f->Z_train, .groups = &groups, .T = gp->T, .total = 1, .N_ref = gp->N};
    double lml;
    KN_TRY(kn_mat_new(ctx, f->n_train, gp->F, &X));
    kn_mat_rows(gp->latent.X, f->train, X);
    /* The energy E outside the basis does not affect predictions at fixed hyperparameters; it stays
     * 0. */
    data.X = X;
    KN_TRY(kn_groups_subset(ctx, &gp->latent.groups, f->train, f->n_train, &groups));
    if (all && gp->spec.rank == 0) {
        kn_cov cov = kn_cov_between(&gp->spec.sample);
        KN_TRY(kn_pairs_select(ctx, all, f->train, X, &cov.stats, &pairs));
        data.pairs = &pairs;
    }
    KN_TRY(kn_engine_new(ctx, &gp->spec, &data, &e));
    if (gp->spec.noise == KN_NOISE_ISO) {
        double theta[KN_THETA];
        kn_spec_join(&gp->spec, gp->latent.cell[0].R0.theta, gp->inside, theta);
        KN_TRY(kn_engine_joint(ctx, &e, theta, &lml, NULL));
        if (kn_fold_has_basis(f) && !e.iso.diagonal) {
            kn_mat own = f->US.data ? f->US : f->B;
            KN_TRY(kn_mat_copy(ctx, own, &rotated));
            kn_gemm(ctx, 1, KN_N, rotated, KN_N, e.iso.UC, 0, own);
        }
        if (f->V.data) {
            KN_TRY(kn_user_span_rotation(ctx, gp, f->V, e.iso.diagonal ? kn_mat_none() : e.iso.UC,
                                         rotate));
        } else if (!kn_fold_has_basis(f) && gp->UC.data &&
                   !gp->pca) { /* B U_C,f = (B U_C) U_C' U_C,f */
            KN_TRY(kn_mat_copy(ctx, e.iso.UC, rotate));
            kn_gemm(ctx, 1, KN_T, gp->UC, KN_N, e.iso.UC, 0, *rotate);
        } else if (!kn_fold_has_basis(f) && !e.iso.diagonal) {
            *rotate = e.iso.UC;
            e.iso.UC = kn_mat_none();
        }
    } else {
        KN_TRY(kn_engine_at(ctx, &e, gp->latent.cell[0].R0.theta, &lml));
        if (f->V.data)
            KN_TRY(kn_user_span_rotation(ctx, gp, f->V, kn_mat_none(), rotate));
    }
    KN_TRY(kn_fit_latent(ctx, &X, &e, out));
out:
    kn_pairs_clear(&pairs);
    kn_groups_clear(&groups);
    kn_mat_clear(&rotated);
    kn_mat_clear(&X);
    kn_engine_clear(&e);
    return status;
}

/* Converts the predictions of `part` from components to responses for a dense task kernel with B
 * = I: mean = mean_lat U_C', var = v_lat (U_C.^2)' (n_test x T). U_C (part->rotate) is T x T,
 * larger than the maps, so the maps are kept and U_C is freed. */
static kn_status convert_to_responses(kn_ctx *ctx, kn_fold_prediction *part)
{
    kn_status status;
    kn_mat latent = {0}, UC = part->rotate;
    KN_TRY(kn_mat_copy(ctx, part->mean, &latent));
    kn_gemm(ctx, 1, KN_N, latent, KN_T, UC, 0, part->mean);
    kn_mat_set(latent, part->var);
    for (ptrdiff_t i = 0; i < UC.rows * UC.cols; i++)
        UC.data[i] *= UC.data[i];
    kn_gemm(ctx, 1, KN_N, latent, KN_T, UC, 0, part->var);
    part->direct = true;
    kn_mat_clear(&part->rotate);
out:
    kn_mat_clear(&latent);
    return status;
}

/* Computes how far the held-out participants Xs (n_test x F) of fold f are from its training
 * sample, and stores the values at their rows of extrapolation (N). */
static kn_status compute_fold_extrapolation(kn_ctx *ctx, const kn_latent *model, kn_mat Xs,
                                            const kn_fold *f, double *extrapolation)
{
    double *own = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, f->n_test, &own));
    KN_TRY(kn_latent_extrapolation(ctx, model, Xs, own));
    for (ptrdiff_t i = 0; i < f->n_test; i++)
        extrapolation[f->test[i]] = own[i];
out:
    kn_free(own);
    return status;
}

/* Sets part->mean_without_site (n_test x P), the latent means of the held-out rows with their
 * site set to "no site"; X_without_site: N x F design, none: does nothing. */
static kn_status predict_without_site(kn_ctx *ctx, const kn_latent *model, kn_mat X_without_site,
                                      const kn_fold *f, kn_fold_prediction *part)
{
    kn_status status;
    kn_mat Xs = {0}, var = {0};
    double clamped = 0;
    if (!X_without_site.data)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, f->n_test, X_without_site.cols, &Xs));
    kn_mat_rows(X_without_site, f->test, Xs);
    KN_TRY(kn_mat_new(ctx, f->n_test, model->P, &part->mean_without_site));
    KN_TRY(kn_mat_new(ctx, f->n_test, model->P, &var));
    KN_TRY(kn_latent_predict(ctx, model, &(kn_predict_input){.X = Xs}, part->mean_without_site, var,
                             &clamped));
out:
    kn_mat_clear(&var);
    kn_mat_clear(&Xs);
    return status;
}

/* Sets the noise of a fold for the joint density of its maps, with structured noise: part->d
 * (P), the noise variance of each component in a new group, and part->s2, the variance per
 * response outside the fold's basis [METHOD 8j]. Other noise models: does nothing. */
static kn_status set_fold_noise(kn_ctx *ctx, const kn_gp *gp, const kn_latent *model,
                                const kn_fold *f, kn_fold_prediction *part)
{
    static const double EMPTY = 1e-10; /* of |Y|^2, METHOD 2: below, the rest is rounding */
    kn_status status = KN_OK;
    ptrdiff_t outside = gp->T - model->P;
    double left = f->total - kn_sumsq(f->Z_train);
    if (gp->spec.noise != KN_NOISE_STRUCTURED)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, model->P + 1, &part->d)); /* allocated even if P = 0: marks s2 as the
                                                      * fold's */
    for (ptrdiff_t p = 0; p < model->P; p++)
        part->d[p] = kn_latent_noise(model, p);
    if (outside > 0 && left > EMPTY * f->total)
        part->s2 = left / ((double)f->n_train * (double)outside);
out:
    return status;
}

/* Moves row lists, basis (US or B) and mean of fold f to its prediction `part`; f loses them. */
static void move_basis(kn_fold *f, kn_fold_prediction *part)
{
    part->rows = f->test;
    part->train = f->train;
    part->US = f->US;
    part->B = f->B;
    part->mu = f->mu;
    f->test = f->train = NULL;
    f->US = f->B = kn_mat_none();
    f->mu = NULL;
}

kn_status kn_fold_prediction_new(kn_ctx *ctx, const kn_cv_problem *problem, kn_fold *f,
                                 kn_gp_maps *maps, int k, double *extrapolation)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    kn_fold_prediction *part = &maps->part[k];
    kn_latent model = {0};
    kn_mat Xs = {0};
    KN_TRY(fit_fold(ctx, gp, problem->pairs, f, &part->rotate, &model));
    KN_TRY(kn_mat_new(ctx, f->n_test, gp->F, &Xs));
    kn_mat_rows(gp->latent.X, f->test, Xs);
    part->n = f->n_test;
    part->n_train = f->n_train;
    KN_TRY(kn_mat_new(ctx, f->n_test, model.P, &part->mean));
    KN_TRY(kn_mat_new(ctx, f->n_test, model.P, &part->var));
    KN_TRY(kn_latent_predict(ctx, &model, &(kn_predict_input){.X = Xs}, part->mean, part->var,
                             &maps->clamped));
    KN_TRY(predict_without_site(ctx, &model, problem->X_without_site, f, part));
    KN_TRY(set_fold_noise(ctx, gp, &model, f, part));
    if (extrapolation)
        KN_TRY(compute_fold_extrapolation(ctx, &model, Xs, f, extrapolation));
    if (gp->spec.identity && !gp->complement_component)
        KN_TRY(convert_to_responses(ctx, part));
    move_basis(f, part);
out:
    kn_mat_clear(&Xs);
    kn_latent_clear(&model);
    return status;
}

void kn_fold_prediction_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_problem_size f = *s;
    bool direct = s->method->identity && s->rotated;
    f.N = n;
    f.M = s->M < s->N ? kn_min_size(s->M, n) : n;
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, s->F);
    kn_engine_need(r, &f, false, false);
    if (s->rotated)
        kn_plan_alloc_d(r, KN_NEED_WORK, direct ? 0 : n, s->P);
    kn_plan_free_to(r, mark);
    if (s->rotated || s->span > 0)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->span > 0 ? s->span : s->P, s->P); /* rotate */
    kn_mem_usage kept = r->now;
    kn_latent_need(r, &f);
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 2 : 1) * (s->F + 2 * (s->P + 1)));
    kn_latent_predict_need(r, &f, h);
    if (direct)
        kn_plan_alloc_d(r, KN_NEED_WORK, h, s->P);
    kn_plan_free_to(r, direct ? mark : kept);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->P + 1, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * (s->P + 1));
}
