/* Implements user_span.h: eigenvectors of Z'Z (Q x Q). The components of a given basis may be its
 * columns or its principal axes. */
#include "gp/basis/user_span.h"

#include <float.h>
#include <math.h>

#include "gp/basis/internal.h"
#include "la/la.h"

kn_status kn_leading_axes(kn_ctx *ctx, kn_mat Z, ptrdiff_t P, bool shared, kn_mat *V)
{
    kn_status status;
    kn_mat S = {0};
    double *w = NULL;
    ptrdiff_t Q = Z.cols, rank = 0, limit = P > 0 ? P : Q;
    KN_TRY(kn_alloc_d(ctx, Q, &w));
    KN_TRY(kn_mat_new(ctx, Q, Q, &S));
    kn_syrk(ctx, 1, KN_T, Z, 0, S);
    KN_TRY(shared ? kn_eig_on_root(ctx, S, w) : kn_eig(ctx, S, w));
    double rounding = w[Q - 1] * DBL_EPSILON * (double)(Z.rows + Q);
    while (rank < kn_min_size(limit, Q) && w[Q - 1 - rank] > rounding)
        rank++;
    KN_TRY(kn_mat_new(ctx, Q, rank, V));
    for (ptrdiff_t p = 0; p < rank; p++)
        kn_mat_set(kn_cols(*V, p, 1), kn_cols(S, Q - 1 - p, 1));
out:
    kn_mat_clear(&S);
    kn_free(w);
    return status;
}

kn_status kn_rotate_to_axes(kn_ctx *ctx, kn_mat *M, kn_mat V, kn_mat *before)
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
    KN_TRY(kn_leading_axes(ctx, b->Z, P, true, &V));
    if (V.cols == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies inside the basis");
        goto out;
    }
    KN_TRY(kn_rotate_to_axes(ctx, &b->B, V, span));
    KN_TRY(kn_rotate_to_axes(ctx, &b->Z, V, &Z));
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    kn_basis_fix_signs(b);
out:
    kn_mat_clear(&Z);
    kn_mat_clear(&V);
    if (status != KN_OK)
        kn_mat_clear(span);
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
    kn_mat rotated = {0}, fixed = kn_user_span_fixed(gp);
    double total;
    KN_TRY(kn_mat_new(ctx, Y->N, gp->spec.identity ? gp->P : fixed.cols, Z));
    if (gp->spec.identity)
        kn_responses_block(ctx, Y, 0, *Z);
    else
        KN_TRY(kn_project(ctx, Y, NULL, fixed, *Z, &total));
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

void kn_leading_axes_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->P);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->span + 1);
    kn_eig_need(r, KN_NEED_WORK, s->span);
    kn_plan_free_to(r, mark);
}

void kn_rotate_to_axes_need(kn_mem_plan *r, kn_mem_category part, const kn_problem_size *s,
                            ptrdiff_t n)
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
    kn_leading_axes_need(r, s);
    axes = r->now;
    kn_rotate_to_axes_need(r, KN_NEED_BASIS, s, s->T);
    kn_rotate_to_axes_need(r, KN_NEED_WORK, s, s->N);
    kn_plan_free(r, begin, axes);
}
