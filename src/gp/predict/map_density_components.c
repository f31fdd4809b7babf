/* Implements map_density_components.h from the latent variances of the maps. */
#include "gp/predict/map_density_components.h"

#include <math.h>

#include "gp/method.h"

/* Sets d, d0 and d_known for structured noise, from the fold if it has its own. */
static kn_status structured_noise(kn_ctx *ctx, const kn_gp_maps *maps, const kn_fold_prediction *p,
                                  kn_map_density *l)
{
    kn_status status = KN_OK;
    const kn_latent *latent = &maps->gp->latent;
    for (ptrdiff_t k = 0; k < l->K; k++)
        l->d[k] = p->d ? p->d[k] : kn_latent_noise(latent, k);
    double s2 = maps->gp->complement_component ? kn_latent_noise(latent, l->K) : maps->gp->s2;
    l->d0 = p->d ? p->s2 : s2;
    if (maps->known && latent->gamma) {
        KN_TRY(kn_alloc_d(ctx, l->K, &l->d_known));
        for (ptrdiff_t k = 0; k < l->K; k++)
            l->d_known[k] = latent->d[k];
    }
out:
    return status;
}

kn_status kn_components_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                    kn_map_density *out)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    *out = (kn_map_density){.K = p->var.cols - gp->complement_component};
    if (p->direct)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the task kernel turns the responses, and its folds do not keep how: "
                       "there is no joint density of their maps");
    KN_TRY(kn_mat_copy(ctx, kn_cols(p->var, 0, out->K), &out->v));
    KN_TRY(kn_alloc_d(ctx, out->K, &out->d));
    KN_TRY(kn_alloc_d(ctx, p->n, &out->v0));
    for (ptrdiff_t i = 0; gp->complement_component && i < p->n; i++)
        out->v0[i] = kn_at(p->var, i, out->K);
    if (gp->spec.noise == KN_NOISE_STRUCTURED) {
        KN_TRY(structured_noise(ctx, maps, p, out));
        goto out;
    }
    out->d0 = gp->s2;
    for (ptrdiff_t k = 0; k < out->K; k++)
        out->d[k] = gp->s2;
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

kn_status kn_components_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                          ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    const double *psi = maps->part[part].psi ? maps->part[part].psi : maps->gp->psi;
    for (ptrdiff_t j = 0; j < V.rows; j++)
        scale[j] = psi ? sqrt(psi[first + j]) : 1;
    return kn_components_basis(ctx, maps, part, first, y, V);
}
