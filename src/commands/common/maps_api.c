/* Public calls for maps of a model: prediction, leave-one-out, cross-validation, and blocks and
 * covariances of the result. Maps keep the standardised prediction; kn_maps_block converts to
 * original units. */
#include "gp/assign_folds.h"
#include "gp/cv/cv.h"
#include "gp/predict/covariance.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/loo.h"
#include "gp/predict/predict.h"
#include "model/model.h"

#include "commands/common/check_arguments.h"
#include "commands/common/maps_api.h"
#include "la/la.h"

/* Check the model and allocate *m, empty maps of it; *maps is NULL until the call succeeds. */
static kn_status begin_maps(kn_ctx *ctx, const kn_model *model, kn_maps **maps, kn_maps **m)
{
    void *memory;
    *maps = NULL;
    *m = NULL;
    if (!model)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    kn_status status = kn_alloc(ctx, 1, sizeof **m, &memory);
    if (status == KN_OK) {
        *m = memory;
        (*m)->model = model;
    }
    return status;
}

/* Make the design matrix (n x F) of covariates X, which are clamped; *out is owned by the caller.
 * KN_ERR_SHAPE for a wrong number of columns. */
static kn_status make_design(kn_ctx *ctx, const kn_model *model, kn_view X, kn_mat *out)
{
    kn_status status;
    *out = kn_mat_none();
    KN_TRY(kn_check_view(ctx, X, "covariates"));
    if (X.cols != model->info.n_covariates)
        return kn_fail(ctx, KN_ERR_SHAPE, "covariates have %td columns, the model has %td", X.cols,
                       model->info.n_covariates);
    KN_TRY(kn_mat_new(ctx, X.rows, model->x.F, out));
    KN_TRY(kn_design_apply(ctx, &model->x, X, true, *out, NULL));
out:
    if (status != KN_OK)
        kn_mat_clear(out);
    return status;
}

kn_status kn_maps_predict(kn_ctx *ctx, const kn_model *model, kn_view X, kn_maps **maps)
{
    return kn_maps_predict_known(ctx, model, X, (kn_predict_context){0}, maps);
}

kn_status kn_maps_predict_known(kn_ctx *ctx, const kn_model *model, kn_view X,
                                kn_predict_context known, kn_maps **maps)
{
    kn_status status;
    kn_maps *m;
    kn_mat Xs = {0};
    KN_TRY(begin_maps(ctx, model, maps, &m));
    KN_TRY(make_design(ctx, model, X, &Xs));
    if (known.without_site)
        kn_design_set_without_site(&model->x, known.without_site, Xs);
    KN_TRY(kn_gp_predict(ctx, &model->gp, &(kn_predict_input){.X = Xs, .group = known.group},
                         &m->maps));
    *maps = m;
out:
    kn_mat_clear(&Xs);
    if (status != KN_OK)
        kn_maps_free(m);
    return status;
}

/* Refuse models whose training maps cannot be computed again: de-identified ones (KN_ERR_ARGUMENT),
 * and those with imputed cells, which are not stored (KN_ERR_DATA) [METHOD 0b]. */
static kn_status check_complete(kn_ctx *ctx, const kn_model *model)
{
    if (model->deidentified)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the model is de-identified and has no training participants, so their maps "
                       "cannot be recreated");
    if (model->info.missing.cells == 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "the model was fitted to responses with missing cells and does not keep the "
                   "imputed values, so maps of its training participants cannot be recreated");
}

kn_status kn_maps_loo(kn_ctx *ctx, const kn_model *model, kn_view Y, kn_maps **maps)
{
    kn_status status;
    kn_maps *m;
    KN_TRY(begin_maps(ctx, model, maps, &m));
    KN_TRY(kn_check_training(ctx, model, Y));
    KN_TRY(check_complete(ctx, model));
    kn_responses responses = kn_responses_of(Y, &model->y);
    KN_TRY(kn_gp_loo(ctx, &model->gp, &responses, &m->maps));
    *maps = m;
out:
    if (status != KN_OK)
        kn_maps_free(m);
    return status;
}

/* KN_ERR_ARGUMENT unless 2 <= folds <= N and all fold numbers (N; NULL: not given) are 0 .. folds -
 * 1. */
static kn_status check_folds(kn_ctx *ctx, ptrdiff_t N, int folds, const int *fold)
{
    if (folds < 2 || folds > N)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "folds is %d, but must be 2 to %td", folds, N);
    for (ptrdiff_t i = 0; fold && i < N; i++)
        if (fold[i] < 0 || fold[i] >= folds)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "fold of participant %td is %d, but must be 0 to %d", i + 1, fold[i],
                           folds - 1);
    return KN_OK;
}

