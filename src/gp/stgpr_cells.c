#include "gp/stgpr_cells.h"

#include "gp/profile.h"
#include "la/la.h"

void kn_stgpr_clear(kn_stgpr *s)
{
    kn_mat_clear(&s->cells);
    kn_mat_clear(&s->alpha);
    kn_free(s->cell);
    kn_free(s->c);
    kn_free(s->delta);
    kn_free(s->d);
    kn_free(s->lml);
    *s = (kn_stgpr){0};
}

kn_status kn_stgpr_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, kn_stgpr *out)
{
    kn_status status;
    *out = (kn_stgpr){0};
    KN_TRY(kn_alloc_d(ctx, T, &out->cell));
    KN_TRY(kn_alloc_d(ctx, T, &out->c));
    KN_TRY(kn_alloc_d(ctx, T, &out->delta));
    KN_TRY(kn_alloc_d(ctx, T, &out->d));
    KN_TRY(kn_alloc_d(ctx, T, &out->lml));
    KN_TRY(kn_mat_new(ctx, N, T, &out->alpha));
out:
    if (status != KN_OK)
        kn_stgpr_clear(out);
    return status;
}

void kn_cell_groups_clear(kn_cell_groups *g)
{
    kn_free(g->order);
    kn_free(g->start);
    *g = (kn_cell_groups){0};
}

kn_status kn_cell_groups_new(kn_ctx *ctx, const kn_stgpr *s, ptrdiff_t first, ptrdiff_t count,
                             kn_cell_groups *out)
{
    kn_status status;
    ptrdiff_t n = s->cells.rows;
    *out = (kn_cell_groups){0};
    KN_TRY(kn_alloc_i(ctx, count, &out->order));
    KN_TRY(kn_alloc_i(ctx, n + 2, &out->start));
    for (ptrdiff_t j = first; j < first + count; j++) /* counting sort, stable */
        out->start[(ptrdiff_t)s->cell[j] + 2]++;
    for (ptrdiff_t k = 2; k < n + 2; k++)
        out->start[k] += out->start[k - 1];
    for (ptrdiff_t j = first; j < first + count; j++)
        out->order[out->start[(ptrdiff_t)s->cell[j] + 1]++] = j;
out:
    if (status != KN_OK)
        kn_cell_groups_clear(out);
    return status;
}

void kn_cell_work_clear(kn_cell_work *w)
{
    kn_decomp_clear(&w->R0);
    kn_mat_clear(&w->Y);
    kn_mat_clear(&w->A);
    kn_mat_clear(&w->A2);
    kn_free(w->c);
    kn_free(w->d);
    kn_free(w->lml);
    *w = (kn_cell_work){0};
}

kn_status kn_cell_work_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, ptrdiff_t width,
                           kn_cell_work *out)
{
    kn_status status;
    *out = (kn_cell_work){.width = width};
    KN_TRY(kn_decomp_new(ctx, N, cov, &out->R0));
    KN_TRY(kn_mat_new(ctx, N, width, &out->Y));
    KN_TRY(kn_mat_new(ctx, N, width, &out->A));
    KN_TRY(kn_mat_new(ctx, N, width, &out->A2));
    KN_TRY(kn_alloc_d(ctx, width, &out->c));
    KN_TRY(kn_alloc_d(ctx, width, &out->d));
    KN_TRY(kn_alloc_d(ctx, width, &out->lml));
out:
    if (status != KN_OK)
        kn_cell_work_clear(out);
    return status;
}

kn_status kn_cell_decompose(kn_ctx *ctx, kn_cell_work *w, const kn_pairs *pairs, double rho,
                            double length)
{
    double theta[KN_COV_THETA];
    kn_cov_point at = kn_cov_at_rho(&w->R0.cov, rho, length);
    kn_cov_theta(&w->R0.cov, &at, theta);
    return kn_decomp_compute(ctx, &w->R0, pairs, NULL, theta);
}

kn_status kn_cell_fit(kn_ctx *ctx, kn_cell_work *w, kn_mat Y, double nats)
{
    kn_mat A = kn_cols(w->A, 0, Y.cols), A2 = kn_cols(w->A2, 0, Y.cols);
    kn_gemm(ctx, 1, KN_T, w->R0.U, KN_N, Y, 0, A); /* A = U'Y   m x n */
    for (ptrdiff_t j = 0; j < Y.cols; j++)
        for (ptrdiff_t i = 0; i < w->R0.m; i++)
            kn_col(A2, j)[i] = kn_at(A, i, j) * kn_at(A, i, j);
    return kn_profile_within(ctx, nats, w->R0.m, w->R0.r, w->R0.N - w->R0.m, A2, NULL, w->c, w->d,
                             w->lml);
}

void kn_cell_alpha(kn_ctx *ctx, kn_cell_work *w, ptrdiff_t n, kn_mat alpha)
{
    kn_mat A = kn_cols(w->A, 0, n);
    for (ptrdiff_t j = 0; j < n; j++) {
        double c = w->c[j], d = w->d[j];
        for (ptrdiff_t i = 0; i < w->R0.m; i++)
            kn_col(A, j)[i] *= c > 0 ? c / (c * w->R0.r[i] + d) : 0;
    }
    kn_gemm(ctx, 1, KN_N, w->R0.U, KN_N, A, 0, alpha);
}

void kn_cell_work_need(kn_rehearsal *r, ptrdiff_t n, ptrdiff_t width)
{
    for (int k = 0; k < 3; k++)
        kn_hold_d(r, KN_NEED_WORK, n, width);
    kn_hold_d(r, KN_NEED_WORK, width, 3);
    kn_decomp_need(r, n);
    kn_profile_need(r, n, width);
}
