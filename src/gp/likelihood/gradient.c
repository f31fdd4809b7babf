/* Gradient with respect to R0: G is summed over the cells and contracted once with dR0/dtheta. The
 * outer search over weights and shapes of R0 needs it. */
#include "gp/likelihood/internal.h"

/* Gradient of the likelihood with respect to the parameters of R0 (covariance between
 * participants; g0, n_theta of e->cov) for dense decompositions: H (N x N) = sum over the cells
 * of dLML/dR0, then one contraction with dR0/dtheta per parameter. */
static void dense_gradient(kn_ctx *ctx, kn_engine *e, double *g0)
{
    bool iso = e->spec.noise == KN_NOISE_ISO, first = true;
    kn_mat_zero(e->H);
    for (int k = 0; k < e->n_cells; k++) {
        kn_decomp *R0 = &e->cell[k].R0;
        if (iso)
            kn_iso_outer(&e->iso, R0->r, e->M, e->w);
        else if (!kn_structured_outer(e, k))
            continue;
        kn_decomp_contract(ctx, R0, e->M, e->w, e->V, first, e->H);
        first = false;
    }
    kn_cov_gradient(&e->cov, e->cell[0].R0.theta, &e->pairs, e->H, g0);
}

/* Gradient with respect to the parameters of R0 (g0, n_theta of e->cov) for low rank with
 * structured noise: collects the factors M (m x P) and w (m) of each cell (components with equal
 * group noise), then one call for all cells. */
static kn_status low_rank_gradient(kn_ctx *ctx, kn_engine *e, double *g0)
{
    kn_status status = KN_OK;
    kn_lowrank_part part[KN_GAMMAS];
    kn_mat M[KN_GAMMAS] = {0};
    double *w[KN_GAMMAS] = {0};
    int n = 0;
    for (int k = 0; k < e->n_cells; k++) {
        if (!kn_structured_outer(e, k))
            continue;
        KN_TRY(kn_mat_copy(ctx, e->M, &M[n]));
        KN_TRY(kn_alloc_d(ctx, e->M.rows, &w[n]));
        for (ptrdiff_t i = 0; i < e->M.rows; i++)
            w[n][i] = e->w[i];
        part[n] =
            (kn_lowrank_part){&e->cell[k].R0, kn_mat_none(), e->cell[k].A, M[n], e->c, e->d, w[n]};
        n++;
    }
    KN_TRY(kn_lowrank_gradient(ctx, &e->low, part, n, g0));
out:
    for (int k = 0; k < KN_GAMMAS; k++) {
        kn_mat_clear(&M[k]);
        kn_free(w[k]);
    }
    return status;
}

/* Gradient with respect to the parameters of R0 (g0, n_theta of e->cov) for low rank with iso
 * noise, whose one cell (components with equal group noise) has coordinates rotated by U_C. */
static kn_status low_rank_iso_gradient(kn_ctx *ctx, kn_engine *e, double *g0)
{
    kn_lowrank_part part = {&e->cell[0].R0,
                            e->iso.diagonal ? kn_mat_none() : e->iso.UC,
                            e->iso.A,
                            e->M,
                            e->c,
                            e->d,
                            e->w};
    kn_iso_outer(&e->iso, e->cell[0].R0.r, e->M, e->w);
    return kn_lowrank_gradient(ctx, &e->low, &part, 1, g0);
}

kn_status kn_gradient_r0(kn_ctx *ctx, kn_engine *e, double *g0)
{
    if (e->spec.rank > 0)
        return e->spec.noise == KN_NOISE_ISO ? low_rank_iso_gradient(ctx, e, g0)
                                             : low_rank_gradient(ctx, e, g0);
    dense_gradient(ctx, e, g0);
    return KN_OK;
}
