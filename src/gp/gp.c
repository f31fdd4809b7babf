#include "gp/gp.h"

#include "gp/method.h"

void kn_gp_clear(kn_gp *gp)
{
    if (gp->own)
        gp->method->clear(gp);
    kn_latent_clear(&gp->latent);
    kn_mat_clear(&gp->B);
    kn_mat_clear(&gp->UC);
    kn_free(gp->noise);
    kn_free(gp->energy);
    *gp = (kn_gp){0};
}

/* Low rank: the pivots among the training samples, in their order, and the map from them to U. */
static kn_status pivots(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    kn_decomp *R0 = &gp->latent.R0;
    KN_TRY(a->indices(a, "pivots", &R0->n_pivots, &R0->pivot));
    if (a->reading) {
        if (R0->n_pivots < R0->m)
            return a->bad(a, "pivots");
        for (ptrdiff_t k = 0; k < R0->n_pivots; k++)
            if (R0->pivot[k] < 0 || R0->pivot[k] >= gp->N)
                return a->bad(a, "pivots");
        KN_TRY(kn_mat_new(a->ctx, R0->n_pivots, gp->F, &R0->base));
        kn_mat_rows(gp->latent.X, R0->pivot, R0->base);
        gp->spec.rank = R0->n_pivots;
    }
    KN_TRY(a->mat(a, "map", R0->n_pivots, R0->m, &R0->map));
out:
    return status;
}

kn_status kn_components_arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    kn_latent *l = &gp->latent;
    ptrdiff_t P = gp->P + gp->complement_component;
    bool low = a->reading ? a->has(a, "pivots") : l->R0.n_pivots > 0;
    KN_TRY(low ? pivots(gp, a) : a->mat(a, "U", gp->N, l->R0.m, &l->R0.U));
    KN_TRY(a->doubles(a, "r", l->R0.m, KN_NOT_NEGATIVE, &l->R0.r));
    KN_TRY(a->mat(a, "A", l->R0.m, P, &l->A));
    KN_TRY(a->doubles(a, "c", P, KN_NOT_NEGATIVE, &l->c));
    KN_TRY(a->doubles(a, "d", P, KN_NOT_NEGATIVE, &l->d));
    KN_TRY(a->mat(a, "B", gp->T, gp->P, &gp->B));
    if (a->reading ? a->has(a, "U_C") : gp->UC.data != NULL)
        KN_TRY(a->mat(a, "U_C", gp->P, gp->P, &gp->UC));
out:
    return status;
}

double kn_components_bytes(const kn_gp *gp)
{
    double N = (double)gp->N, T = (double)gp->T, P = (double)gp->P;
    return 8 * (N * (double)gp->latent.R0.m + N * P + T * P);
}
