/* Implements refit.h. Responses of a fold's training participants are copied to their own block. */
#include "gp/cv/refit.h"

#include <math.h>

#include "gp/block_visitor.h"
#include "gp/missing/completion.h"

/* Block visitor (self: mu, T doubles): writes the mean over participants of each response of the
 * block. */
static kn_status average_block(kn_ctx *ctx, void *self, kn_block *b)
{
    double *mu = self;
    (void)ctx;
    for (ptrdiff_t j = 0; j < b->count; j++) {
        const double *y = kn_col(b->y, j);
        double sum = 0;
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            sum += y[i];
        mu[b->first + j] = sum / (double)b->y.rows;
    }
    return KN_OK;
}

/* Copies n rows of X, given by index, to *out (n x F), which the caller owns; an empty X gives
 * an empty matrix. */
static kn_status copy_rows(kn_ctx *ctx, kn_mat X, const ptrdiff_t *rows, ptrdiff_t n, kn_mat *out)
{
    if (!X.data)
        return KN_OK;
    kn_status status = kn_mat_new(ctx, n, X.cols, out);
    if (status == KN_OK)
        kn_mat_rows(X, rows, *out);
    return status;
}

kn_status kn_refit_open(kn_ctx *ctx, const kn_refit_all *all, kn_refit *r)
{
    kn_status status;
    kn_responses Y = *all->Y;
    kn_fold *f = &r->rows;
    KN_TRY(kn_fold_rows(ctx, Y.N, all->fold, r->number, f));
    if (all->completion)
        KN_TRY(kn_completion_fold(ctx, all->completion, f->train, f->n_train, &r->imputed, &Y));
    r->n = f->n_train;
    r->train = f->train;
    r->Y = kn_responses_rows(&Y, f->train, f->n_train);
    KN_TRY(kn_alloc_d(ctx, Y.T, &r->mu));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = r->Y},
                             &(kn_visitor){r->mu, KN_BLOCK_Y, NULL, average_block, NULL}, 1));
    KN_TRY(copy_rows(ctx, all->X, f->train, f->n_train, &r->X));
    KN_TRY(copy_rows(ctx, all->X, f->test, f->n_test, &r->Xs));
    KN_TRY(copy_rows(ctx, all->X_without_site, f->test, f->n_test, &r->X_without_site));
    KN_TRY(kn_groups_subset(ctx, all->groups, f->train, f->n_train, &r->groups));
out:
    return status;
}

void kn_refit_close(kn_refit *r)
{
    kn_groups_clear(&r->groups);
    kn_free(r->extrapolation);
    kn_free(r->mu);
    kn_mat_clear(&r->X);
    kn_mat_clear(&r->Xs);
    kn_mat_clear(&r->X_without_site);
    kn_fold_clear(&r->rows);
    kn_free(r->imputed);
}

/* Refits one fold with `fit`: opens it (kn_refit_open), lets `fit` predict into
 * out->part[r->number], copies the extrapolation of its held-out rows, moves row lists and mean
 * to the part, and closes it. Collective. */
static kn_status refit_fold(kn_ctx *ctx, const kn_cv_problem *problem, kn_refit_fn fit, kn_refit *r,
                            kn_gp_maps *out)
{
    kn_status status;
    const kn_latent *l = &r->gp->latent;
    kn_fold_prediction *part = &out->part[r->number];
    kn_fold *f = &r->rows;
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_refit_open(ctx,
                         &(kn_refit_all){problem->fold, problem->Y, problem->completion, l->X,
                                         problem->X_without_site, &l->groups},
                         r));
    if (out->extrapolation)
        KN_TRY(kn_alloc_d(ctx, f->n_test, &r->extrapolation));
    part->n = f->n_test;
    part->n_train = f->n_train;
    KN_TRY(fit(ctx, r, part, &out->clamped));
    for (ptrdiff_t i = 0; r->extrapolation && i < f->n_test; i++)
        out->extrapolation[f->test[i]] = r->extrapolation[i];
    part->rows = f->test;
    f->test = NULL;
    part->mu = r->mu;
    r->mu = NULL;
    if (problem->completion)
        kn_completion_reject_sparse(problem->completion, f->train, f->n_train, part->mu);
    kn_report_progress(ctx, "cross-validation", r->number + 1, problem->folds, NAN);
out:
    kn_refit_close(r);
    return status;
}

kn_status kn_refit_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_refit_fn fit,
                      kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(kn_gp_maps_folds(ctx, gp, kn_responses_as_given(problem->Y), problem->folds, out));
    for (int k = 0; k < problem->folds; k++)
        KN_TRY(refit_fold(ctx, problem, fit, &(kn_refit){.gp = gp, .number = k}, out));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

void kn_refit_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2); /* rows */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1); /* mu */
    kn_plan_alloc_d(r, KN_NEED_WORK, n, s->F);
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 2 : 1) * s->F);
    kn_mem_usage mark = r->now;
    kn_block_loop_need(r, n, kn_block_loop_width(0, s->T), KN_BLOCK_Y);
    kn_plan_free_to(r, mark);
}
