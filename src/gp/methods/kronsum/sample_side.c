/* Simultaneous diagonalisation of R0 and O = I + tau G, and Y in the resulting coordinates
 * [METHOD 1g].
 *
 *     U'O U = I    U'R0 U = diag(r)    A = U'Y    E = Y'O^-1 Y - A'A    ln|O|
 *
 * Dense (U is N x N, no E) or of low rank, as the R0 of the fit. Everything that does not depend on
 * tau is computed once. */
#include "gp/methods/kronsum/internal.h"

#include "gp/likelihood/engine.h"
#include "la/la.h"

void kn_kronsum_side_clear(kn_kronsum_side *s)
{
    kn_pairs_clear(&s->pairs);
    kn_lowrank_clear(&s->low);
    kn_decomp_clear(&s->R0);
    kn_mat_clear(&s->A);
    kn_mat_clear(&s->E);
    kn_mat_clear(&s->sums);
    *s = (kn_kronsum_side){0};
}

kn_status kn_kronsum_side_new(kn_ctx *ctx, const kn_kronsum_problem *problem, kn_kronsum_side *out)
{
    kn_status status;
    kn_mat X = problem->X, Y = problem->Y;
    const kn_groups *groups = problem->groups;
    kn_cov cov = kn_cov_between(&problem->spec->sample);
    *out = (kn_kronsum_side){.X = X, .Y = Y, .groups = groups};
    for (int k = 0; k < cov.n_theta; k++)
        out->theta[k] = problem->theta[k];
    if (problem->spec->rank > 0) {
        KN_TRY(kn_lowrank_new(ctx, X, Y, groups->n > 0 ? groups : NULL, &cov, problem->spec->rank,
                              &out->low));
        out->low.tol = kn_rank_tolerance;
        KN_TRY(kn_lowrank_at(ctx, &out->low, problem->theta));
        out->R0 = (kn_decomp){.N = X.rows, .cov = cov};
        KN_TRY(kn_mat_new(ctx, Y.cols, Y.cols, &out->E));
    } else {
        KN_TRY(kn_pairs_within(ctx, X, &cov.stats, &out->pairs));
        KN_TRY(kn_decomp_new(ctx, X.rows, &cov, &out->R0));
    }
    if (groups->n > 0) {
        KN_TRY(kn_mat_new(ctx, groups->n, Y.cols, &out->sums));
        kn_groups_sums(groups, Y, out->sums);
    }
    KN_TRY(kn_kronsum_side_at(ctx, out, problem->tau));
out:
    if (status != KN_OK)
        kn_kronsum_side_clear(out);
    return status;
}

/* Computes s->E = Y'O^-1 Y - A'A (T x T), the energy of Y in directions outside U, at group
 * noise ratio tau; low rank only. */
static kn_status compute_outside(kn_ctx *ctx, kn_kronsum_side *s, double tau)
{
    kn_status status = KN_OK;
    kn_mat HY = {0};
    if (tau > 0) {
        KN_TRY(kn_mat_copy(ctx, s->Y, &HY));
        kn_groups_half(s->groups, tau, HY);
    }
    kn_syrk(ctx, 1, KN_T, tau > 0 ? HY : s->Y, 0, s->E);
    kn_syrk(ctx, -1, KN_T, s->A, 1, s->E);
    kn_mirror(s->E);
out:
    kn_mat_clear(&HY);
    return status;
}

kn_status kn_kronsum_side_at(kn_ctx *ctx, kn_kronsum_side *s, double tau)
{
    kn_status status;
    bool low = s->E.data != NULL;
    s->R0.gamma = tau;
    s->log_det = kn_groups_logdet(s->groups, tau);
    KN_TRY(low ? kn_lowrank_decompose(ctx, &s->low, &s->R0)
               : kn_decomp_compute(ctx, &s->R0, &s->pairs, s->groups, s->theta));
    if (s->A.rows != s->R0.m) {
        kn_mat_clear(&s->A);
        KN_TRY(kn_mat_new(ctx, s->R0.m, s->Y.cols, &s->A));
    }
    if (low) {
        KN_TRY(kn_lowrank_project(ctx, &s->low, &s->R0, s->A));
        KN_TRY(compute_outside(ctx, s, tau));
    } else {
        kn_gemm(ctx, 1, KN_T, s->R0.U, KN_N, s->Y, 0, s->A);
    }
out:
    return status;
}

kn_kronsum_data kn_kronsum_side_data(const kn_kronsum_side *s)
{
    return (kn_kronsum_data){
        .N = s->Y.rows, .T = s->Y.cols, .A = s->A, .r = s->R0.r, .E = s->E, .log_det = s->log_det};
}

/* Computes the sums over groups of the rows of U, u (groups x m), and, for low rank, of Y W, z
 * (groups x T). */
