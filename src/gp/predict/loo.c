/* Implements loo.h from the eigendecomposition of each cell; the low-rank case adds the directions
 * outside U. Nothing is fitted again: the formulas are closed. */
#include "gp/predict/loo.h"

#include "gp/basis/basis.h"
#include "gp/method.h"
#include "la/la.h"

/* Work space of one cell. With K_p = c_p R0 + d_p H, K_p^-1 = U diag(1/k) U' and, with directions
 * outside U,
 *     K_p^-1 = U diag(1/k - 1/d) U' + H^-1/d                                         [METHOD 6a] */
typedef struct leaving {
    const kn_latent *l;
    const kn_latent_cell *cell;
    bool low;
    kn_mat U, inverse; /* N x m, m x n: 1/k, or 1/k - 1/d if R0 is of low rank */
    kn_mat q, k;       /* N x n: K^-1 z and the diagonal of K^-1 */
    kn_mat Z, mean, variance;
    double *clamped;
} leaving;

static void leaving_clear(leaving *v)
{
    kn_mat_clear(&v->U);
    kn_mat_clear(&v->inverse);
    kn_mat_clear(&v->q);
    kn_mat_clear(&v->k);
}

/* Returns diagonal element i of H^-1, H the noise covariance between participants at the cell's
 * gamma: 1 without group noise. */
static double inverse_diagonal(const leaving *v, ptrdiff_t i)
{
    double gamma = v->cell->R0.gamma;
    return gamma > 0 ? 1 - kn_groups_less(&v->l->groups, gamma, v->l->groups.of[i]) : 1;
}

/* Computes, for the components of one cell, U (N x m), inverse (m x n) = 1/k, q = K^-1 z and k =
 * diag(K^-1) (N x n). The caller clears v, also after an error. */
static kn_status prepare_cell(kn_ctx *ctx, leaving *v)
{
    kn_status status;
    const kn_latent *l = v->l;
    const kn_latent_cell *cell = v->cell;
    ptrdiff_t N = l->X.rows, m = cell->R0.m;
    kn_mat Yt = {0}, square = {0}, HZ = {0};
    KN_TRY(kn_mat_new(ctx, m, cell->n, &v->inverse));
    KN_TRY(kn_mat_new(ctx, m, cell->n, &Yt));
    KN_TRY(kn_mat_new(ctx, N, cell->n, &v->q));
    KN_TRY(kn_mat_new(ctx, N, cell->n, &v->k));
    KN_TRY(kn_mat_new(ctx, N, m, &v->U));
    if (v->low)
        KN_TRY(kn_decomp_vectors(ctx, &cell->R0, &l->groups, l->X, v->U));
    else
        kn_mat_set(v->U, cell->R0.U);
    kn_cell_inverse(l, cell, v->inverse, kn_mat_none());
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        for (ptrdiff_t i = 0; i < m; i++) {
            if (v->low) /* 1/k - 1/d = -c r/(k d) */
                kn_col(v->inverse, k)[i] *= -l->c[p] * cell->R0.r[i] / l->d[p];
            kn_col(Yt, k)[i] = kn_at(cell->A, i, k) * kn_at(v->inverse, i, k);
        }
    }
    kn_gemm(ctx, 1, KN_N, v->U, KN_N, Yt, 0, v->q);
    KN_TRY(kn_mat_copy(ctx, v->U, &square));
    kn_latent_square(square);
    kn_gemm(ctx, 1, KN_N, square, KN_N, v->inverse, 0, v->k);
    if (!v->low)
        goto out;
    KN_TRY(kn_mat_copy(ctx, v->Z, &HZ));
    kn_groups_inverse(&l->groups, cell->R0.gamma, HZ);
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        for (ptrdiff_t i = 0; i < N; i++) {
            kn_col(v->q, k)[i] += kn_at(HZ, i, p) / l->d[p];
            kn_col(v->k, k)[i] += inverse_diagonal(v, i) / l->d[p];
        }
    }
out:
    kn_mat_clear(&HZ);
    kn_mat_clear(&square);
    kn_mat_clear(&Yt);
    return status;
}

/* Writes leave-one-out mean and model variance of participant i in the k-th component of the
 * cell (components with equal group noise), from its residual, its variance with noise, and the
 * noise; negative variances become 0. */
static void write_row(const leaving *v, ptrdiff_t i, ptrdiff_t k, double residual,
                      double with_noise, double noise)
{
    ptrdiff_t p = kn_cell_component(v->cell, k);
    double left = with_noise - noise + v->l->c[p] * v->l->iso;
    kn_col(v->mean, p)[i] = kn_at(v->Z, i, p) - residual;
    kn_col(v->variance, p)[i] = kn_clamp_nonnegative(left, with_noise, v->clamped);
}

/* Holds out each participant by itself: residual q/k, variance with noise 1/k. */
static void hold_out_rows(const leaving *v)
{
    for (ptrdiff_t k = 0; k < v->cell->n; k++)
        for (ptrdiff_t i = 0; i < v->Z.rows; i++) {
            double one = 1 / kn_at(v->k, i, k);
            write_row(v, i, k, kn_at(v->q, i, k) * one, one,
                      v->l->d[kn_cell_component(v->cell, k)]);
        }
}

/* Holds out all rows of group g for the k-th component of the cell (components with equal group
 * noise): M = (K_p^-1)_gg, residuals M^-1 q_g, variances with noise diag(M^-1). M (n x n), I (n
 * x n + 1): work space. KN_ERR_NUMERIC if M is not positive definite. */
