/* Implements deidentify.h: every cell is interpolated at synthetic points [cov/interpolate.h]. */
#include "gp/deidentify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cov/interpolate.h"

const char *kn_cell_name(const char *stem, ptrdiff_t k, char *out, size_t size)
{
    if (k == 0)
        snprintf(out, size, "%s", stem);
    else
        snprintf(out, size, "%s.%td", stem, k);
    return out;
}

kn_status kn_shared_rows(kn_ctx *ctx, kn_mat from, ptrdiff_t m, kn_mat *A)
{
    kn_status status = kn_mat_new(ctx, m, from.cols, A);
    if (status == KN_OK && from.cols > 0)
        kn_mat_set(*A, kn_sub(from, from.rows - m, 0, m, from.cols));
    return status;
}

static kn_status copy(kn_ctx *ctx, const double *from, ptrdiff_t n, double **to)
{
    kn_status status = from ? kn_alloc_d(ctx, n, to) : KN_OK;
    if (status == KN_OK && from && n > 0)
        memcpy(*to, from, (size_t)n * sizeof *from);
    return status;
}

/* The smallest ratio d/c of the components of a cell. */
static double least_delta(const kn_latent *l, const kn_latent_cell *cell)
{
    double least = INFINITY;
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        if (l->c[p] > 0)
            least = fmin(least, l->d[p] / l->c[p]);
    }
    return least;
}

static kn_status share_cell(kn_ctx *ctx, const kn_gp *gp, const kn_latent_cell *from,
                            kn_sharing *how, kn_latent_cell *to)
{
    kn_status status;
    kn_projection_source of = kn_projection_source_of(&from->R0, gp->latent.X);
    of.N = gp->N;
    of.least = how->cut > 0 ? how->cut * least_delta(&gp->latent, from) : 0;
    to->n = from->n;
    KN_TRY(kn_projection_interpolate(ctx, &of, how->points, &to->R0));
    if (to->R0.m > how->most)
        how->most = to->R0.m;
    KN_TRY(kn_shared_rows(ctx, from->A, to->R0.m, &to->A));
    if (from->which) {
        KN_TRY(kn_alloc_i(ctx, from->n, &to->which));
        memcpy(to->which, from->which, (size_t)from->n * sizeof *to->which);
    }
out:
    return status;
}

kn_status kn_components_share(kn_ctx *ctx, const kn_gp *from, kn_sharing *how, kn_gp *to)
{
    kn_status status;
    const kn_latent *l = &from->latent;
    kn_latent own = {.P = l->P, .iso = l->iso};
    how->most = 0;
    KN_TRY(copy(ctx, l->c, l->P, &own.c));
    KN_TRY(copy(ctx, l->d, l->P, &own.d));
    KN_TRY(copy(ctx, l->gamma, l->P, &own.gamma));
    while (own.n_cells < l->n_cells) {
        int k = own.n_cells++;
        KN_TRY(share_cell(ctx, from, &l->cell[k], how, &own.cell[k]));
    }
    kn_latent_clear(&to->latent);
    to->latent = own;
    to->spec.rank = own.cell[0].R0.map.rows;
    to->shared = true;
    own = (kn_latent){0};
out:
    kn_latent_clear(&own);
    return status;
}

ptrdiff_t kn_components_points(const kn_gp *gp)
{
    ptrdiff_t n = 0;
    for (int k = 0; k < gp->latent.n_cells; k++)
        n += gp->latent.cell[k].R0.n_pivots;
    return n;
}

kn_status kn_shared_arrays(kn_gp *gp, kn_decomp *R0, ptrdiff_t k, kn_arrays *a)
{
    kn_status status = KN_OK;
    char name[24];
    kn_features features = kn_features_of(&R0->cov);
    kn_cell_name("base", k, name, sizeof name);
    if (a->reading ? a->has(a, name) : R0->n_pivots > 0)
        KN_TRY(a->mat(a, name, a->reading ? -1 : R0->n_pivots, gp->F, &R0->base));
    if (a->reading) {
        R0->n_pivots = R0->base.rows;
        if ((features.rest.n == 0 && R0->n_pivots > 0) || features.columns + R0->n_pivots < 1)
            return a->bad(a, name);
    }
    KN_TRY(a->mat(a, kn_cell_name("map", k, name, sizeof name), features.columns + R0->n_pivots,
                  R0->m, &R0->map));
out:
    return status;
}