static kn_status sum_groups(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k, kn_mat u,
                            kn_mat z)
{
    kn_status status = KN_OK;
    kn_mat U = {0};
    if (!s->E.data) {
        kn_groups_sums(s->groups, s->R0.U, u);
        return KN_OK;
    }
    KN_TRY(kn_mat_new(ctx, s->X.rows, s->R0.m, &U));
    KN_TRY(kn_decomp_vectors(ctx, &s->R0, s->groups, s->X, U));
    kn_groups_sums(s->groups, U, u);
    kn_gemm(ctx, 1, KN_N, s->sums, KN_N, k->W, 0, z);
out:
    kn_mat_clear(&U);
    return status;
}

/* sum G_O .* G = 1/2 sum over groups of [|sum of K^-1 z|^2 - trace of K^-1's block], K^-1 z = U
 * (V - A) + O^-1 z with the directions outside U, where V = A and k = 1 */
kn_status kn_kronsum_side_slope(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                                double *slope)
{
    kn_status status;
    bool low = s->E.data != NULL;
    ptrdiff_t m = s->R0.m, n = s->groups->n;
    double tau = s->R0.gamma, *w = NULL;
    kn_mat u = {0}, z = {0}, M = {0};
    kn_kronsum_data data = kn_kronsum_side_data(s);
    KN_TRY(kn_mat_new(ctx, n, m, &u));
    KN_TRY(kn_mat_new(ctx, n, k->T, &z));
    KN_TRY(kn_mat_new(ctx, m, k->T, &M));
    KN_TRY(kn_alloc_d(ctx, m, &w));
    KN_TRY(sum_groups(ctx, s, k, u, z));
    kn_kronsum_outer(&data, k, true, M, w);
    for (ptrdiff_t p = 0; low && p < k->T; p++) { /* V - A = -r c V */
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(M, p)[i] *= -s->R0.r[i] * k->c[p];
        for (ptrdiff_t g = 0; g < n; g++)
            kn_col(z, p)[g] /= 1 + s->groups->size[g] * tau;
    }
    kn_gemm(ctx, 1, KN_N, u, KN_N, M, low ? 1 : 0, z);
    *slope = 0.5 * kn_sumsq(z);
    for (ptrdiff_t g = 0; g < n; g++) {
        double size = s->groups->size[g], trace = low ? (double)k->T * size / (1 + size * tau) : 0;
        for (ptrdiff_t i = 0; i < m; i++)
            trace += kn_at(u, g, i) * kn_at(u, g, i) * (w[i] - (low ? (double)k->T : 0));
        *slope -= 0.5 * trace;
    }
out:
    kn_free(w);
    kn_mat_clear(&M);
    kn_mat_clear(&z);
    kn_mat_clear(&u);
    return status;
}

kn_status kn_kronsum_latent_new(kn_ctx *ctx, kn_kronsum_side *s, kn_latent *out)
{
    kn_status status;
    kn_mat X = {0}, A = {0};
    double *c = NULL, *d = NULL, tau = s->R0.gamma;
    ptrdiff_t T = s->Y.cols;
    *out = (kn_latent){0};
    KN_TRY(kn_mat_copy(ctx, s->X, &X));
    KN_TRY(kn_mat_new(ctx, s->R0.m, T, &A));
    KN_TRY(kn_alloc_d(ctx, T, &c));
    KN_TRY(kn_alloc_d(ctx, T, &d));
    for (ptrdiff_t p = 0; p < T; p++)
        d[p] = 1;
    KN_TRY(kn_latent_new(ctx, &(kn_latent_parts){&X, &s->R0, &A, c, d, 0}, out));
    if (s->groups->n == 0)
        goto out;
    KN_TRY(kn_alloc_d(ctx, T, &out->gamma));
    for (ptrdiff_t p = 0; p < T; p++)
        out->gamma[p] = tau;
    KN_TRY(kn_groups_subset(ctx, s->groups, NULL, s->X.rows, &out->groups));
    KN_TRY(kn_latent_group_sums(ctx, out, s->Y));
out:
    kn_free(c);
    kn_free(d);
    kn_mat_clear(&X);
    kn_mat_clear(&A);
    if (status != KN_OK)
        kn_latent_clear(out);
    return status;
}

void kn_kronsum_latent_set(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                           kn_latent *out)
{
    kn_gemm(ctx, 1, KN_N, s->A, KN_N, k->W, 0, out->cell[0].A);
    if (out->groups.n > 0)
        kn_gemm(ctx, 1, KN_N, s->sums, KN_N, k->W, 0, out->z_sums);
    for (ptrdiff_t p = 0; p < k->T; p++)
        out->c[p] = k->c[p];
}

void kn_kronsum_side_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size problem = *s;
    problem.P = s->T;
    if (s->M < s->N) {
        kn_lowrank_need(r, &problem);
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->T);
        if (s->groups > 0) { /* O^-1/2 Y */
            kn_mem_usage mark = r->now;
            kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->T);
            kn_plan_free_to(r, mark);
        }
    } else {
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
        kn_decomp_need(r, s->N);
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M + s->groups, s->T);
}
