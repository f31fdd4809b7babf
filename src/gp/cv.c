/* Cross-validated maps: each fold predicted by a model whose mean, basis and component variances
 * come from the other folds; scaling of responses and covariates, R0 or theta held
 * [METHOD 5b]. */
#include "gp/cv.h"

#include <math.h>

#include "cov/diagonal.h"
#include "gp/completion.h"
#include "gp/cv_deal.h"
#include "gp/cv_energy.h"
#include "gp/cv_fold.h"
#include "gp/fit_steps.h"
#include "gp/predict.h"
#include "gp/span.h"
#include "gp/walk.h"
#include "la/la.h"

/* The fold's components at the parameters held: latent model of its training rows. For iso noise
 * the fold's basis is rotated by its own U_C, so that one basis serves mean and variance. */
static kn_status fold_model(kn_ctx *ctx, const kn_gp *gp, kn_fold *f, kn_mat *rotate,
                            kn_latent *out)
{
    kn_status status;
    kn_engine e = {0};
    kn_mat X = {0}, rotated = {0};
    kn_groups groups = {0};
    kn_engine_data data = {
        .Z = f->Z_train, .groups = &groups, .T = gp->T, .total = 1, .N_ref = gp->N};
    double lml;
    KN_TRY(kn_mat_new(ctx, f->n_train, gp->F, &X));
    kn_mat_rows(gp->latent.X, f->train, X);
    /* E has no part in predictions at fixed parameters: the complement is left out. */
    data.X = X;
    KN_TRY(kn_groups_subset(ctx, &gp->latent.groups, f->train, f->n_train, &groups));
    KN_TRY(kn_engine_new(ctx, &gp->spec, &data, &e));
    if (gp->spec.noise == KN_NOISE_ISO) {
        double theta[KN_THETA];
        kn_spec_join(&gp->spec, gp->latent.cell[0].R0.theta, gp->inside, theta);
        KN_TRY(kn_engine_joint(ctx, &e, theta, &lml, NULL));
        if (f->US.data && !e.iso.diagonal) {
            KN_TRY(kn_mat_copy(ctx, f->US, &rotated));
            kn_gemm(ctx, 1, KN_N, rotated, KN_N, e.iso.UC, 0, f->US);
        }
        if (f->V.data) {
            KN_TRY(
                kn_span_rotation(ctx, gp, f->V, e.iso.diagonal ? kn_mat_none() : e.iso.UC, rotate));
        } else if (!f->US.data && gp->UC.data && !gp->pca) { /* B U_C,f = (B U_C) U_C' U_C,f */
            KN_TRY(kn_mat_copy(ctx, e.iso.UC, rotate));
            kn_gemm(ctx, 1, KN_T, gp->UC, KN_N, e.iso.UC, 0, *rotate);
        } else if (!f->US.data && !e.iso.diagonal) {
            *rotate = e.iso.UC;
            e.iso.UC = kn_mat_none();
        }
    } else {
        KN_TRY(kn_engine_at(ctx, &e, gp->latent.cell[0].R0.theta, &lml));
        if (f->V.data)
            KN_TRY(kn_span_rotation(ctx, gp, f->V, kn_mat_none(), rotate));
    }
    KN_TRY(kn_fit_latent(ctx, &X, &e, out));
out:
    kn_groups_clear(&groups);
    kn_mat_clear(&rotated);
    kn_mat_clear(&X);
    kn_engine_clear(&e);
    return status;
}

/* A dense task kernel over the identity: U_C is T x T and the held-out maps are not, so these are
 * kept instead. mean = mean_lat U_C', variance = v_lat (U_C.^2)' */
static kn_status to_responses(kn_ctx *ctx, kn_part *part)
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

