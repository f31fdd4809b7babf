/* Convolved processes without inducing values: the full covariance of all tasks and participants
 * [Boyle & Frean] [METHOD 1i].
 *
 *     K = [cov(f_t(x_i), f_v(x_j))] + diag(s2_t)   NT x NT     al = K^-1 y
 *     LML = -1/2 [NT ln 2pi + ln|K| + y'al]        dK = 1/2 [al al' - K^-1]
 *     mean = K* al     var = k_t - sum (K* L^-T).^2     K = LL'
 *
 * 7/3 (NT)^3 flops with the gradient and 2 (NT)^2 numbers: for small problems, and as a reference
 * for the other forms. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"
#include "la/vec.h"

/* Computes the lower Cholesky factor L (NT x NT, tasks one below the other) of the covariance K
 * of all tasks and participants with noise, from squared distances ff (N x N). KN_ERR_NUMERIC if
 * K is not positive definite. (NT)^3/3 flops. */
static kn_status factor_covariance(kn_ctx *ctx, const kn_conv *c, kn_mat ff, kn_mat L)
{
    ptrdiff_t N = ff.rows;
    for (ptrdiff_t t = 0; t < c->T; t++)
        for (ptrdiff_t v = 0; v <= t; v++)
            kn_conv_between(c, t, v, ff, kn_sub(L, t * N, v * N, N, N));
    for (ptrdiff_t i = 0; i < L.rows; i++)
        kn_col(L, i)[i] += c->s2[i / N];
    return kn_chol(ctx, L, "the covariance of all tasks and samples");
}

/* Adds to *g the derivatives of the likelihood by S, ln tau, ln nu and ln s2, by the chain rule
 * over dK = 1/2 (al al' - K^-1). al (N x T): K^-1 y; G (NT x NT): K^-1 on entry, overwritten by
 * dK. */
static void add_gradients(const kn_conv *c, const kn_conv_data *d, kn_mat al, kn_mat G, kn_conv *g)
{
    ptrdiff_t N = d->Y.rows;
    for (ptrdiff_t j = 0; j < G.cols; j++)
        for (ptrdiff_t i = 0; i < G.rows; i++)
            kn_col(G, j)[i] = 0.5 * (al.data[i] * al.data[j] - kn_at(G, i, j));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        for (ptrdiff_t v = 0; v < c->T; v++)
            kn_conv_between_gradient(c, t, v, d->ff, kn_sub(G, t * N, v * N, N, N), g);
        for (ptrdiff_t i = t * N; i < (t + 1) * N; i++)
            g->s2[t] += c->s2[t] * kn_at(G, i, i);
    }
}

/* Implements kn_conv_form.value: exact log likelihood of one Gaussian over all tasks and
 * participants; optionally its gradient and the weights alpha = K^-1 y. The other two functions
 * of the form factor K again. */
static kn_status evaluate_dense(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                                kn_conv *g, kn_conv_posterior *p)
{
    kn_status status;
    kn_mat L = {0}, G = {0}, al = {0};
    ptrdiff_t N = d->Y.rows, n = N * c->T;
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_mat_new(ctx, n, n, &L));
    KN_TRY(kn_mat_new(ctx, N, c->T, &al));
    KN_TRY(factor_covariance(ctx, c, d->ff, L));
    kn_mat_set(al, d->Y);
    kn_mat y = kn_mat_cols(al.data, n, 1);
    kn_trsm_left(ctx, KN_N, L, y);
    *value = -0.5 * ((double)n * log(2 * M_PI) + kn_conv_log_det(L) + kn_sumsq(y));
    kn_trsm_left(ctx, KN_T, L, y);
    if (g) {
        KN_TRY(kn_mat_new(ctx, n, n, &G));
        kn_conv_inverse(ctx, L, G);
        add_gradients(c, d, y, G, g);
    }
    if (p) {
        p->alpha = al;
        al = kn_mat_none();
    }
out:
    kn_mat_clear(&L);
    kn_mat_clear(&G);
    kn_mat_clear(&al);
    return status;
}

/* Implements kn_conv_form.predict of the dense form: mean = K* alpha and variance k_t - sum (K*
 * L^-T).^2 of the points of *query for each task t, with L the Cholesky factor of the covariance
 * of all training values. */
