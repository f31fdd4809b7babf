/* Leave-one-out, joint density and covariance of MTGPR; mean and variance are those of all methods
 * with components [METHOD 1h].
 *
 * With noise factors the loadings B = V S_k W are not orthonormal. With B'B = LL', orthonormal
 * directions are V = B L^-T, coordinates Yw V W = Yw B (B'B)^-1, and W in the axes of V is L^-1. */
#include "gp/methods/mtgpr/internal.h"

#include <math.h>
#include <stdio.h>

#include "gp/basis/basis.h"
#include "gp/predict/loo.h"
#include "gp/predict/predict.h"
#include "la/la.h"

kn_status kn_mtgpr_factor(kn_ctx *ctx, kn_mat B, kn_mat *L)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, B.cols, B.cols, L));
    kn_syrk(ctx, 1, KN_T, B, 0, *L);
    KN_TRY(kn_chol(ctx, *L, "the products of loadings"));
    for (ptrdiff_t j = 1; j < L->cols; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(*L, j)[i] = 0;
out:
    return status;
}

/* ---- leave-one-out ------------------------------------------------------------------- */

/* Computes Z (N x k), the coordinates of the training participants: Y Psi^-1/2 B (B'B)^-1. Reads
 * Y once. */
static kn_status compute_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z)
{
    kn_status status;
    const kn_mtgpr *own = gp->own;
    kn_mat B = {0};
    double total;
    KN_TRY(kn_mat_copy(ctx, gp->B, &B));
    if (own->L.data) {
        kn_trsm_right(ctx, KN_T, own->L, B);
        kn_trsm_right(ctx, KN_N, own->L, B);
    }
    for (ptrdiff_t q = 0; q < B.cols; q++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            kn_col(B, q)[j] /= sqrt(gp->psi[j]);
    KN_TRY(kn_project(ctx, Y, NULL, B, Z, &total));
out:
    kn_mat_clear(&B);
    return status;
}

/* Adds the directions outside V to the leave-one-out means of part: smooth y with smooth = I -
 * diag(1/kk) K_0^-1 (N x N), K_0 = c0 R0 + d0 I. Its part inside V, smooth Z, is subtracted from
 * the mean. Z: N x k. */
static kn_status add_complement_loo(kn_ctx *ctx, const kn_gp *gp, kn_mat Z,
                                    kn_fold_prediction *part)
{
    kn_status status;
    const kn_latent *l = &gp->latent;
    const kn_decomp *R0 = &l->cell[0].R0;
    ptrdiff_t N = gp->N, m = R0->m;
    double c0 = l->c[l->P - 1], d0 = l->d[l->P - 1];
    kn_mat U = {0}, scaled = {0};
    KN_TRY(kn_mat_new(ctx, N, m, &U));
    if (kn_decomp_is_low(R0))
        KN_TRY(kn_decomp_vectors(ctx, R0, NULL, l->X, U));
    else
        kn_mat_set(U, R0->U);
    KN_TRY(kn_mat_copy(ctx, U, &scaled));
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t n = 0; n < N; n++) /* 1/k - 1/d */
            kn_col(scaled, i)[n] *= -c0 * R0->r[i] / ((c0 * R0->r[i] + d0) * d0);
    KN_TRY(kn_mat_new(ctx, N, N, &part->smooth));
    kn_gemm(ctx, 1, KN_N, scaled, KN_T, U, 0, part->smooth);
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(part->smooth, i)[i] += 1 / d0;
    for (ptrdiff_t i = 0; i < N; i++) {
        double kk = kn_at(part->smooth, i, i);
        for (ptrdiff_t j = 0; j < N; j++)
            kn_col(part->smooth, j)[i] = i == j ? 0 : -kn_at(part->smooth, i, j) / kk;
    }
    kn_gemm(ctx, -1, KN_N, part->smooth, KN_N, Z, 1, kn_cols(part->mean, 0, Z.cols));
out:
    kn_mat_clear(&scaled);
    kn_mat_clear(&U);
    return status;
}

kn_status kn_mtgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(kn_gp_maps_one_part(ctx, gp, gp->N, out));
    kn_fold_prediction *part = &out->part[0];
    KN_TRY(kn_mat_new(ctx, gp->N, gp->latent.P, &Z)); /* Z = 0 for the complement */
    KN_TRY(compute_coordinates(ctx, gp, Y, kn_cols(Z, 0, gp->P)));
    KN_TRY(
        kn_latent_loo(ctx, &gp->latent, KN_LEAVE_GROUP, Z, part->mean, part->var, &out->clamped));
    if (gp->complement_component)
        KN_TRY(add_complement_loo(ctx, gp, kn_cols(Z, 0, gp->P), part));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* ---- joint density of a map ---------------------------------------------------------- */

/* Returns the Cholesky factor L of B'B of a fold or, if the fold uses the model's basis, of the
 * model; a view. */
static kn_mat find_factor(const kn_gp_maps *maps, const kn_fold_prediction *p)
{
    return p->B.data ? p->rotate : ((const kn_mtgpr *)maps->gp->own)->L;
}

