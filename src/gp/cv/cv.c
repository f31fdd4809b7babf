/* Implements cv.h: principal components of all folds first (fold.h), then one prediction per fold
 * (fold_predict.c) [METHOD 5b]. Hyperparameters stay those of the full fit; only the basis, and
 * what follows from it, is computed anew. */
#include "gp/cv/cv.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "gp/assign_folds.h"
#include "gp/basis/user_span.h"
#include "gp/cv/fold.h"
#include "gp/cv/internal.h"
#include "la/la.h"

/* Records in out which participants the maps are of: fold[] and sample[] (row indices) list
 * those with problem->fold[i] >= 0; sample is NULL if that is all N. KN_ERR_MEMORY only. */
static kn_status set_rows_and_folds(kn_ctx *ctx, ptrdiff_t N, const kn_cv_problem *problem,
                                    kn_gp_maps *out)
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

/* Gives the fold prediction `part` its basis and mean from the held-out set: part->B (T x P) is
 * moved, or, with iso noise (one variance for all responses), becomes B times part->rotate;
 * part->mu (T) is moved. */
static kn_status move_heldout_basis(kn_ctx *ctx, kn_heldout *held_out, ptrdiff_t P,
                                    kn_fold_prediction *part)
{
    kn_status status = KN_OK;
    kn_mat B = kn_cols(held_out->basis.B, 0, P);
    if (part->rotate.data) {
        KN_TRY(kn_mat_new(ctx, B.rows, P, &part->B));
        kn_gemm(ctx, 1, KN_N, B, KN_N, part->rotate, 0, part->B);
        kn_mat_clear(&part->rotate);
    } else {
        part->B = B;
        held_out->basis.B = kn_mat_none();
    }
    part->mu = held_out->mean;
    held_out->mean = NULL;
out:
    return status;
}

kn_status kn_gp_cv_heldout(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_heldout *held_out, kn_gp_maps *out)
{
    kn_status status;
    void *memory;
    double *extrapolation = NULL;
    kn_fold f = {.n_train = held_out->rows.n_train,
                 .n_test = held_out->rows.n_test,
                 .total = held_out->basis.total};
    ptrdiff_t P = gp->P < held_out->basis.Z.cols ? gp->P : held_out->basis.Z.cols;
    *out = (kn_gp_maps){.gp = gp,
                        .Y = kn_responses_as_given(problem->Y),
                        .folds = KN_HELD_OUT_ONCE,
                        .n = f.n_test};
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_fold_prediction), &memory));
    out->part = memory;
    out->n_parts = 1;
    KN_TRY(kn_alloc(ctx, out->n, sizeof(int), &memory));
    out->fold = memory;
    f.train = held_out->rows.train;
    f.test = held_out->rows.test;
    held_out->rows.train = held_out->rows.test = NULL;
    KN_TRY(kn_mat_copy(ctx, kn_cols(held_out->basis.Z, 0, P), &f.Z_train));
    if (gp->P == 0)
        KN_TRY(kn_alloc_d(ctx, gp->N, &extrapolation));
    KN_TRY(kn_fold_prediction_new(ctx, problem, &f, out, 0, extrapolation));
    if (extrapolation) {
        KN_TRY(kn_alloc_d(ctx, out->n, &out->extrapolation));
        for (ptrdiff_t i = 0; i < out->n; i++)
            out->extrapolation[i] = extrapolation[out->part[0].rows[i]];
    }
    KN_TRY(move_heldout_basis(ctx, held_out, P, &out->part[0]));
    out->sample = out->part[0].rows; /* the only part has all rows in order */
    out->part[0].rows = NULL;
    kn_free(out->part[0].train);
    out->part[0].train = NULL;
out:
    kn_free(extrapolation);
    kn_fold_clear(&f);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Rows of all folds first, then their components together, then one prediction after the other. */
