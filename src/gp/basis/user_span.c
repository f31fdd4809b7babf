/* Implements user_span.h: eigenvectors of Z'Z (Q x Q) for the fit and for every fold. */
#include "gp/basis/user_span.h"

#include <float.h>
#include <math.h>

#include "gp/likelihood/eig_broadcast.h"
#include "gp/predict/prediction_blocks.h"
#include "la/la.h"

typedef kn_status eig(kn_ctx *ctx, kn_mat S, double *w);

/* V (Q x rank): the leading axes of Z, at most P; P = 0: all with variance above rounding. */
static kn_status axes_of(kn_ctx *ctx, kn_mat Z, ptrdiff_t P, eig *solve, kn_mat *V)
{
    kn_status status;
    kn_mat S = {0};
    double *w = NULL;
    ptrdiff_t Q = Z.cols, rank = 0, most = P > 0 ? P : Q;
    KN_TRY(kn_alloc_d(ctx, Q, &w));
    KN_TRY(kn_mat_new(ctx, Q, Q, &S));
    kn_syrk(ctx, 1, KN_T, Z, 0, S);
    KN_TRY(solve(ctx, S, w));
    double rounding = w[Q - 1] * DBL_EPSILON * (double)(Z.rows + Q);
    while (rank < kn_min_size(most, Q) && w[Q - 1 - rank] > rounding)
        rank++;
    KN_TRY(kn_mat_new(ctx, Q, rank, V));
    for (ptrdiff_t p = 0; p < rank; p++)
        kn_mat_set(kn_cols(*V, p, 1), kn_cols(S, Q - 1 - p, 1));
out:
    kn_mat_clear(&S);
    kn_free(w);
    return status;
}

/* *M <- *M V. If V has fewer columns than *M, *M gets new memory and *before (owned by the caller)
 * the old matrix; else in place. */
static kn_status turn(kn_ctx *ctx, kn_mat *M, kn_mat V, kn_mat *before)
{
    kn_mat fewer = {0};
    if (V.cols == M->cols)
        return kn_rotate(ctx, M, V);
    kn_status status = kn_mat_new(ctx, M->rows, V.cols, &fewer);
    if (status != KN_OK)
        return status;
    kn_gemm(ctx, 1, KN_N, *M, KN_N, V, 0, fewer);
    *before = *M;
    *M = fewer;
    return KN_OK;
}

kn_status kn_user_span_axes(kn_ctx *ctx, kn_basis *b, ptrdiff_t P, kn_mat *span)
{
    kn_status status;
    kn_mat V = {0}, Z = {0};
    *span = kn_mat_none();
    KN_TRY(axes_of(ctx, b->Z, P, kn_eig_shared, &V));
    if (V.cols == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies inside the basis");
        goto out;
    }
    KN_TRY(turn(ctx, &b->B, V, span));
    KN_TRY(turn(ctx, &b->Z, V, &Z));
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    kn_basis_fix_signs(b);
out:
    kn_mat_clear(&Z);
    kn_mat_clear(&V);
    if (status != KN_OK)
        kn_mat_clear(span);
    return status;
}

kn_status kn_user_span_given(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                             kn_fit_info *info)
{
    static const double SHARED = 0.5;
    kn_status status;
    KN_TRY(kn_basis_given(ctx, &p->Y, p->options->basis, basis));
    info->basis_columns = basis->B.cols;
    info->basis_constant = kn_user_span_constant(basis->B);
    if (info->basis_constant < SHARED)
        kn_log(ctx, KN_LOG_WARNING,
               "the basis holds %.0f %% of a shift of all responses alike: effects that all "
               "responses share are taken for noise (add a constant column)",
               100 * info->basis_constant);
    if (!p->options->axes_given) {
        KN_TRY(kn_user_span_axes(ctx, basis, gp->P, &gp->span));
        if (gp->P > 0)
            KN_TRY(kn_basis_check(ctx, &p->Y, gp->P, basis->B.cols));
    }
    gp->axes = !p->options->axes_given;
    gp->P = basis->B.cols;
out:
    return status;
}

double kn_user_span_constant(kn_mat B)
{
    double inside = 0;
    for (ptrdiff_t p = 0; p < B.cols; p++) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < B.rows; j++)
            sum += kn_at(B, j, p);
        inside += sum * sum / (double)B.rows;
    }
    return fmin(inside, 1);
}

kn_mat kn_user_span_fixed(const kn_gp *gp)
{
    return gp->span.data ? gp->span : kn_cols(gp->B, 0, gp->P);
}

