/* Implements gp.h: the arrays of a model with components, in the order of the model file. One
 * visitor writes and reads (a->reading); when reading, sizes and indices are checked. */
#include "gp/gp.h"

#include "gp/basis/complement.h"
#include "gp/deidentify.h"
#include "gp/method.h"

void kn_gp_clear(kn_gp *gp)
{
    if (gp->own)
        gp->method->clear(gp);
    kn_latent_clear(&gp->latent);
    kn_mat_clear(&gp->B);
    kn_mat_clear(&gp->W);
    kn_mat_clear(&gp->UC);
    kn_mat_clear(&gp->span);
    kn_free(gp->noise);
    kn_free(gp->energy);
    kn_free(gp->slope);
    kn_free(gp->psi);
    kn_mat_clear(&gp->D0);
    kn_free(gp->outside);
    *gp = (kn_gp){0};
}

void kn_gp_fix_rank(kn_gp *gp, ptrdiff_t rank)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    gp->spec.rank = rank > 0 && kn_decomp_is_low(R0) ? R0->map.rows : rank;
    gp->spec.rank_auto = false;
}

/* Visits the arrays of a low-rank cell k (components with equal group noise) in the model file:
 * the pivots among the training participants, in order, and the map from features to U; reading
 * checks them (a->bad). */
static kn_status visit_pivots(kn_gp *gp, int k, kn_arrays *a)
{
    kn_status status;
    char name[24];
    kn_decomp *R0 = &gp->latent.cell[k].R0;
    kn_features features = kn_features_of(&R0->cov);
    KN_TRY(a->indices(a, kn_cell_name("pivots", k, name, sizeof name), &R0->n_pivots, &R0->pivot));
    ptrdiff_t rows = features.columns + R0->n_pivots;
    if (a->reading) {
        if (rows < R0->m || (features.rest.n == 0 && R0->n_pivots > 0))
            return a->bad(a, name);
        for (ptrdiff_t i = 0; i < R0->n_pivots; i++)
            if (R0->pivot[i] < 0 || R0->pivot[i] >= gp->N)
                return a->bad(a, name);
        KN_TRY(kn_mat_new(a->ctx, R0->n_pivots, gp->F, &R0->base));
        kn_mat_rows(gp->latent.X, R0->pivot, R0->base);
        gp->spec.rank = rows;
    }
    KN_TRY(a->mat(a, kn_cell_name("map", k, name, sizeof name), rows, R0->m, &R0->map));
out:
    return status;
}

/* Visits the array of the indices of the components of cell k (components with equal group
 * noise), ascending; reading checks them (a->bad). */
static kn_status visit_members(kn_gp *gp, int k, kn_arrays *a)
{
    char name[24];
    kn_latent_cell *cell = &gp->latent.cell[k];
    kn_status status =
        a->indices(a, kn_cell_name("which", k, name, sizeof name), &cell->n, &cell->which);
    for (ptrdiff_t i = 0; status == KN_OK && a->reading && i < cell->n; i++)
        if (cell->which[i] < (i > 0 ? cell->which[i - 1] + 1 : 0) || cell->which[i] >= gp->latent.P)
            return a->bad(a, name);
    return status;
}

/* Checks cells that were read: gamma (group noise over noise) > 0 requires groups, and every
 * component is in exactly one cell (else a->bad). */
static kn_status check_cells(const kn_gp *gp, bool grouped, kn_arrays *a)
{
    kn_status status = KN_OK;
    const kn_latent *l = &gp->latent;
    void *memory;
    if (!grouped && !gp->shared && (l->n_cells > 1 || l->cell[0].R0.gamma > 0))
        return a->bad(a, "group");
    KN_TRY(kn_alloc(a->ctx, l->P, sizeof(bool), &memory));
    bool *found = memory, sound = true;
    ptrdiff_t n = 0;
    for (int k = 0; k < l->n_cells; k++)
        for (ptrdiff_t i = 0; i < l->cell[k].n; i++, n++) {
            bool *p = &found[kn_cell_component(&l->cell[k], i)];
            sound = sound && !*p;
            *p = true;
        }
    kn_free(memory);
    if (!sound || n != l->P)
        return a->bad(a, "which");
out:
    return status;
}

/* Visits the arrays of cell k (components with equal group noise) in the model file: its
 * components, A, the decomposition of R0 (U, pivots or synthetic points) and r. When reading,
 * ranks follow from the array shapes. */
