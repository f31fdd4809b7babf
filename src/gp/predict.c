#include "gp/predict.h"

#include "gp/method.h"
#include "la/la.h"

enum { ROWS = 1024 }; /* new samples at a time: bounds the work space at ROWS x N */

kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, kn_mat mean,
                            kn_mat variance, double *clamped)
{
    kn_status status;
    kn_pairs pairs = {0};
    kn_mat Rs = {0}, RU = {0}, inverse = {0}, weights = {0};
    double *self = NULL, *sq = NULL;
    /* R0* U = K(*, base) map: all training samples and U, or the pivots and their map */
    kn_mat base = l->R0.n_pivots > 0 ? l->R0.base : l->X;
    kn_mat map = l->R0.n_pivots > 0 ? l->R0.map : l->R0.U;
    ptrdiff_t N = base.rows, m = l->R0.m, P = l->A.cols;
    ptrdiff_t most = Xs.rows < ROWS ? Xs.rows : ROWS;

    KN_TRY(kn_mat_new(ctx, m, P, &inverse));
    KN_TRY(kn_mat_new(ctx, m, P, &weights));
    KN_TRY(kn_mat_new(ctx, most, N, &Rs));
    KN_TRY(kn_mat_new(ctx, most, m, &RU));
    KN_TRY(kn_alloc_d(ctx, most, &self));
    KN_TRY(kn_alloc_d(ctx, most, &sq));
    kn_latent_inverse(l, inverse, weights);
    for (ptrdiff_t i = 0; i < Xs.rows; i += ROWS) {
        ptrdiff_t n = Xs.rows - i < ROWS ? Xs.rows - i : ROWS;
        kn_mat xs = kn_sub(Xs, i, 0, n, Xs.cols), rs = kn_sub(Rs, 0, 0, n, N);
        kn_mat ru = kn_sub(RU, 0, 0, n, m), v = kn_sub(variance, i, 0, n, P);
        KN_TRY(kn_check_cancel(ctx));
        kn_pairs_clear(&pairs);
        KN_TRY(kn_pairs_between(ctx, xs, base, &l->R0.cov.stats, &pairs));
        kn_cov_fill(&l->R0.cov, l->R0.theta, &pairs, rs);
        kn_cov_self(&l->R0.cov, l->R0.theta, xs, sq, self);
        kn_gemm(ctx, 1, KN_N, rs, KN_N, map, 0, ru);
        kn_gemm(ctx, 1, KN_N, ru, KN_N, weights, 0, kn_sub(mean, i, 0, n, P));
        kn_latent_square(ru);
        kn_gemm(ctx, 1, KN_N, ru, KN_N, inverse, 0, v); /* H of METHOD 4 */
        for (ptrdiff_t p = 0; p < P; p++)
            for (ptrdiff_t k = 0; k < n; k++) {
                double c = l->c[p], prior = c * (self[k] + l->iso);
                kn_col(v, p)[k] = kn_at_least_zero(prior - c * c * kn_at(v, k, p), prior, clamped);
            }
    }
out:
    kn_free(sq);
    kn_free(self);
    kn_mat_clear(&RU);
    kn_mat_clear(&Rs);
    kn_mat_clear(&weights);
    kn_mat_clear(&inverse);
    kn_pairs_clear(&pairs);
    return status;
}

void kn_latent_predict_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n)
{
    kn_held mark = r->now;
    ptrdiff_t most = kn_at_most(n, ROWS), base = kn_at_most(s->N, s->M);
    kn_hold_d(r, KN_NEED_WORK, s->M, 2 * (s->P + 1));
    kn_hold_d(r, KN_NEED_SAMPLES, most, base + s->M + 2);
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, most, base);
    kn_let_go(r, mark);
}

kn_status kn_components_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(kn_gp_maps_one_part(ctx, gp, Xs.rows, out));
    KN_TRY(kn_latent_predict(ctx, &gp->latent, Xs, out->part[0].mean, out->part[0].var,
                             &out->clamped));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out)
{
    return gp->method->predict(ctx, gp, Xs, out);
}
