/* Leave-one-out with whitened noise at fixed psi and B [METHOD 5, 1f].
 *
 *     K0 = c0 R0 + d0 I     S = I - diag(K0^-1)^-1 K0^-1     mean = [L B' + S Yw] Psi^1/2
 *     L = mean_lat - S Z                                     (S Yw Psi^1/2 = S Y) */
#include "gp/methods/smtgpr/internal.h"

#include "gp/basis/complement.h"
#include "gp/predict/loo.h"
#include "la/la.h"

/* Computes out = K0^-1 (N x N), the inverse of c0 R0 + d0 I of the directions outside the
 * components: U diag(1/k) U', or, with directions outside U (low rank), U diag(1/k - 1/d0) U' +
 * I/d0. */
static kn_status invert_covariance(kn_ctx *ctx, const kn_latent *l, kn_mat out)
{
    kn_status status = KN_OK;
    const kn_decomp *R0 = &l->cell[0].R0;
    bool low = kn_decomp_is_low(R0);
    double c0 = l->c[l->P - 1], d0 = l->d[l->P - 1];
    kn_mat U = {0}, UK = {0};
    KN_TRY(kn_mat_new(ctx, l->X.rows, R0->m, &U));
    KN_TRY(kn_mat_new(ctx, l->X.rows, R0->m, &UK));
    if (low)
        KN_TRY(kn_decomp_vectors(ctx, R0, NULL, l->X, U));
    else
        kn_mat_set(U, R0->U);
    for (ptrdiff_t k = 0; k < R0->m; k++) {
        double K = c0 * R0->r[k] + d0, v = low ? -c0 * R0->r[k] / (K * d0) : 1 / K;
        for (ptrdiff_t i = 0; i < U.rows; i++)
            kn_col(UK, k)[i] = v * kn_at(U, i, k);
    }
    kn_gemm(ctx, 1, KN_N, UK, KN_T, U, 0, out);
    for (ptrdiff_t i = 0; low && i < out.rows; i++)
        kn_col(out, i)[i] += 1 / d0;
out:
    kn_mat_clear(&U);
    kn_mat_clear(&UK);
    return status;
}

/* Sets the leave-one-out smoother part->smooth (N x N, zero diagonal) of the directions outside
 * the components, and subtracts its effect inside them, smooth Z, from part->mean. Z: N x P. */
static kn_status compute_smoother(kn_ctx *ctx, const kn_latent *l, kn_mat Z,
                                  kn_fold_prediction *part)
{
    kn_status status;
    ptrdiff_t N = l->X.rows;
    KN_TRY(kn_mat_new(ctx, N, N, &part->smooth));
    KN_TRY(invert_covariance(ctx, l, part->smooth));
    for (ptrdiff_t i = 0; i < N; i++) {
        double own = kn_at(part->smooth, i, i);
        for (ptrdiff_t j = 0; j < N; j++)
            kn_col(part->smooth, j)[i] = i == j ? 0 : -kn_at(part->smooth, i, j) / own;
    }
    kn_gemm(ctx, -1, KN_N, part->smooth, KN_N, Z, 1, kn_cols(part->mean, 0, Z.cols));
out:
    return status;
}

kn_status kn_whitened_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(kn_gp_maps_one_part(ctx, gp, gp->N, out));
    KN_TRY(kn_mat_new(ctx, gp->N, gp->latent.P, &Z)); /* Z = 0 for the complement */
    KN_TRY(kn_gp_coordinates(ctx, gp, Y, kn_cols(Z, 0, gp->P)));
    KN_TRY(kn_latent_loo(ctx, &gp->latent, KN_LEAVE_ROW, Z, out->part[0].mean, out->part[0].var,
                         &out->clamped));
    if (gp->complement_component && kn_complement_count(&gp->latent) > 0)
        KN_TRY(compute_smoother(ctx, &gp->latent, kn_cols(Z, 0, gp->P), &out->part[0]));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

void kn_whitened_loo_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->N);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P + 1);
    kn_mem_usage Z = r->now;
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P); /* B Psi^-1/2 */
    kn_plan_free_to(r, Z);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, 2 * s->M);
    if (s->M < s->N)
        kn_lowrank_vectors_need(r, s);
    kn_plan_free_to(r, mark);
}
