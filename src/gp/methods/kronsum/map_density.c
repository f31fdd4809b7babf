/* Implements map_density.h. */
#include "gp/methods/kronsum/map_density.h"

#include <math.h>

#include "la/la.h"

/* W = S^-1 Q, S = Q Q' */
static kn_status coordinates(kn_ctx *ctx, kn_mat Q, kn_mat *W, double *log_det)
{
    kn_status status;
    kn_mat S = {0};
    KN_TRY(kn_mat_new(ctx, Q.rows, Q.rows, &S));
    KN_TRY(kn_mat_copy(ctx, Q, W));
    kn_syrk(ctx, 1, KN_N, Q, 0, S);
    KN_TRY(kn_chol(ctx, S, "the covariance of noise"));
    kn_trsm_left(ctx, KN_N, S, *W);
    kn_trsm_left(ctx, KN_T, S, *W);
    *log_det = 0;
    for (ptrdiff_t j = 0; j < S.cols; j++)
        *log_det += 2 * log(kn_at(S, j, j));
out:
    kn_mat_clear(&S);
    return status;
}

kn_status kn_kronsum_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    double tau = kn_latent_gamma(&gp->latent, 0);
    *out = (kn_map_density){.K = gp->T};
    KN_TRY(kn_mat_copy(ctx, p->var, &out->v));
    KN_TRY(kn_alloc_d(ctx, gp->T, &out->d));
    KN_TRY(coordinates(ctx, p->B.data ? p->B : gp->B, &out->W, &out->log_det));
    if (maps->known)
        KN_TRY(kn_alloc_d(ctx, gp->T, &out->d_known));
    for (ptrdiff_t k = 0; k < gp->T; k++) {
        out->d[k] = 1 + tau;
        if (maps->known)
            out->d_known[k] = 1; /* the posterior variance of the group noise is in v */
    }
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

kn_status kn_kronsum_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                       ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    (void)ctx, (void)maps, (void)part, (void)y;
    kn_mat_zero(V);
    for (ptrdiff_t j = 0; j < V.rows; j++) {
        kn_col(V, first + j)[j] = 1;
        scale[j] = 1;
    }
    return KN_OK;
}