kn_status kn_components_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                           kn_gp_maps *out)
{
    kn_status status = KN_OK;
    if (problem->completion)
        return kn_completed_cv(ctx, gp, problem, out);
    kn_gram own = {0};
    const kn_gram *gram = problem->gram ? problem->gram : &own;
    kn_mat Z = {0};
    kn_fold *f = NULL, **each = NULL;
    void *memory = NULL, *list = NULL;
    bool signs = gp->pca && kn_gp_depends_on_signs(gp);
    KN_TRY(kn_gp_maps_folds(ctx, gp, *problem->Y, problem->folds, out));
    if (!gp->pca)
        KN_TRY(kn_user_span_coordinates(ctx, gp, problem->Y, &Z));
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
            KN_TRY(kn_fold_axes(ctx, gp, kn_gp_depends_on_signs(gp), &f[k]));
    }
    if (gp->pca)
        KN_TRY(kn_folds_pca(ctx, problem->Y, gram, gp->P, each, problem->folds));
    else if (gp->spec.noise == KN_NOISE_STRUCTURED)
        KN_TRY(kn_folds_energy(ctx, problem->Y, f, problem->folds));
    for (int k = 0; k < problem->folds; k++) {
        KN_TRY(kn_comm_agree_status(ctx, kn_check_cancel(ctx)));
        if (signs)
            KN_TRY(kn_fold_signs(ctx, problem->Y, &f[k]));
        KN_TRY(kn_fold_prediction_new(ctx, problem, &f[k], out, k, out->extrapolation));
        kn_fold_clear(&f[k]);
        kn_report_progress(ctx, "cross-validation", k + 1, problem->folds, NAN);
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
    status = set_rows_and_folds(ctx, gp->N, problem, out);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Returns the number of participants that fold k of s->folds holds out of s->N, or the size of
 * the single held-out set. */
static ptrdiff_t fold_size(const kn_problem_size *s, int k)
{
    return s->folds == KN_HELD_OUT_ONCE ? kn_held_out(s->N) : (s->N + s->folds - 1 - k) / s->folds;
}

void kn_components_cv_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin, coordinates = r->now, kept;
    ptrdiff_t held_out = kn_held_out(s->N);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2); /* fold twice, sample */
    if (s->folds == KN_HELD_OUT_ONCE && !s->given_basis) {
        begin = r->now;
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N - held_out, s->P);
        kn_fold_prediction_need(r, s, s->N - held_out, held_out);
        kn_plan_free_to(r, begin);
        kn_plan_alloc_d(r, KN_NEED_WORK, held_out, (s->sites > 0 ? 3 : 2) * (s->P + 1));
        return;
    }
    begin = r->now;
    if (s->given_basis) {
        ptrdiff_t Q = s->span > 0 ? s->span : s->P;
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, Q);
        if (!s->method->identity)
            kn_project_need(r, s->N, s->T, Q);
        coordinates = r->now;
        kn_plan_alloc_d(r, KN_NEED_WORK, s->rotated ? s->N : 0, s->P);
        kn_plan_free_to(r, coordinates);
    }
    coordinates = r->now;
    for (int k = 0; k < s->folds; k++) /* rows and coordinates of all folds, */
        kn_fold_need(r, s, s->N - fold_size(s, k));
    kn_folds_pca_need(r, s, s->N - fold_size(s, s->folds - 1), s->folds);
    if (s->span > 0) /* folds find their principal axes one after the other */
        kn_fold_axes_need(r, s, s->N - fold_size(s, s->folds - 1));
    for (int k = 0; k < s->folds; k++) { /* the parts keep all of it but the coordinates */
        ptrdiff_t h = fold_size(s, k), n = s->N - h;
        kn_fold_prediction_need(r, s, n, h);
        kept = r->now;
        kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P);
        kn_mem_usage more = r->now;
        kn_plan_free_to(r, kept);
        kn_plan_free(r, kept, more);
    }
    kn_plan_free(r, begin, coordinates);
}
