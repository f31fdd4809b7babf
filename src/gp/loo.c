#include "gp/loo.h"

#include "cov/lowrank.h"
#include "gp/basis.h"
#include "gp/method.h"
#include "la/la.h"

/* With directions outside U, k_ip = sum_n U_in^2 (1/k_np - 1/d_p) + 1/d_p and
 * q = U (A (1/k - 1/d)) + z/d                                                        [METHOD 6a] */
kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_mat Z, kn_mat mean, kn_mat variance,
                        double *clamped)
{
    kn_status status;
    kn_mat U = {0}, inverse = {0}, Yt = {0};
    ptrdiff_t N = l->X.rows, m = l->R0.m, P = l->A.cols;
    bool low = l->R0.n_pivots > 0;
    KN_TRY(kn_mat_new(ctx, m, P, &inverse));
    KN_TRY(kn_mat_new(ctx, m, P, &Yt));
    if (low) {
        KN_TRY(kn_mat_new(ctx, N, m, &U));
        KN_TRY(kn_decomp_vectors(ctx, &l->R0, l->X, U));
    } else {
        KN_TRY(kn_mat_copy(ctx, l->R0.U, &U));
    }
    kn_latent_inverse(l, inverse, kn_mat_none());
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < m; i++) {
            if (low) /* 1/k - 1/d = -c r/(k d) */
                kn_col(inverse, p)[i] *= -l->c[p] * l->R0.r[i] / l->d[p];
            kn_col(Yt, p)[i] = kn_at(l->A, i, p) * kn_at(inverse, i, p);
        }
    kn_gemm(ctx, 1, KN_N, U, KN_N, Yt, 0, mean); /* q   N x P */
    kn_latent_square(U);
    kn_gemm(ctx, 1, KN_N, U, KN_N, inverse, 0, variance); /* k   N x P */
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < N; i++) {
            double k = kn_at(variance, i, p) + (low ? 1 / l->d[p] : 0);
            double q = kn_at(mean, i, p) + (low ? kn_at(Z, i, p) / l->d[p] : 0);
            double v = 1 / k - l->d[p] + l->c[p] * l->iso;
            kn_col(mean, p)[i] = kn_at(Z, i, p) - q / k;
            kn_col(variance, p)[i] = kn_at_least_zero(v, 1 / k, clamped);
        }
out:
    kn_mat_clear(&Yt);
    kn_mat_clear(&inverse);
    kn_mat_clear(&U);
    return status;
}

void kn_latent_loo_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, s->N, s->P + 1); /* Z */
    kn_project_need(r, s->N, s->T, s->P);
    kn_hold_d(r, KN_NEED_WORK, s->M, 2 * (s->P + 1));
    kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->M);
    if (s->M < s->N)
        kn_lowrank_vectors_need(r, s);
    kn_let_go(r, mark);
}

kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status = gp->method->loo(ctx, gp, Y, out);
    if (status == KN_OK)
        out->Y = *Y;
    return status;
}

kn_status kn_components_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(kn_gp_maps_one_part(ctx, gp, gp->N, out));
    KN_TRY(kn_mat_new(ctx, gp->N, gp->latent.A.cols, &Z)); /* zero outside the basis */
    KN_TRY(kn_gp_coordinates(ctx, gp, Y, kn_cols(Z, 0, gp->P)));
    KN_TRY(kn_latent_loo(ctx, &gp->latent, Z, out->part[0].mean, out->part[0].var, &out->clamped));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

static kn_status select_rows(kn_ctx *ctx, const ptrdiff_t *sample, ptrdiff_t n, kn_mat *m)
{
    kn_mat all = *m;
    kn_status status = kn_mat_new(ctx, n, all.cols, m);
    if (status == KN_OK)
        kn_mat_rows(all, sample, *m);
    kn_mat_clear(&all);
    return status;
}

kn_status kn_gp_maps_select(kn_ctx *ctx, kn_gp_maps *maps, const ptrdiff_t *sample, ptrdiff_t n)
{
    kn_status status;
    if (maps->own || maps->n_parts != 1 || maps->part[0].rows)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "maps of some samples exist for the multi-task "
                       "methods only");
    KN_TRY(select_rows(ctx, sample, n, &maps->part[0].mean));
    KN_TRY(select_rows(ctx, sample, n, &maps->part[0].var));
    KN_TRY(kn_alloc_i(ctx, n, &maps->sample));
    for (ptrdiff_t i = 0; i < n; i++)
        maps->sample[i] = sample[i];
    maps->n = maps->part[0].n = n;
out:
    return status;
}
