#include "gp/gradient.h"

#include "gp/structured.h"

kn_status kn_gradient_r0(kn_ctx *ctx, kn_engine *e, double *g0)
{
    bool iso = e->spec.noise == KN_NOISE_ISO;
    if (iso)
        kn_iso_outer(&e->iso, e->R0.r, e->M, e->w);
    else
        kn_structured_outer(e);
    if (e->spec.rank > 0)
        return kn_lowrank_gradient(ctx, &e->low, &e->R0, e->Z,
                                   iso && !e->iso.diagonal ? e->iso.UC : kn_mat_none(),
                                   iso ? e->iso.A : e->A0, e->c, e->d, e->M, e->w, g0);
    kn_decomp_gradient(ctx, &e->R0, &e->pairs, e->M, e->w, e->V, e->H, g0);
    return KN_OK;
}