static kn_status fold_far(kn_ctx *ctx, const kn_latent *model, kn_mat Xs, const kn_fold *f,
                          double *far)
{
    double *own = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, f->n_test, &own));
    KN_TRY(kn_latent_far(ctx, model, Xs, own));
    for (ptrdiff_t i = 0; i < f->n_test; i++)
        far[f->test[i]] = own[i];
out:
    kn_free(own);
    return status;
}

/* Means of the rows held out as if they were of no batch. */
static kn_status fold_alone(kn_ctx *ctx, const kn_latent *model, kn_mat X_alone, const kn_fold *f,
                            kn_part *part)
{
    kn_status status;
    kn_mat Xs = {0}, var = {0};
    double clamped = 0;
    if (!X_alone.data)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, f->n_test, X_alone.cols, &Xs));
    kn_mat_rows(X_alone, f->test, Xs);
    KN_TRY(kn_mat_new(ctx, f->n_test, model->P, &part->alone));
    KN_TRY(kn_mat_new(ctx, f->n_test, model->P, &var));
    KN_TRY(kn_latent_predict(ctx, model, &(kn_newcomers){.X = Xs}, part->alone, var, &clamped));
out:
    kn_mat_clear(&var);
    kn_mat_clear(&Xs);
    return status;
}

/* The noise of a fold, as the law of its maps has it: s2 is what its basis leaves of it [METHOD
 * 8j].
 */
static kn_status fold_noise(kn_ctx *ctx, const kn_gp *gp, const kn_latent *model, const kn_fold *f,
                            kn_part *part)
{
    static const double EMPTY = 1e-10; /* of |Y|^2, METHOD 2: what is left is rounding */
    kn_status status = KN_OK;
    ptrdiff_t outside = gp->T - model->P;
    double left = f->total - kn_sumsq(f->Z_train);
    if (gp->spec.noise != KN_NOISE_STRUCTURED)
        return KN_OK;
    KN_TRY(
        kn_alloc_d(ctx, model->P + 1, &part->d)); /* of no component too it says that s2 is own */
    for (ptrdiff_t p = 0; p < model->P; p++)
        part->d[p] = kn_latent_noise(model, p);
    if (outside > 0 && left > EMPTY * f->total)
        part->s2 = left / ((double)f->n_train * (double)outside);
out:
    return status;
}

/* far NULL, or where it goes for the rows held out. */
static kn_status fold_part(kn_ctx *ctx, const kn_gp *gp, kn_mat X_alone, kn_fold *f, kn_part *part,
                           double *clamped, double *far)
{
    kn_status status;
    kn_latent model = {0};
    kn_mat Xs = {0};
    KN_TRY(fold_model(ctx, gp, f, &part->rotate, &model));
    KN_TRY(kn_mat_new(ctx, f->n_test, gp->F, &Xs));
    kn_mat_rows(gp->latent.X, f->test, Xs);
    part->n = f->n_test;
    part->n_train = f->n_train;
    KN_TRY(kn_mat_new(ctx, f->n_test, model.P, &part->mean));
    KN_TRY(kn_mat_new(ctx, f->n_test, model.P, &part->var));
    KN_TRY(
        kn_latent_predict(ctx, &model, &(kn_newcomers){.X = Xs}, part->mean, part->var, clamped));
    KN_TRY(fold_alone(ctx, &model, X_alone, f, part));
    KN_TRY(fold_noise(ctx, gp, &model, f, part));
    if (far)
        KN_TRY(fold_far(ctx, &model, Xs, f, far));
    if (gp->spec.identity && !gp->complement_component)
        KN_TRY(to_responses(ctx, part));
    part->rows = f->test;
    part->train = f->train;
    part->US = f->US;
    f->test = f->train = NULL; /* taken over */
    f->US = kn_mat_none();
out:
    kn_mat_clear(&Xs);
    kn_latent_clear(&model);
    return status;
}

typedef struct sign_search {
    const kn_fold *f;
    kn_mat B;    /* width x P */
    double *top; /* P  the entry of largest size so far */
} sign_search;

