/* Implements latent.h: memory of the latent form, and sums over groups. Prediction is in
 * predict/predict.c. */
#include "gp/latent.h"

#include "la/la.h"

void kn_latent_clear(kn_latent *l)
{
    kn_mat_clear(&l->X);
    for (int k = 0; k < l->n_cells; k++) {
        kn_decomp_clear(&l->cell[k].R0);
        kn_mat_clear(&l->cell[k].A);
        kn_free(l->cell[k].which);
        kn_mat_clear(&l->cell[k].sums);
    }
    kn_free(l->c);
    kn_free(l->d);
    kn_free(l->gamma);
    kn_groups_clear(&l->groups);
    kn_mat_clear(&l->z_sums);
    *l = (kn_latent){0};
}

kn_status kn_latent_new(kn_ctx *ctx, const kn_latent_parts *from, kn_latent *out)
{
    kn_status status;
    kn_mat *A = from->A;
    ptrdiff_t P = A->cols;
    *out = (kn_latent){.P = P, .iso = from->iso};
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->d));
    for (ptrdiff_t p = 0; p < P; p++) {
        out->c[p] = from->c[p];
        out->d[p] = from->d[p];
    }
    kn_latent_cell *cell = &out->cell[out->n_cells++];
    cell->n = P;
    cell->A = *A;
    cell->R0 = *from->R0;
    kn_mat_clear(&cell->R0.rotation);
    out->X = *from->X;
    *A = *from->X = kn_mat_none();
    *from->R0 = (kn_decomp){0};
out:
    if (status != KN_OK)
        kn_latent_clear(out);
    return status;
}

void kn_latent_need(kn_mem_plan *r, const kn_problem_size *s)
{
    ptrdiff_t P = s->P + 1; /* and the complement component */
    int cells = s->groups > 0 ? KN_GAMMAS : 1;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F);
    for (int k = 0; k < cells; k++) {
        if (s->M < s->N) {
            kn_lowrank_kept_need(r, s);
        } else {
            kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->N);
            kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, 1);
        }
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->groups, s->M);
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->groups, P);
    kn_plan_alloc_d(r, KN_NEED_WORK, P, 3);
}

double kn_clamp_nonnegative(double v, double scale, double *clamped)
{
    if (v >= 0)
        return v;
    if (scale > 0 && -v / scale > *clamped)
        *clamped = -v / scale;
    return 0;
}

void kn_cell_inverse(const kn_latent *l, const kn_latent_cell *cell, kn_mat inverse, kn_mat weights)
{
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        double c = l->c[p], d = l->d[p];
        for (ptrdiff_t i = 0; i < cell->R0.m; i++) {
            /* 0: the component has no energy */
            double K = c * cell->R0.r[i] + d, v = K > 0 ? 1 / K : 0;
            kn_col(inverse, k)[i] = v;
            if (weights.data)
                kn_col(weights, k)[i] = kn_at(cell->A, i, k) * c * v;
        }
    }
}

void kn_latent_square(kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(M, j)[i] *= kn_at(M, i, j);
}

kn_status kn_latent_group_sums(kn_ctx *ctx, kn_latent *l, kn_mat Z)
{
    kn_status status = KN_OK;
    kn_mat U = {0};
    if (l->groups.n == 0)
        return KN_OK;
    if (Z.rows > 0) { /* with P = 0, Z has rows but no data */
        KN_TRY(kn_mat_new(ctx, l->groups.n, l->P, &l->z_sums));
        kn_groups_sums(&l->groups, Z, l->z_sums);
    }
    for (int k = 0; k < l->n_cells; k++) {
        kn_latent_cell *cell = &l->cell[k];
        KN_TRY(kn_mat_new(ctx, l->groups.n, cell->R0.m, &cell->sums));
        if (kn_decomp_is_low(&cell->R0)) {
            KN_TRY(kn_mat_new(ctx, l->X.rows, cell->R0.m, &U));
            KN_TRY(kn_decomp_vectors(ctx, &cell->R0, &l->groups, l->X, U));
            kn_groups_sums(&l->groups, U, cell->sums);
            kn_mat_clear(&U);
        } else {
            kn_groups_sums(&l->groups, cell->R0.U, cell->sums);
        }
    }
out:
    kn_mat_clear(&U);
    return status;
}
