/* Implements deidentify.h: every cell is interpolated at synthetic points
 * [cov/interpolate_covariance.h]. Methods with components share this implementation. */
#include "gp/deidentify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cov/interpolate_covariance.h"
#include "gp/limit_leverage.h"

const char *kn_cell_name(const char *stem, ptrdiff_t k, char *out, size_t size)
{
    if (k == 0)
        snprintf(out, size, "%s", stem);
    else
        snprintf(out, size, "%s.%td", stem, k);
    return out;
}

kn_status kn_deidentified_rows(kn_ctx *ctx, kn_mat from, ptrdiff_t m, kn_mat *A)
{
    kn_status status = kn_mat_new(ctx, m, from.cols, A);
    if (status == KN_OK && from.cols > 0)
        kn_mat_set(*A, kn_sub(from, from.rows - m, 0, m, from.cols));
    return status;
}

/* Copies n values to *to, owned by the caller; from NULL: leaves *to. */
static kn_status copy_values(kn_ctx *ctx, const double *from, ptrdiff_t n, double **to)
{
    kn_status status = from ? kn_alloc_d(ctx, n, to) : KN_OK;
    if (status == KN_OK && from && n > 0)
        memcpy(*to, from, (size_t)n * sizeof *from);
    return status;
}

/* Returns the smallest ratio d/c of noise to signal among the components of a cell (components
 * with equal group noise); infinity if none has signal. */
static double find_smallest_delta(const kn_latent *l, const kn_latent_cell *cell)
{
    double lowest = INFINITY;
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        if (l->c[p] > 0)
            lowest = fmin(lowest, l->d[p] / l->c[p]);
    }
    return lowest;
}

/* Copies or computes the eigenvectors *U (N x m, owned by the caller) of R0 (covariance between
 * participants) over the training sample. */
static kn_status copy_vectors(kn_ctx *ctx, const kn_latent *l, const kn_decomp *R0, kn_mat *U)
{
    if (!kn_decomp_is_low(R0))
        return kn_mat_copy(ctx, R0->U, U);
    kn_status status = kn_mat_new(ctx, R0->N, R0->m, U);
    return status == KN_OK
               ? kn_decomp_vectors(ctx, R0, l->groups.n > 0 ? &l->groups : NULL, l->X, *U)
               : status;
}

/* De-identifies one cell (components with equal group noise): R0 is represented at synthetic
 * points, A is cut to its new rank and, if a leverage is too large, gets noise. Updates limit,
 * before, after and blurred of *how. On error `to` is partly filled. */
static kn_status deidentify_latent_cell(kn_ctx *ctx, const kn_gp *gp, const kn_latent_cell *from,
                                        kn_deidentification *how, kn_latent_cell *to)
{
    kn_status status;
    double *d = NULL;
    kn_mat U = {0};
    kn_projection_source source = kn_projection_source_of(&from->R0, gp->latent.X);
    source.N = gp->N;
    source.lowest = how->cut > 0 ? how->cut * find_smallest_delta(&gp->latent, from) : 0;
    to->n = from->n;
    KN_TRY(kn_projection_interpolate(ctx, &source, how->points, &to->R0));
    if (to->R0.m > how->limit)
        how->limit = to->R0.m;
    KN_TRY(kn_deidentified_rows(ctx, from->A, to->R0.m, &to->A));
    KN_TRY(kn_alloc_d(ctx, from->n, &d));
    for (ptrdiff_t k = 0; k < from->n; k++)
        d[k] = gp->latent.d[kn_cell_component(from, k)];
    KN_TRY(copy_vectors(ctx, &gp->latent, &from->R0, &U));
    KN_TRY(kn_limit_leverage(ctx, kn_cols(U, from->R0.m - to->R0.m, to->R0.m), &gp->latent.groups,
                             d, how, to));
    if (from->which) {
        KN_TRY(kn_alloc_i(ctx, from->n, &to->which));
        memcpy(to->which, from->which, (size_t)from->n * sizeof *to->which);
    }
out:
    kn_free(d);
    kn_mat_clear(&U);
    return status;
}

kn_status kn_components_deidentify(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how,
                                   kn_gp *to)
{
    kn_status status;
    const kn_latent *l = &from->latent;
    kn_latent own = {.P = l->P, .iso = l->iso};
    how->limit = how->blurred = 0;
    how->before = how->after = 0;
    KN_TRY(copy_values(ctx, l->c, l->P, &own.c));
    KN_TRY(copy_values(ctx, l->d, l->P, &own.d));
    KN_TRY(copy_values(ctx, l->gamma, l->P, &own.gamma));
    while (own.n_cells < l->n_cells) {
        int k = own.n_cells++;
        KN_TRY(deidentify_latent_cell(ctx, from, &l->cell[k], how, &own.cell[k]));
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

kn_status kn_deidentified_arrays(kn_gp *gp, kn_decomp *R0, ptrdiff_t k, kn_arrays *a)
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