static kn_status begin_signs(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    sign_search *s = self;
    return kn_mat_new(ctx, plan->width, s->f->US.cols, &s->B);
}

static kn_status look_at_signs(kn_ctx *ctx, void *self, kn_block *b)
{
    sign_search *s = self;
    kn_mat B = kn_sub(s->B, 0, 0, b->count, s->B.cols);
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, s->f->US, 0,
            B); /* columns of US sum to zero: no need to centre */
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            if (fabs(kn_at(B, j, p)) > fabs(s->top[p]))
                s->top[p] = kn_at(B, j, p);
    return KN_OK;
}

/* A task covariance that is not spectral sees the signs of components [METHOD 9.10]: give each
 * fold's the sign that makes the largest entry of its basis positive, as the full model's have. */
static kn_status fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f)
{
    kn_status status;
    sign_search s = {.f = f};
    kn_visitor visitor = {&s, KN_WALK_Y, begin_signs, look_at_signs, NULL};
    kn_walk walk = {.Y = kn_responses_rows(Y, f->train, f->n_train)};
    KN_TRY(kn_alloc_d(ctx, f->US.cols, &s.top));
    KN_TRY(kn_walk_run(ctx, &walk, &visitor, 1));
    for (ptrdiff_t p = 0; p < f->US.cols; p++)
        for (ptrdiff_t i = 0; s.top[p] < 0 && i < f->n_train; i++) {
            kn_col(f->US, p)[i] *= -1;
            kn_col(f->Z_train, p)[i] *= -1;
        }
out:
    kn_free(s.top);
    kn_mat_clear(&s.B);
    return status;
}

static bool sees_signs(const kn_gp *gp)
{
    return gp->spec.noise == KN_NOISE_ISO && !kn_cov_is_spectral(&gp->spec.task);
}

/* Which samples the maps are of: all, or those held out. */
static kn_status lay_out(kn_ctx *ctx, ptrdiff_t N, const kn_cv_problem *problem, kn_gp_maps *out)
{
    kn_status status;
    const int *fold = problem->fold;
    void *memory;
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &memory));
    out->fold = memory;
    KN_TRY(kn_alloc_i(ctx, N, &out->sample));
    out->folds = problem->folds;
    out->n = 0;
    for (ptrdiff_t i = 0; i < N; i++)
        if (fold[i] >= 0) {
            out->fold[out->n] = fold[i];
            out->sample[out->n++] = i;
        }
    if (out->n == N) {
        kn_free(out->sample);
        out->sample = NULL;
    }
out:
    return status;
}

/* The fold's basis is the held-out set's: B_f, and for iso noise B_f U_C. */
static kn_status take_basis(kn_ctx *ctx, kn_heldout *held, ptrdiff_t P, kn_part *part)
{
    kn_status status = KN_OK;
    kn_mat B = kn_cols(held->basis.B, 0, P);
    if (part->rotate.data) {
        KN_TRY(kn_mat_new(ctx, B.rows, P, &part->B));
        kn_gemm(ctx, 1, KN_N, B, KN_N, part->rotate, 0, part->B);
        kn_mat_clear(&part->rotate);
    } else {
        part->B = B;
        held->basis.B = kn_mat_none();
    }
    part->mu = held->mean;
    held->mean = NULL;
out:
    return status;
}

