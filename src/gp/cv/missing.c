/* Cross-validation with missing cells: imputes, decomposes and predicts one fold after the other.
 * Cells are imputed from the training participants of the fold alone. */
#include "gp/cv/internal.h"

#include <math.h>

#include "gp/basis/user_span.h"
#include "gp/cv/fold.h"
#include "gp/missing/completion.h"
#include "la/la.h"

/* Stores B_f = Y_tr'US (T x P) and the mean mu (T) of the imputed training rows Y (n_train x T)
 * in the fold prediction, because the imputed rows are not kept; frees US. Reads Y once. */
static kn_status keep_basis(kn_ctx *ctx, const kn_responses *Y, kn_fold_prediction *part)
{
    kn_status status;
    ptrdiff_t P = part->US.cols, width = kn_min_size(Y->T, KN_BLOCK);
    kn_mat y = {0};
    KN_TRY(kn_mat_new(ctx, Y->N, width, &y));
    KN_TRY(kn_alloc_d(ctx, Y->T, &part->mu));
    if (part->US.data)
        KN_TRY(kn_mat_new(ctx, Y->T, P, &part->B));
    for (ptrdiff_t first = 0; first < Y->T; first += width) {
        kn_mat block = kn_cols(y, 0, kn_min_size(Y->T - first, width));
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

/* Computes f->Z_train of a fold in a fixed basis from its imputed training rows Y (n_train x T);
 * also f->total with structured noise, and the principal axes if the model has them. Collective. */
static kn_status project_imputed_fold(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y,
                                      kn_fold *f)
{
    kn_status status;
    kn_mat Z = {0};
    ptrdiff_t *train = f->train;
    KN_TRY(kn_user_span_coordinates(ctx, gp, Y, &Z));
    KN_TRY(kn_alloc_i(ctx, f->n_train, &f->train));
    for (ptrdiff_t i = 0; i < f->n_train; i++)
        f->train[i] = i; /* all rows of Z */
    KN_TRY(kn_fold_given(ctx, Z, f));
    if (gp->spec.noise == KN_NOISE_STRUCTURED)
        KN_TRY(kn_folds_energy(ctx, Y, f, 1));
    if (gp->axes)
        KN_TRY(kn_fold_axes(ctx, gp, kn_gp_depends_on_signs(gp), f));
out:
    if (f->train != train)
        kn_free(f->train);
    f->train = train;
    kn_mat_clear(&Z);
    return status;
}

/* Predicts fold k if cells are missing: imputes its training rows from themselves alone, finds
 * their components, fits, and predicts the held-out rows into out->part[k] [METHOD 0b].
 * Collective. */
static kn_status predict_imputed_fold(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                                      int k, kn_gp_maps *out)
{
    kn_status status;
    kn_fold f = {0};
    kn_fold_prediction *part = &out->part[k];
    double *imputed = NULL;
    kn_responses Y;
    bool signs = gp->pca && kn_gp_depends_on_signs(gp);
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_fold_rows(ctx, gp->N, problem->fold, k, &f));
    KN_TRY(kn_completion_fold(ctx, problem->completion, f.train, f.n_train, &imputed, &Y));
    kn_responses train = kn_responses_rows(&Y, f.train, f.n_train);
    KN_TRY(gp->pca ? kn_fold_completed(ctx, &train, gp->P, &f)
                   : project_imputed_fold(ctx, gp, &train, &f));
    if (signs)
        KN_TRY(kn_fold_signs(ctx, &Y, &f));
    KN_TRY(kn_fold_prediction_new(ctx, problem, &f, out, k, out->extrapolation));
    train.rows = part->train; /* moved to the part */
    if (!part->mu)
        KN_TRY(keep_basis(ctx, &train, part));
    kn_completion_reject_sparse(problem->completion, part->train, part->n_train, part->mu);
    kn_free(part->train);
    part->train = NULL;
    kn_report_progress(ctx, "cross-validation", k + 1, problem->folds, NAN);
out:
    kn_fold_clear(&f);
    kn_free(imputed);
    return status;
}

kn_status kn_completed_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                          kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(kn_gp_maps_folds(ctx, gp, kn_responses_as_given(problem->Y), problem->folds, out));
    for (int k = 0; k < problem->folds; k++)
        KN_TRY(predict_imputed_fold(ctx, gp, problem, k, out));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}