static kn_status visit_cell(kn_gp *gp, int k, kn_arrays *a)
{
    kn_status status = KN_OK;
    char name[24];
    kn_latent *l = &gp->latent;
    kn_latent_cell *cell = &l->cell[k];
    kn_decomp *R0 = &cell->R0;
    bool low =
        a->reading ? a->has(a, kn_cell_name("map", k, name, sizeof name)) : kn_decomp_is_low(R0);
    if (a->reading ? l->n_cells > 1 : cell->which != NULL)
        KN_TRY(visit_members(gp, k, a));
    else
        cell->n = l->P;
    if (k > 0) { /* the number of rows of A is the rank */
        KN_TRY(a->mat(a, kn_cell_name("A", k, name, sizeof name), a->reading ? -1 : R0->m, cell->n,
                      &cell->A));
        R0->m = cell->A.rows;
    }
    KN_TRY(gp->shared ? kn_deidentified_arrays(gp, R0, k, a)
           : low      ? visit_pivots(gp, k, a)
                      : a->mat(a, kn_cell_name("U", k, name, sizeof name), gp->N, R0->m, &R0->U));
    KN_TRY(a->doubles(a, kn_cell_name("r", k, name, sizeof name), R0->m, KN_NOT_NEGATIVE, &R0->r));
    if (k == 0)
        KN_TRY(a->mat(a, "A", R0->m, cell->n, &cell->A));
out:
    return status;
}

kn_status kn_group_array(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    kn_latent *l = &gp->latent;
    ptrdiff_t n = l->groups.N, *of = l->groups.of;
    KN_TRY(a->indices(a, "group", &n, &of));
    if (a->reading) {
        kn_groups read = {.N = n, .n = n, .of = of};
        status =
            n == gp->N ? kn_groups_subset(a->ctx, &read, NULL, n, &l->groups) : a->bad(a, "group");
        kn_free(of);
        KN_TRY(status);
    }
out:
    return status;
}

/* Visits the groups of the training participants, gamma of each component, which determines its
 * cell (components with equal group noise), and the sums of Z over groups. */
static kn_status visit_groups(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    kn_latent *l = &gp->latent;
    KN_TRY(kn_group_array(gp, a));
    KN_TRY(a->doubles(a, "gamma", l->P, KN_NOT_NEGATIVE, &l->gamma));
    KN_TRY(a->mat(a, "group_z", l->groups.n, l->P, &l->z_sums));
out:
    return status;
}

/* Visits the arrays of whitened responses: psi, outside, and D0, whose number of rows in the
 * file must be kn_complement_count() (else a->bad). */
static kn_status visit_complement(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    if (a->reading ? a->has(a, "psi") : gp->psi != NULL)
        KN_TRY(a->doubles(a, "psi", gp->T, KN_POSITIVE, &gp->psi));
    if (a->reading ? a->has(a, "outside") : gp->outside != NULL)
        KN_TRY(a->doubles(a, "outside", gp->T, KN_NOT_NEGATIVE, &gp->outside));
    if (a->reading ? !a->has(a, "D0") : gp->D0.rows == 0)
        return KN_OK;
    if (!gp->complement_component || gp->latent.n_cells != 1)
        return a->bad(a, "D0");
    KN_TRY(a->mat_f32(a, "D0", kn_complement_count(&gp->latent), gp->T, &gp->D0));
out:
    return status;
}

kn_status kn_components_arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    kn_latent *l = &gp->latent;
    ptrdiff_t P = gp->P + gp->complement_component;
    l->P = P;
    bool grouped = !gp->shared && (a->reading ? a->has(a, "group") : l->groups.n > 0);
    if (grouped)
        KN_TRY(visit_groups(gp, a));
    else if (gp->shared && (a->reading ? a->has(a, "gamma") : l->gamma != NULL))
        KN_TRY(a->doubles(a, "gamma", P, KN_NOT_NEGATIVE, &l->gamma));
    for (int k = 0; k < l->n_cells; k++)
        KN_TRY(visit_cell(gp, k, a));
    if (a->reading)
        KN_TRY(check_cells(gp, grouped, a));
    for (int k = 0; a->reading && (grouped || gp->shared) && k < l->n_cells; k++)
        for (ptrdiff_t i = 0; i < l->cell[k].n; i++)
            if (kn_latent_gamma(l, kn_cell_component(&l->cell[k], i)) != l->cell[k].R0.gamma)
                return a->bad(a, "gamma");
    KN_TRY(a->doubles(a, "c", P, KN_NOT_NEGATIVE, &l->c));
    KN_TRY(a->doubles(a, "d", P, KN_NOT_NEGATIVE, &l->d));
    KN_TRY(a->mat(a, "B", gp->T, gp->P, &gp->B));
    if (a->reading ? a->has(a, "W_C") : gp->W.data != NULL)
        KN_TRY(a->mat(a, "W_C", gp->T, gp->P, &gp->W));
    if (a->reading ? a->has(a, "U_C") : gp->UC.data != NULL)
        KN_TRY(a->mat(a, "U_C", gp->P, gp->P, &gp->UC));
    if (a->reading ? a->has(a, "slope") : gp->slope != NULL)
        KN_TRY(a->doubles(a, "slope", gp->T, KN_NOT_NEGATIVE, &gp->slope));
    KN_TRY(visit_complement(gp, a));
    if (a->reading && grouped)
        KN_TRY(kn_latent_group_sums(a->ctx, l, kn_mat_none()));
out:
    return status;
}

double kn_components_bytes(const kn_gp *gp)
{
    double N = (double)gp->N, T = (double)gp->T, P = (double)gp->P;
    return 8 * (N * (double)gp->latent.cell[0].R0.m * gp->latent.n_cells + N * P + T * P +
                T * (double)gp->D0.rows);
}