kn_status kn_gp_cv_heldout(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_heldout *held, kn_gp_maps *out)
{
    kn_status status;
    void *memory;
    double *far = NULL;
    kn_fold f = {.n_train = held->rows.n_train,
                 .n_test = held->rows.n_test,
                 .total = held->basis.total};
    ptrdiff_t P = gp->P < held->basis.Z.cols ? gp->P : held->basis.Z.cols;
    *out = (kn_gp_maps){.gp = gp,
                        .Y = kn_responses_as_given(problem->Y),
                        .folds = KN_HELD_OUT_ONCE,
                        .n = f.n_test};
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_part), &memory));
    out->part = memory;
    out->n_parts = 1;
    KN_TRY(kn_alloc(ctx, out->n, sizeof(int), &memory));
    out->fold = memory;
    f.train = held->rows.train;
    f.test = held->rows.test;
    held->rows.train = held->rows.test = NULL;
    KN_TRY(kn_mat_copy(ctx, kn_cols(held->basis.Z, 0, P), &f.Z_train));
    if (gp->P == 0)
        KN_TRY(kn_alloc_d(ctx, gp->N, &far));
    KN_TRY(fold_part(ctx, gp, problem->X_alone, &f, &out->part[0], &out->clamped, far));
    if (far) {
        KN_TRY(kn_alloc_d(ctx, out->n, &out->far));
        for (ptrdiff_t i = 0; i < out->n; i++)
            out->far[i] = far[out->part[0].rows[i]];
    }
    KN_TRY(take_basis(ctx, held, P, &out->part[0]));
    out->sample = out->part[0].rows; /* the only part, and in order */
    out->part[0].rows = NULL;
    kn_free(out->part[0].train);
    out->part[0].train = NULL;
out:
    kn_free(far);
    kn_fold_clear(&f);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* B_f = Y_tr'US and mu of a fold's own completed rows Y, T x P and T, for as long as the maps. */
static kn_status keep_basis(kn_ctx *ctx, const kn_responses *Y, kn_part *part)
{
    kn_status status;
    ptrdiff_t P = part->US.cols, width = kn_at_most(Y->T, KN_BLOCK);
    kn_mat y = {0};
    KN_TRY(kn_mat_new(ctx, Y->N, width, &y));
    KN_TRY(kn_alloc_d(ctx, Y->T, &part->mu));
    if (part->US.data)
        KN_TRY(kn_mat_new(ctx, Y->T, P, &part->B));
    for (ptrdiff_t first = 0; first < Y->T; first += width) {
        kn_mat block = kn_cols(y, 0, kn_at_most(Y->T - first, width));
        kn_responses_block(ctx, Y, first, block);
        for (ptrdiff_t j = 0; j < block.cols; j++)
            for (ptrdiff_t i = 0; i < block.rows; i++)
                part->mu[first + j] += kn_at(block, i, j) / (double)block.rows;
        if (part->US.data)
            kn_gemm(ctx, 1, KN_T, block, KN_N, part->US, 0,
                    kn_sub(part->B, first, 0, block.cols, P));
    }
    kn_mat_clear(&part->US);
out:
    kn_mat_clear(&y);
    return status;
}

/* Coordinates of a fold in a basis that is held, of its completed rows Y (n_train x T). */
static kn_status completed_given(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_fold *f)
{
    kn_status status;
    kn_mat Z = {0};
    ptrdiff_t *train = f->train;
    KN_TRY(kn_span_coordinates(ctx, gp, Y, &Z));
    KN_TRY(kn_alloc_i(ctx, f->n_train, &f->train));
    for (ptrdiff_t i = 0; i < f->n_train; i++)
        f->train[i] = i; /* all rows of Z */
    KN_TRY(kn_fold_given(ctx, Z, f));
    if (gp->spec.noise == KN_NOISE_STRUCTURED)
        KN_TRY(kn_folds_energy(ctx, Y, f, 1));
    if (gp->axes)
        KN_TRY(kn_fold_axes(ctx, gp, sees_signs(gp), f));
out:
    if (f->train != train)
        kn_free(f->train);
    f->train = train;
    kn_mat_clear(&Z);
    return status;
}