static kn_status hold_out_group(kn_ctx *ctx, const leaving *v, ptrdiff_t g, ptrdiff_t k, kn_mat M,
                                kn_mat I)
{
    const kn_groups *groups = &v->l->groups;
    const ptrdiff_t *row = groups->row + groups->start[g];
    ptrdiff_t n = M.rows, p = kn_cell_component(v->cell, k);
    double gamma = v->cell->R0.gamma, d = v->l->d[p];
    for (ptrdiff_t b = 0; b < n; b++)
        for (ptrdiff_t a = b; a < n; a++) {
            double sum = 0;
            for (ptrdiff_t i = 0; i < v->U.cols; i++)
                sum += kn_at(v->U, row[a], i) * kn_at(v->inverse, i, k) * kn_at(v->U, row[b], i);
            if (v->low)
                sum += ((a == b) - kn_groups_less(groups, gamma, g)) / d;
            kn_col(M, b)[a] = sum;
        }
    kn_status status = kn_chol(ctx, M, "what a group has of the inverse covariance");
    if (status != KN_OK)
        return status;
    kn_mat_zero(I);
    for (ptrdiff_t a = 0; a < n; a++) {
        kn_col(I, a)[a] = 1;
        kn_col(I, n)[a] = kn_at(v->q, row[a], k);
    }
    kn_trsm_left(ctx, KN_N, M, I);
    kn_trsm_left(ctx, KN_T, M, I); /* M^-1 [I q] */
    for (ptrdiff_t a = 0; a < n; a++)
        write_row(v, row[a], k, kn_at(I, a, n), kn_at(I, a, a), d * (1 + gamma));
    return KN_OK;
}

/* Leave-one-group-out predictions: holds out one group of rows after the other, for all
 * components of the cell (components with equal group noise). */
static kn_status hold_out_groups(kn_ctx *ctx, const leaving *v)
{
    kn_status status = KN_OK;
    kn_mat M = {0}, I = {0};
    for (ptrdiff_t g = 0; g < v->l->groups.n; g++) {
        ptrdiff_t n = v->l->groups.start[g + 1] - v->l->groups.start[g];
        KN_TRY(kn_mat_new(ctx, n, n, &M));
        KN_TRY(kn_mat_new(ctx, n, n + 1, &I));
        for (ptrdiff_t k = 0; k < v->cell->n; k++)
            KN_TRY(hold_out_group(ctx, v, g, k, M, I));
        kn_mat_clear(&M);
        kn_mat_clear(&I);
    }
out:
    kn_mat_clear(&M);
    kn_mat_clear(&I);
    return status;
}

kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_loo_unit leave, kn_mat Z, kn_mat mean,
                        kn_mat variance, double *clamped)
{
    kn_status status = KN_OK;
    for (int c = 0; c < l->n_cells && status == KN_OK; c++) {
        leaving v = {.l = l,
                     .cell = &l->cell[c],
                     .low = kn_decomp_is_low(&l->cell[c].R0),
                     .Z = Z,
                     .mean = mean,
                     .variance = variance,
                     .clamped = clamped};
        if (v.cell->n == 0)
            continue;
        status = prepare_cell(ctx, &v);
        if (status == KN_OK && leave == KN_LEAVE_GROUP && l->groups.n > 0)
            status = hold_out_groups(ctx, &v);
        else if (status == KN_OK)
            hold_out_rows(&v);
        leaving_clear(&v);
    }
    return status;
}

void kn_latent_loo_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P + 1); /* Z */
    kn_project_need(r, s->N, s->T, s->P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M + s->N, 2 * (s->P + 1));
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->M);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->M);
    if (s->M < s->N)
        kn_lowrank_vectors_need(r, s);
    kn_plan_free_to(r, mark);
}

kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status = gp->method->loo(ctx, gp, Y, out);
    if (status == KN_OK)
        out->Y = *Y;
    return status;
}

kn_status kn_components_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(kn_gp_maps_one_part(ctx, gp, gp->N, out));
    KN_TRY(kn_mat_new(ctx, gp->N, gp->latent.P, &Z)); /* Z = 0 for the complement component */
    KN_TRY(kn_gp_coordinates(ctx, gp, Y, kn_cols(Z, 0, gp->P)));
    KN_TRY(kn_latent_loo(ctx, &gp->latent, KN_LEAVE_GROUP, Z, out->part[0].mean, out->part[0].var,
                         &out->clamped));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Replaces *m by its n rows `sample`; *m is unchanged on error. */
static kn_status select_rows(kn_ctx *ctx, const ptrdiff_t *sample, ptrdiff_t n, kn_mat *m)
{
    kn_mat all = *m;
    kn_status status = kn_mat_new(ctx, n, all.cols, m);
    if (status == KN_OK)
        kn_mat_rows(all, sample, *m);
    kn_mat_clear(&all);
    return status;
}

kn_status kn_gp_maps_select(kn_ctx *ctx, kn_gp_maps *maps, const ptrdiff_t *sample, ptrdiff_t n)
{
    kn_status status;
    if (maps->own || maps->n_parts != 1 || maps->part[0].rows)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "maps of some participants exist for the multi-task methods only");
    KN_TRY(select_rows(ctx, sample, n, &maps->part[0].mean));
    KN_TRY(select_rows(ctx, sample, n, &maps->part[0].var));
    if (maps->part[0].smooth.data)
        KN_TRY(select_rows(ctx, sample, n, &maps->part[0].smooth));
    KN_TRY(kn_alloc_i(ctx, n, &maps->sample));
    for (ptrdiff_t i = 0; i < n; i++)
        maps->sample[i] = sample[i];
    maps->n = maps->part[0].n = n;
out:
    return status;
}
