/* Cross-validation with whitened noise: a fold estimates psi, B, c, d, c0, d0 from its training
 * rows; R0 is fixed [METHOD 5b, 1f].
 *
 *     mean = mu + L (B Psi^1/2)' + smooth (Y_tr - 1 mu')     smooth = RU diag(c0/(c0 r + d0)) U'
 *     L = mean_lat - smooth Z
 *
 * smooth (h x n) serves all responses, so that a fold need not keep D0. A fold that imputes its
 * training rows keeps D0, because the maps do not have the imputed responses. */
#include "gp/methods/smtgpr/internal.h"

#include "gp/basis/complement.h"
#include "gp/predict/predict.h"

/* Outputs of a prediction: with or without site effects. */
typedef struct prediction_outputs {
    kn_mat *mean, *RU, *smooth;
} prediction_outputs;

/* Predicts the components of the held-out rows Xs (h x F) of a fold: mean and var (h x P), and
 * for the directions outside RU = R0* U, which is kept for D0 if cells were imputed, else
 * replaced by the smoother (h x n). Matrices of `outputs` are allocated here. */
static kn_status predict_held_out(kn_ctx *ctx, const kn_whitened *w, kn_mat Xs, bool imputed,
                                  prediction_outputs outputs, kn_mat var, double *clamped)
{
    kn_status status;
    kn_mat explained = {0};
    const kn_latent *l = &w->latent;
    ptrdiff_t P = w->factors.B.cols, n_directions = w->complement ? kn_complement_count(l) : 0;
    KN_TRY(kn_mat_new(ctx, Xs.rows, l->P, outputs.mean));
    if (n_directions > 0)
        KN_TRY(kn_mat_new(ctx, Xs.rows, n_directions, outputs.RU));
    KN_TRY(kn_latent_predict_all(ctx, l, &(kn_predict_input){.X = Xs},
                                 &(kn_latent_prediction){*outputs.mean, var, *outputs.RU},
                                 clamped));
    if (n_directions == 0 || imputed)
        goto out;
    KN_TRY(kn_mat_new(ctx, Xs.rows, l->X.rows, outputs.smooth));
    KN_TRY(kn_mat_new(ctx, Xs.rows, P, &explained));
    KN_TRY(kn_complement_smoother(ctx, l, *outputs.RU, kn_cols(l->cell[0].A, 0, P), *outputs.smooth,
                                  explained));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < Xs.rows; i++)
            kn_col(*outputs.mean, p)[i] -= kn_at(explained, i, p);
    kn_mat_clear(outputs.RU);
out:
    kn_mat_clear(&explained);
    return status;
}

/* Moves what the maps and their joint density need from the fold's model *w to its prediction:
 * psi, B, noise variances d and s2, and the training rows if there is a smoother. */
static kn_status move_to_prediction(kn_ctx *ctx, const kn_refit *f, kn_whitened *w,
                                    kn_fold_prediction *part)
{
    kn_status status = KN_OK;
    ptrdiff_t P = w->factors.B.cols;
    KN_TRY(kn_alloc_d(ctx, P + 1, &part->d));
    for (ptrdiff_t p = 0; p < P; p++)
        part->d[p] = w->latent.d[p];
    part->s2 = w->complement ? w->latent.d[P] : 0;
    part->psi = w->factors.psi;
    part->B = w->factors.B;
    w->factors.psi = NULL;
    w->factors.B = kn_mat_none();
    if (!part->smooth.data)
        goto out;
    KN_TRY(kn_alloc_i(ctx, f->n, &part->train));
    for (ptrdiff_t i = 0; i < f->n; i++)
        part->train[i] = f->train[i];
out:
    return status;
}

kn_status kn_whitened_fold(kn_ctx *ctx, const kn_refit *f, kn_fold_prediction *part,
                           double *clamped)
{
    kn_status status;
    const kn_gp *gp = f->gp;
    kn_whitened w = {0};
    kn_whitened_data data = {.spec = &gp->spec,
                             .X = f->X,
                             .Y = &f->Y,
                             .mean = f->mu,
                             .theta = gp->latent.cell[0].R0.theta};
    bool imputed = f->Y.missing != NULL;
    kn_mat unused = {0};
    double no = 0;
    KN_TRY(kn_factors_new(ctx, &f->Y, f->mu, gp->P, &w.factors));
    w.complement = w.factors.B.cols < gp->T; /* a fold of few rows has a complement even if P = T */
    KN_TRY(kn_whitened_at(ctx, &data, &w));
    KN_TRY(kn_mat_new(ctx, f->Xs.rows, w.latent.P, &part->var));
    KN_TRY(predict_held_out(ctx, &w, f->Xs, imputed,
                            (prediction_outputs){&part->mean, &part->RU, &part->smooth}, part->var,
                            clamped));
    if (f->X_without_site.data) {
        KN_TRY(kn_mat_new(ctx, f->Xs.rows, w.latent.P, &unused));
        KN_TRY(
            predict_held_out(ctx, &w, f->X_without_site, imputed,
                             (prediction_outputs){&part->mean_without_site, &part->RU_without_site,
                                                  &part->smooth_without_site},
                             unused, &no));
    }
    if (f->extrapolation)
        KN_TRY(kn_latent_extrapolation(ctx, &w.latent, f->Xs, f->extrapolation));
    if (imputed && w.complement) {
        kn_complement_input outside = kn_whitened_outside(&data, &w);
        KN_TRY(kn_complement_make(ctx, &w.latent, &outside, &part->D0));
    }
    KN_TRY(move_to_prediction(ctx, f, &w, part));
out:
    kn_mat_clear(&unused);
    kn_whitened_clear(&w);
    return status;
}

kn_status kn_whitened_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                         kn_gp_maps *out)
{
    return kn_refit_cv(ctx, gp, problem, kn_whitened_fold, out);
}

/* Predicts in plan r the memory of kn_whitened_fold for n training and h held-out rows: its
 * prediction stays in the plan, the fit only raises the peak. */
static void need_fold(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_problem_size f = *s;
    int kinds = s->sites > 0 ? 2 : 1;
    kn_mem_usage mark = r->now;
    f.N = n;
    f.M = s->M < s->N ? kn_min_size(s->M, n) : n;
    kn_refit_need(r, &f, n, h);
    kn_whitened_need(r, &f);
    kn_mem_usage model = r->now;
    kn_complement_need(r, &f, 0);
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (kinds + 1) * (s->P + 1) + s->P);
    kn_latent_predict_need(r, &f, h);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, h, kinds * n + f.M);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, f.M < n ? 2 * n : n, f.M);
    kn_plan_free_to(r, model);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2);         /* mu, psi */
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);     /* B */
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, h, kinds * n); /* smooth */
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (kinds + 1) * (s->P + 1));
    kn_plan_alloc_d(r, KN_NEED_WORK, n + s->N, 1); /* rows */
}

void kn_whitened_cv_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2); /* fold, sample */
    for (int k = 0; k < s->folds; k++) {
        ptrdiff_t h = (s->N + s->folds - 1 - k) / s->folds;
        need_fold(r, s, s->N - h, h);
    }
}