/* A fold where responses are missing: its own rows are filled in by themselves [METHOD 0b]. */
static kn_status completed_fold(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, int k,
                                kn_gp_maps *out)
{
    kn_status status;
    kn_fold f = {0};
    kn_part *part = &out->part[k];
    double *filled = NULL;
    kn_responses Y;
    bool signs = gp->pca && sees_signs(gp);
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_fold_rows(ctx, gp->N, problem->fold, k, &f));
    KN_TRY(kn_completion_fold(ctx, problem->completion, f.train, f.n_train, &filled, &Y));
    kn_responses train = kn_responses_rows(&Y, f.train, f.n_train);
    KN_TRY(gp->pca ? kn_fold_completed(ctx, &train, gp->P, &f)
                   : completed_given(ctx, gp, &train, &f));
    if (signs)
        KN_TRY(fold_signs(ctx, &Y, &f));
    KN_TRY(fold_part(ctx, gp, problem->X_alone, &f, part, &out->clamped, out->far));
    train.rows = part->train; /* which took the list over */
    KN_TRY(keep_basis(ctx, &train, part));
    kn_completion_judge(problem->completion, part->train, part->n_train, part->mu);
    kn_free(part->train);
    part->train = NULL;
    kn_tell(ctx, "cross-validation", k + 1, problem->folds, NAN);
out:
    kn_fold_clear(&f);
    kn_free(filled);
    return status;
}

static kn_status completed_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                              kn_gp_maps *out)
{
    kn_status status;
    void *part;
    *out = (kn_gp_maps){.gp = gp, .Y = kn_responses_as_given(problem->Y)};
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof(kn_part), &part));
    out->part = part;
    out->n_parts = problem->folds;
    if (gp->P == 0)
        KN_TRY(kn_alloc_d(ctx, gp->N, &out->far));
    for (int k = 0; k < problem->folds; k++)
        KN_TRY(completed_fold(ctx, gp, problem, k, out));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_components_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_gp_maps *out)
{
    kn_status status = KN_OK;
    if (problem->completion)
        return completed_cv(ctx, gp, problem, out);
    kn_gram own = {0};
    const kn_gram *gram = problem->gram ? problem->gram : &own;
    kn_mat Z = {0};
    kn_fold *f = NULL, **each = NULL;
    void *part = NULL, *memory = NULL, *list = NULL;
    bool signs = gp->pca && sees_signs(gp);
    *out = (kn_gp_maps){.gp = gp, .Y = *problem->Y};
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof(kn_part), &part));
    out->part = part;
    out->n_parts = problem->folds;
    if (gp->P == 0)
        KN_TRY(kn_alloc_d(ctx, gp->N, &out->far));
    if (!gp->pca)
        KN_TRY(kn_span_coordinates(ctx, gp, problem->Y, &Z));
    else if (!problem->gram)
        KN_TRY(kn_gram_new(ctx, problem->Y, &own));
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof *f, &memory));
    f = memory;
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof *each, &list));
    each = list;
    for (int k = 0; k < problem->folds; k++) {
        each[k] = &f[k];
        KN_TRY(kn_fold_rows(ctx, gp->N, problem->fold, k, &f[k]));
        if (!gp->pca)
            KN_TRY(kn_fold_given(ctx, Z, &f[k]));
        if (gp->axes)
            KN_TRY(kn_fold_axes(ctx, gp, sees_signs(gp), &f[k]));
    }
    if (gp->pca)
        KN_TRY(kn_folds_pca(ctx, gram, gp->P, each, problem->folds));
    else if (gp->spec.noise == KN_NOISE_STRUCTURED)
        KN_TRY(kn_folds_energy(ctx, problem->Y, f, problem->folds));
    for (int k = 0; k < problem->folds; k++) {
        KN_TRY(kn_check_cancel(ctx));
        if (signs)
            KN_TRY(fold_signs(ctx, problem->Y, &f[k]));
        KN_TRY(fold_part(ctx, gp, problem->X_alone, &f[k], &out->part[k], &out->clamped, out->far));
        kn_fold_clear(&f[k]);
        kn_tell(ctx, "cross-validation", k + 1, problem->folds, NAN);
    }