kn_status kn_user_span_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat *Z)
{
    kn_status status;
    kn_mat rotated = {0}, held = kn_user_span_fixed(gp);
    double total;
    KN_TRY(kn_mat_new(ctx, Y->N, gp->spec.identity ? gp->P : held.cols, Z));
    if (gp->spec.identity)
        kn_responses_block(ctx, Y, 0, *Z);
    else
        KN_TRY(kn_project(ctx, Y, NULL, held, *Z, &total));
    if (gp->UC.data && !gp->span.data) {
        KN_TRY(kn_mat_copy(ctx, *Z, &rotated));
        kn_gemm(ctx, 1, KN_N, rotated, KN_T, gp->UC, 0, *Z);
    }
out:
    kn_mat_clear(&rotated);
    return status;
}

kn_status kn_user_span_rotation(kn_ctx *ctx, const kn_gp *gp, kn_mat V, kn_mat UC, kn_mat *rotate)
{
    kn_status status;
    kn_mat own = {0}, from = V;
    if (UC.data) {
        KN_TRY(kn_mat_new(ctx, V.rows, UC.cols, &own));
        kn_gemm(ctx, 1, KN_N, V, KN_N, UC, 0, own);
        from = own;
    }
    KN_TRY(kn_mat_copy(ctx, from, rotate));
    if (gp->UC.data && !gp->span.data)
        kn_gemm(ctx, 1, KN_T, gp->UC, KN_N, from, 0, *rotate);
out:
    kn_mat_clear(&own);
    return status;
}

/* Applies the sign rule to the axes of a fold: a task covariance that is not spectral depends on
 * the signs of components [METHOD 9.10]. */
static kn_status fix_signs(kn_ctx *ctx, const kn_gp *gp, kn_fold *f)
{
    kn_status status;
    kn_mat rotate = {0}, strip = {0}, held = kn_user_span_fixed(gp);
    double *top = NULL;
    ptrdiff_t rows = kn_min_size(held.rows, KN_BLOCK);
    KN_TRY(kn_user_span_rotation(ctx, gp, f->V, kn_mat_none(), &rotate));
    KN_TRY(kn_mat_new(ctx, rows, rotate.cols, &strip));
    KN_TRY(kn_alloc_d(ctx, rotate.cols, &top));
    for (ptrdiff_t i = 0; i < held.rows; i += rows) {
        ptrdiff_t n = kn_min_size(held.rows - i, rows);
        kn_mat B = kn_sub(strip, 0, 0, n, strip.cols);
        kn_gemm(ctx, 1, KN_N, kn_sub(held, i, 0, n, held.cols), KN_N, rotate, 0, B);
        for (ptrdiff_t p = 0; p < B.cols; p++)
            for (ptrdiff_t j = 0; j < n; j++)
                if (fabs(kn_at(B, j, p)) > fabs(top[p]))
                    top[p] = kn_at(B, j, p);
    }
    for (ptrdiff_t p = 0; p < f->V.cols; p++) {
        if (top[p] >= 0)
            continue;
        for (ptrdiff_t q = 0; q < f->V.rows; q++)
            kn_col(f->V, p)[q] *= -1;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            kn_col(f->Z_train, p)[i] *= -1;
    }
out:
    kn_free(top);
    kn_mat_clear(&strip);
    kn_mat_clear(&rotate);
    return status;
}

kn_status kn_fold_axes(kn_ctx *ctx, const kn_gp *gp, bool signs, kn_fold *f)
{
    kn_status status;
    kn_mat before = {0};
    KN_TRY(axes_of(ctx, f->Z_train, gp->P, kn_eig, &f->V));
    if (f->V.cols == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies within the training part of a fold");
        goto out;
    }
    KN_TRY(turn(ctx, &f->Z_train, f->V, &before));
    if (signs)
        KN_TRY(fix_signs(ctx, gp, f));
out:
    kn_mat_clear(&before);
    return status;
}

/* Memory plan of axes_of for N participants; V is kept. */
static void axes_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->P);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->span + 1);
    kn_eig_need(r, KN_NEED_WORK, s->span);
    kn_plan_free_to(r, mark);
}

/* Memory plan of turn for n rows: a new matrix (kept), or in place by strips. */
static void turn_need(kn_mem_plan *r, kn_mem_category part, const kn_problem_size *s, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    if (s->P < s->span) {
        kn_plan_alloc_d(r, part, n, s->P);
        return;
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(n, KN_BLOCK), s->span);
    kn_plan_free_to(r, mark);
}

void kn_user_span_axes_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now, axes;
    axes_need(r, s);
    axes = r->now;
    turn_need(r, KN_NEED_BASIS, s, s->T);
    turn_need(r, KN_NEED_WORK, s, s->N);
    kn_plan_free(r, begin, axes);
}

void kn_fold_axes_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    axes_need(r, s);
    turn_need(r, KN_NEED_WORK, s, n);
    kn_plan_free_to(r, mark);
}

void kn_user_span_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size all = *s;
    kn_mem_usage begin = r->now, given;
    all.P = s->span;
    kn_basis_need(r, &all);
    given = r->now;
    kn_user_span_axes_need(r, s);
    if (s->P < s->span) { /* their coordinates are freed */
        kn_plan_free(r, begin, given);
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->span);
    }
}