kn_status kn_mtgpr_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int number, kn_map_density *out)
{
    kn_status status;
    const kn_fold_prediction *p = &maps->part[number];
    const kn_gp *gp = maps->gp;
    kn_mat L = find_factor(maps, p);
    ptrdiff_t k = p->var.cols - gp->complement_component;
    *out = (kn_map_density){.K = k, .d0 = 1};
    KN_TRY(kn_mat_copy(ctx, kn_cols(p->var, 0, k), &out->v));
    KN_TRY(kn_alloc_d(ctx, k, &out->d));
    for (ptrdiff_t q = 0; q < k; q++)
        out->d[q] = 1;
    if (k < gp->T)
        KN_TRY(kn_alloc_d(ctx, p->n, &out->v0)); /* 0 if the complement has no signal */
    for (ptrdiff_t i = 0; gp->complement_component && out->v0 && i < p->n; i++)
        out->v0[i] = kn_at(p->var, i, k);
    if (!L.data)
        goto out;
    KN_TRY(kn_mat_new(ctx, k, k, &out->W));
    for (ptrdiff_t q = 0; q < k; q++) {
        kn_col(out->W, q)[q] = 1;
        out->log_det += 2 * log(kn_at(L, q, q));
    }
    kn_trsm_left(ctx, KN_N, L, out->W);
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

kn_status kn_mtgpr_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int number,
                                     ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    const kn_fold_prediction *p = &maps->part[number];
    const double *psi = p->psi ? p->psi : maps->gp->psi;
    kn_mat B = p->B.data ? p->B : maps->gp->B, L = find_factor(maps, p);
    (void)y;
    kn_mat_set(V, kn_sub(B, first, 0, V.rows, V.cols));
    if (L.data)
        kn_trsm_right(ctx, KN_T, L, V);
    for (ptrdiff_t j = 0; j < V.rows; j++)
        scale[j] = sqrt(psi[first + j]);
    return KN_OK;
}

/* ---- covariance of one participant --------------------------------------------------- */

/* model = Psi^1/2 [B diag(v) B' + v0 (I - VV')] Psi^1/2    noise = Psi^1/2 [BB' - VV'] Psi^1/2, its
 * diagonal replaced by noise_J */
kn_status kn_mtgpr_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                              kn_mat model, kn_mat noise)
{
    kn_status status;
    const kn_mtgpr *own = gp->own;
    kn_mat B = {0}, V = {0}, Bv = {0};
    kn_gp_maps maps = {0};
    ptrdiff_t n = model.data ? model.rows : noise.rows, k = gp->P;
    KN_TRY(kn_gp_predict(ctx, gp, &(kn_predict_input){.X = x}, &maps));
    kn_mat var = maps.part[0].var;
    double v0 = gp->complement_component ? kn_at(var, 0, k) : 0;
    KN_TRY(kn_mat_new(ctx, n, k, &B));
    kn_mat_rows(gp->B, J, B);
    KN_TRY(kn_mat_copy(ctx, B, &V));
    if (own->L.data)
        kn_trsm_right(ctx, KN_T, own->L, V);
    KN_TRY(kn_mat_copy(ctx, B, &Bv));
    for (ptrdiff_t q = 0; q < k; q++)
        for (ptrdiff_t j = 0; j < n; j++)
            kn_col(Bv, q)[j] *= kn_at(var, 0, q);
    if (model.data) {
        kn_gemm(ctx, 1, KN_N, Bv, KN_T, B, 0, model);
        kn_gemm(ctx, -v0, KN_N, V, KN_T, V, 1, model);
    }
    if (noise.data) {
        kn_gemm(ctx, 1, KN_N, B, KN_T, B, 0, noise);
        kn_gemm(ctx, -1, KN_N, V, KN_T, V, 1, noise);
    }
    for (ptrdiff_t b = 0; b < n; b++)
        for (ptrdiff_t a = 0; a < n; a++) {
            double unit = sqrt(gp->psi[J[a]] * gp->psi[J[b]]);
            if (model.data)
                kn_col(model, b)[a] = unit * (kn_at(model, a, b) + (a == b ? v0 : 0));
            if (noise.data)
                kn_col(noise, b)[a] = a == b ? gp->noise[J[b]] : unit * kn_at(noise, a, b);
        }
out:
    kn_gp_maps_clear(&maps);
    kn_mat_clear(&Bv);
    kn_mat_clear(&V);
    kn_mat_clear(&B);
    return status;
}

/* ---- in words ---- */

void kn_mtgpr_describe(const kn_gp *gp, char *line, size_t size)
{
    const kn_mtgpr *own = gp->own;
    char shared[96] = "", own_signal[64] = "";
    if (own->Q > 0)
        snprintf(shared, sizeof shared, ", and %td factor%s that responses share", own->Q,
                 own->Q == 1 ? "" : "s");
    if (gp->outside)
        snprintf(own_signal, sizeof own_signal, ", and %.2g of each response's noise",
                 gp->latent.c[gp->P]);
    snprintf(line, size, "task covariance: of rank %td%s; noise of each response's own%s%s", own->P,
             own_signal, shared, own->iso ? ", and noise with the covariance of the signal" : "");
}
