/* Predicts participants with one cell of STGPR [METHOD 4, 7]. Used by predict.c and cv.c.
 *
 *     mean = R0* alpha      var = c (R0** - (R0* U).^2 (1/(r + delta)))      n x responses */
#include "gp/methods/stgpr/internal.h"

#include "gp/latent.h"
#include "la/la.h"

void kn_cell_predictor_clear(kn_cell_predictor *a)
{
    kn_mat_clear(&a->Rs);
    kn_mat_clear(&a->RU);
    kn_mat_clear(&a->RU2);
    kn_mat_clear(&a->sums);
    kn_mat_clear(&a->mean);
    kn_mat_clear(&a->var);
    kn_mat_clear(&a->inverse);
    kn_free(a->self);
    kn_free(a->sq);
    *a = (kn_cell_predictor){0};
}

kn_status kn_cell_predictor_new(kn_ctx *ctx, kn_mat Xs, ptrdiff_t N, const kn_pairs *pairs,
                                ptrdiff_t width, kn_cell_predictor *out)
{
    kn_status status;
    ptrdiff_t n = Xs.rows;
    *out = (kn_cell_predictor){.pairs = pairs, .Xs = Xs};
    KN_TRY(kn_mat_new(ctx, n, N, &out->Rs));
    KN_TRY(kn_mat_new(ctx, n, N, &out->RU));
    KN_TRY(kn_mat_new(ctx, n, width, &out->mean));
    KN_TRY(kn_mat_new(ctx, n, width, &out->var));
    KN_TRY(kn_mat_new(ctx, N, width, &out->inverse));
    KN_TRY(kn_alloc_d(ctx, n, &out->self));
    KN_TRY(kn_alloc_d(ctx, n, &out->sq));
out:
    return status;
}

kn_status kn_cell_predictor_set_groups(kn_ctx *ctx, kn_cell_predictor *a, const ptrdiff_t *group,
                                       ptrdiff_t groups, bool variances)
{
    kn_status status = KN_OK;
    a->group = group;
    if (variances) {
        KN_TRY(kn_mat_new(ctx, a->RU.rows, a->RU.cols, &a->RU2));
        KN_TRY(kn_mat_new(ctx, groups, a->RU.cols, &a->sums));
    }
out:
    return status;
}

void kn_cell_predictor_bind(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                            const kn_cov_point *at, bool variances)
{
    const kn_cov *cov = w->samples->cov;
    double theta[KN_COV_THETA];
    kn_cov_theta(cov, at, theta);
    kn_cov_fill(cov, theta, a->pairs, a->Rs);
    if (!variances)
        return;
    kn_cov_self(cov, theta, a->Xs, a->sq, a->self);
    kn_mat RU = kn_cols(a->RU, 0, w->m);
    kn_gemm(ctx, 1, KN_N, a->Rs, KN_N, w->U, 0, RU);
    if (a->group) { /* both RU and its squares are needed */
        kn_groups_sums(w->samples->groups, w->U, kn_cols(a->sums, 0, w->m));
        return;
    }
    kn_latent_square(RU);
}

/* Returns the model variance of response j of participant i in a known group: Q = (c R0* + gamma
 * d G*) U,
 *     var = c R0** + gamma d - Q.^2 (1/(c r + d))
 *     less, for low rank, gamma^2 d (n/(1 + n gamma) - |G* U|^2) [METHOD 4] */
static double compute_group_variance(const kn_cell_predictor *a, const kn_cell_work *w, ptrdiff_t i,
                                     ptrdiff_t j)
{
    ptrdiff_t g = a->group[i];
    double c = w->c[j], d = w->d[j], gamma = w->gamma, n = w->samples->groups->size[g];
    double square = 0, left = n / (1 + n * gamma);
    for (ptrdiff_t k = 0; k < w->m; k++) {
        double s = kn_at(a->sums, g, k), q = c * kn_at(a->RU, i, k) + gamma * d * s;
        square += q * q / (c * w->r[k] + d);
        left -= s * s;
    }
    return c * a->self[i] + gamma * d - square - (kn_cell_is_low(w) ? gamma * gamma * d * left : 0);
}

/* var = c (R0** - (R0* U).^2 (1/(r + delta))) */
void kn_cell_predictor_variances(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                                 ptrdiff_t n)
{
    double clamped = 0; /* not reported */
    kn_mat v = kn_cols(a->var, 0, n), inverse = kn_sub(a->inverse, 0, 0, w->m, n);
    kn_mat RU2 = kn_cols(a->group ? a->RU2 : a->RU, 0, w->m);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < w->m; i++)
            kn_col(inverse, j)[i] = w->c[j] > 0 ? 1 / (w->c[j] * w->r[i] + w->d[j]) : 0;
    if (a->group) {
        kn_mat_set(RU2, kn_cols(a->RU, 0, w->m));
        kn_latent_square(RU2);
    }
    kn_gemm(ctx, 1, KN_N, RU2, KN_N, inverse, 0, v);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < v.rows; i++) {
            double c = w->c[j], prior = c * a->self[i], left = prior - c * c * kn_at(v, i, j);
            if (a->group && a->group[i] >= 0 && w->gamma > 0) {
                prior += w->gamma * w->d[j];
                left = compute_group_variance(a, w, i, j);
            }
            kn_col(v, j)[i] = kn_clamp_nonnegative(left, prior, &clamped);
        }
}

void kn_cell_predictor_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t N,
                            ptrdiff_t width)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, (s->groups > 0 ? 3 : 2) * N + 2);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->groups, N);
    kn_plan_alloc_d(r, KN_NEED_WORK, 2 * n + N, width);
}

double kn_cell_predictor_means(ptrdiff_t n, ptrdiff_t N, ptrdiff_t width)
{
    return (double)n * (3.0 * (double)N + 2.0 * (double)width) + (double)N * (double)width;
}