kn_status kn_maps_cv(kn_ctx *ctx, const kn_model *model, kn_view Y, int folds, const int *fold,
                     kn_maps **maps)
{
    kn_status status;
    kn_maps *m;
    int *own = NULL, *groups = NULL;
    KN_TRY(begin_maps(ctx, model, maps, &m));
    KN_TRY(kn_check_training(ctx, model, Y));
    KN_TRY(check_folds(ctx, model->info.n_samples, folds, fold));
    KN_TRY(check_complete(ctx, model));
    if (!fold && model->grouped && model->gp.latent.groups.n == 0) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "the model's folds followed groups that it does not keep; give the folds");
        goto out;
    }
    if (!fold) {
        ptrdiff_t N = model->info.n_samples;
        KN_TRY(kn_alloc_int(ctx, N, &own));
        KN_TRY(kn_alloc_int(ctx, N, &groups));
        for (ptrdiff_t i = 0; model->grouped && i < N; i++)
            groups[i] = (int)model->gp.latent.groups.of[i];
        KN_TRY(kn_folds_assign(ctx, N, model->grouped ? groups : NULL, model->row_order,
                               model->seed, &folds, own));
        fold = own;
    }
    kn_responses responses = kn_responses_of(Y, &model->y);
    kn_cv_problem problem = {.Y = &responses, .folds = folds, .fold = fold};
    KN_TRY(kn_gp_cv(ctx, &model->gp, &problem, &m->maps));
    *maps = m;
out:
    kn_free(groups);
    kn_free(own);
    if (status != KN_OK)
        kn_maps_free(m);
    return status;
}

/* KN_ERR_SHAPE unless matrix m is empty (not wanted) or rows x cols; name: for the message. */
static kn_status check_output(kn_ctx *ctx, kn_mat m, ptrdiff_t rows, ptrdiff_t cols,
                              const char *name)
{
    if (!m.data || (m.rows == rows && m.cols == cols && m.ld >= rows))
        return KN_OK;
    return kn_fail(ctx, KN_ERR_SHAPE, "%s is %td x %td with ld %td, expected %td x %td", name,
                   m.rows, m.cols, m.ld, rows, cols);
}

kn_status kn_maps_block(kn_ctx *ctx, kn_maps *maps, ptrdiff_t first, ptrdiff_t count, kn_mat mean,
                        kn_mat variance)
{
    kn_status status;
    if (!maps)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "maps is a null pointer");
    ptrdiff_t T = maps->model->info.n_responses;
    if (first < 0 || count < 0 || first > T - count)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "responses %td to %td asked for, there are %td",
                       first + 1, first + count, T);
    KN_TRY(check_output(ctx, mean, maps->maps.n, count, "mean"));
    KN_TRY(check_output(ctx, variance, maps->maps.n, count, "variance"));
    KN_TRY(kn_model_maps_block(ctx, maps, first, count, mean, variance));
out:
    return status;
}

ptrdiff_t kn_maps_samples(const kn_maps *maps)
{
    return maps->maps.n;
}

void kn_maps_free(kn_maps *maps)
{
    if (!maps)
        return;
    kn_gp_maps_clear(&maps->maps);
    kn_free(maps);
}

kn_status kn_covariance(kn_ctx *ctx, const kn_model *model, kn_view x, const ptrdiff_t *responses,
                        ptrdiff_t count, kn_mat model_cov, kn_mat noise_cov)
{
    kn_status status;
    kn_mat xs = {0};
    ptrdiff_t *J = NULL;
    if (!model || !responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "responses" : "model");
    if (x.rows != 1)
        return kn_fail(ctx, KN_ERR_SHAPE, "x has %td rows; it must have one, for one participant",
                       x.rows);
    KN_TRY(check_output(ctx, model_cov, count, count, "model_cov"));
    KN_TRY(check_output(ctx, noise_cov, count, count, "noise_cov"));
    KN_TRY(make_design(ctx, model, x, &xs));
    KN_TRY(kn_alloc_i(ctx, count, &J));
    for (ptrdiff_t j = 0; j < count; j++) {
        J[j] = kn_kept_from(&model->y, responses[j]);
        if (J[j] >= model->y.n_kept || model->y.kept[J[j]] != responses[j]) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "response %td is not in the model (there are %td, and constant ones "
                             "are left out)",
                             responses[j], model->info.n_responses);
            goto out;
        }
    }
    KN_TRY(kn_gp_covariance(ctx, &model->gp, xs, J, model_cov, noise_cov));
    for (ptrdiff_t b = 0; b < count; b++)
        for (ptrdiff_t a = 0; a < count; a++) {
            double scale = model->y.sd[J[a]] * model->y.sd[J[b]];
            if (model_cov.data)
                kn_col(model_cov, b)[a] *= scale;
            if (noise_cov.data)
                kn_col(noise_cov, b)[a] *= scale;
        }
out:
    kn_free(J);
    kn_mat_clear(&xs);
    return status;
}