out:
    for (int k = 0; f && k < problem->folds; k++)
        kn_fold_clear(&f[k]);
    kn_free(list);
    kn_free(memory);
    kn_mat_clear(&Z);
    kn_gram_clear(&own);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out)
{
    kn_status status = gp->method->cv(ctx, gp, problem, out);
    if (status != KN_OK)
        return status;
    status = lay_out(ctx, gp->N, problem, out);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* A fold of n samples to train on and h held out: what its part keeps. */
static void part_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_need_shape f = *s;
    bool direct = s->method->identity && s->rotated;
    f.N = n;
    f.M = s->M < s->N ? kn_at_most(s->M, n) : n;
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, n, s->F);
    kn_engine_need(r, &f, false, false);
    if (s->rotated)
        kn_hold_d(r, KN_NEED_WORK, direct ? 0 : n, s->P);
    kn_let_go(r, mark);
    if (s->rotated || s->span > 0)
        kn_hold_d(r, KN_NEED_BASIS, s->span > 0 ? s->span : s->P, s->P); /* rotate */
    kn_held kept = r->now;
    kn_latent_need(r, &f);
    kn_hold_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 2 : 1) * (s->F + 2 * (s->P + 1)));
    kn_latent_predict_need(r, &f, h);
    if (direct)
        kn_hold_d(r, KN_NEED_WORK, h, s->P);
    kn_let_go(r, direct ? mark : kept);
    kn_hold_d(r, KN_NEED_WORK, s->P + 1, 1);
    kn_hold_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * (s->P + 1));
}

/* Samples that are held out in fold k. */
static ptrdiff_t fold_size(const kn_need_shape *s, int k)
{
    return s->folds == KN_HELD_OUT_ONCE ? kn_held_out(s->N) : (s->N + s->folds - 1 - k) / s->folds;
}

void kn_components_cv_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held begin, coordinates = r->now, kept;
    ptrdiff_t held = kn_held_out(s->N);
    kn_hold_d(r, KN_NEED_WORK, s->N, 2); /* fold, twice; sample */
    if (s->folds == KN_HELD_OUT_ONCE && !s->given_basis) {
        begin = r->now;
        kn_hold_d(r, KN_NEED_WORK, s->N - held, s->P);
        part_need(r, s, s->N - held, held);
        kn_let_go(r, begin);
        kn_hold_d(r, KN_NEED_WORK, held, (s->sites > 0 ? 3 : 2) * (s->P + 1));
        return;
    }
    begin = r->now;
    if (s->given_basis) {
        ptrdiff_t Q = s->span > 0 ? s->span : s->P;
        kn_hold_d(r, KN_NEED_WORK, s->N, Q);
        if (!s->method->identity)
            kn_project_need(r, s->N, s->T, Q);
        coordinates = r->now;
        kn_hold_d(r, KN_NEED_WORK, s->rotated ? s->N : 0, s->P);
        kn_let_go(r, coordinates);
    }
    coordinates = r->now;
    for (int k = 0; k < s->folds; k++) /* rows and coordinates of all, */
        kn_fold_need(r, s, s->N - fold_size(s, k));
    kn_folds_pca_need(r, s, s->N - fold_size(s, s->folds - 1), s->folds);
    if (s->span > 0) /* one fold after the other turns to its axes */
        kn_fold_axes_need(r, s, s->N - fold_size(s, s->folds - 1));
    for (int k = 0; k < s->folds; k++) { /* of which parts keep all but the coordinates */
        ptrdiff_t h = fold_size(s, k), n = s->N - h;
        part_need(r, s, n, h);
        kept = r->now;
        kn_hold_d(r, KN_NEED_WORK, n, s->P);
        kn_held more = r->now;
        kn_let_go(r, kept);
        kn_let_go_of(r, kept, more);
    }
    kn_let_go_of(r, begin, coordinates);
}
