/* Implements covariance.h: predicts the latent variances of the participant and expands them by
 * the rows J of the basis. kronorm.h offers it as kn_covariance. */
#include "gp/predict/covariance.h"

#include <math.h>

#include "gp/method.h"
#include "gp/predict/predict.h"
#include "la/la.h"

kn_status kn_gp_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J, kn_mat model,
                           kn_mat noise)
{
    return gp->method->covariance(ctx, gp, x, J, model, noise);
}

kn_status kn_diagonal_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                 kn_mat model, kn_mat noise)
{
    kn_status status;
    kn_gp_maps maps = {0};
    ptrdiff_t n = model.data ? model.rows : noise.rows;
    KN_TRY(kn_gp_predict(ctx, gp, &(kn_predict_input){.X = x}, &maps));
    if (model.data)
        kn_mat_zero(model);
    if (noise.data)
        kn_mat_zero(noise);
    for (ptrdiff_t j = 0; j < n; j++) {
        double v;
        if (model.data) {
            KN_TRY(kn_gp_maps_block(ctx, &maps, J[j], kn_mat_none(), kn_mat_cols(&v, 1, 1)));
            kn_col(model, j)[j] = v;
        }
        if (noise.data)
            kn_col(noise, j)[j] = gp->noise[J[j]];
    }
out:
    kn_gp_maps_clear(&maps);
    return status;
}

/* Scales a covariance M (n x n) of whitened responses J back to standardised units: M <-
 * Psi_J^1/2 M Psi_J^1/2; without psi nothing changes. */
static void scale_covariance(const kn_gp *gp, const ptrdiff_t *J, kn_mat M)
{
    for (ptrdiff_t j = 0; gp->psi && j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(M, j)[i] *= sqrt(gp->psi[J[i]] * gp->psi[J[j]]);
}

kn_status kn_components_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                   kn_mat model, kn_mat noise)
{
    kn_status status;
    kn_mat BJ = {0}, scaled = {0};
    kn_gp_maps maps = {0};
    ptrdiff_t n = model.data ? model.rows : noise.rows, P = gp->P;
    KN_TRY(kn_gp_predict(ctx, gp, &(kn_predict_input){.X = x}, &maps));
    /* The complement component adds v0 (I - B_J B_J'). */
    double v0 = gp->complement_component ? kn_at(maps.part[0].var, 0, P) : 0;
    KN_TRY(kn_mat_new(ctx, n, P, &BJ));
    KN_TRY(kn_mat_new(ctx, n, P, &scaled));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < n; j++) {
            kn_col(BJ, p)[j] = kn_at(gp->B, J[j], p);
            kn_col(scaled, p)[j] = kn_at(gp->B, J[j], p) * (kn_at(maps.part[0].var, 0, p) - v0);
        }
    if (model.data) {
        kn_gemm(ctx, 1, KN_N, scaled, KN_T, BJ, 0, model);
        for (ptrdiff_t j = 0; j < n; j++)
            kn_col(model, j)[j] += v0;
        scale_covariance(gp, J, model);
    }
    if (noise.data) {
        kn_mat_zero(noise);
        if (gp->spec.noise != KN_NOISE_ISO) { /* the complement component has its own noise d0 */
            double d0 = gp->complement_component ? kn_latent_noise(&gp->latent, P) : 0;
            for (ptrdiff_t p = 0; p < P; p++)
                for (ptrdiff_t j = 0; j < n; j++)
                    kn_col(scaled, p)[j] = kn_at(BJ, j, p) * (kn_latent_noise(&gp->latent, p) - d0);
            kn_gemm(ctx, 1, KN_N, scaled, KN_T, BJ, 0, noise);
            scale_covariance(gp, J, noise);
        }
        for (ptrdiff_t j = 0; j < n; j++)
            kn_col(noise, j)[j] = gp->noise[J[j]];
    }
out:
    kn_gp_maps_clear(&maps);
    kn_mat_clear(&scaled);
    kn_mat_clear(&BJ);
    return status;
}