static kn_status predict_dense(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                               const kn_conv_posterior *p, const kn_conv_query *query)
{
    kn_status status;
    kn_mat L = {0}, K = {0};
    ptrdiff_t N = d->ff.rows, n = query->ff.rows, all = N * c->T;
    KN_TRY(kn_mat_new(ctx, all, all, &L));
    KN_TRY(kn_mat_new(ctx, n, all, &K));
    KN_TRY(factor_covariance(ctx, c, d->ff, L));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        for (ptrdiff_t v = 0; v < c->T; v++)
            kn_conv_between(c, t, v, query->ff, kn_cols(K, v * N, N));
        kn_gemm(ctx, 1, KN_N, K, KN_N, kn_mat_cols(p->alpha.data, all, 1), 0,
                kn_cols(query->mean, t, 1));
        kn_trsm_right(ctx, KN_T, L, K);
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(query->var, t)[i] = kn_conv_variance(c, t);
        kn_conv_row_dots(K, K, -1, kn_col(query->var, t));
    }
out:
    kn_mat_clear(&L);
    kn_mat_clear(&K);
    return status;
}

/* Computes for one participant n the Cholesky factor B (T x T) of its block of `inverse` = K^-1,
 * and I = that block's inverse: residual = I al_n, variance with noise diag(I). al (N x T): K^-1
 * y. */
static kn_status loo_participant(kn_ctx *ctx, kn_mat inverse, kn_mat al, ptrdiff_t n, kn_mat B,
                                 kn_mat I)
{
    kn_status status;
    ptrdiff_t N = al.rows, T = al.cols;
    for (ptrdiff_t v = 0; v < T; v++)
        for (ptrdiff_t t = 0; t < T; t++)
            kn_col(B, v)[t] = kn_at(inverse, t * N + n, v * N + n);
    KN_TRY(kn_chol(ctx, B, "the precision of a sample"));
    kn_conv_inverse(ctx, B, I);
out:
    return status;
}

/* Implements kn_conv_form.loo: residuals and variances (N x T) from the T x T blocks of K^-1
 * that belong to one participant. */
static kn_status loo_dense(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                           const kn_conv_posterior *p, kn_mat residual, kn_mat var)
{
    kn_status status;
    kn_mat L = {0}, G = {0}, B = {0}, I = {0};
    ptrdiff_t N = d->ff.rows, T = c->T;
    KN_TRY(kn_mat_new(ctx, N * T, N * T, &L));
    KN_TRY(kn_mat_new(ctx, N * T, N * T, &G));
    KN_TRY(kn_mat_new(ctx, T, T, &B));
    KN_TRY(kn_mat_new(ctx, T, T, &I));
    KN_TRY(factor_covariance(ctx, c, d->ff, L));
    kn_conv_inverse(ctx, L, G);
    for (ptrdiff_t n = 0; n < N; n++) {
        KN_TRY(loo_participant(ctx, G, p->alpha, n, B, I));
        for (ptrdiff_t t = 0; t < T; t++) {
            double e = 0;
            for (ptrdiff_t v = 0; v < T; v++)
                e += kn_at(I, t, v) * kn_at(p->alpha, n, v);
            kn_col(residual, t)[n] = e;
            kn_col(var, t)[n] = kn_at(I, t, t) - c->s2[t];
        }
    }
out:
    kn_mat_clear(&L);
    kn_mat_clear(&G);
    kn_mat_clear(&B);
    kn_mat_clear(&I);
    return status;
}

/* Implements kn_conv_form.need_value of the dense, which predicts its memory in plan r form: K
 * and its inverse for N participants and T tasks; only the peak rises. */
static void need_value(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    (void)m;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N * T, 2 * N * T + 1);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_predict of the dense, which predicts its memory in plan r form
 * for n new participants: K and K*; only the peak rises. */
static void need_predict(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    (void)m;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N * T, N * T + n);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_loo of the dense, which predicts its memory in plan r form: K,
 * its inverse and one T x T block; only the peak rises. */
static void need_loo(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    (void)m;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N * T, 2 * N * T);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2 * T);
    kn_plan_free_to(r, mark);
}

const kn_conv_form kn_conv_dense = {.pairs = true,
                                    .value = evaluate_dense,
                                    .predict = predict_dense,
                                    .loo = loo_dense,
                                    .need_value = need_value,
                                    .need_predict = need_predict,
                                    .need_loo = need_loo};
