/* Collapsed variational bound of convolved processes with inducing functions, the default form
 * [METHOD 1i].
 *
 *     Phi = sum_t K_t'K_t/s2_t   Bm = L_u^-1 Phi L_u^-T   I + Bm = L_a L_a'
 *     b = L_u^-1 sum_t K_t'y_t/s2_t   w = (I+Bm)^-1 b   a = L_u^-T w
 *     E = L_u^-T (I - (I+Bm)^-1) L_u^-1
 *     bound = -1/2 [NT ln 2pi + N sum ln s2_t + ln|I+Bm| + sum |y_t|^2/s2_t - b'w]
 *             -1/2 [N sum_t k_t/s2_t - tr Bm]
 *     mean = K*_t a        var = k_t - sum (K*_t E) .* K*_t
 *
 * K_t N x m, K_uu = L_u L_u'. Sums over tasks, one at a time: 4 N T m^2 flops with the gradient,
 * and N m + 5 m^2 numbers. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"
#include "la/vec.h"

typedef struct work {
    kn_mat K, dK;            /* N x m  of one task */
    kn_mat Lu, La, Bm, H, E; /* m x m; H = (I + Bm)^-1 */
    kn_mat b, w, a;          /* m x 1 */
    kn_mat r;                /* N x 1 */
} work;

/* Frees the work space of the bound. */
static void work_clear(work *k)
{
    kn_mat_clear(&k->K);
    kn_mat_clear(&k->dK);
    kn_mat_clear(&k->Lu);
    kn_mat_clear(&k->La);
    kn_mat_clear(&k->Bm);
    kn_mat_clear(&k->H);
    kn_mat_clear(&k->E);
    kn_mat_clear(&k->b);
    kn_mat_clear(&k->w);
    kn_mat_clear(&k->a);
    kn_mat_clear(&k->r);
}

/* Allocates the work space of the bound for N participants and m inducing values; dK (N x m)
 * only for a gradient. The caller clears k, also after an error. */
static kn_status work_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t m, bool gradient, work *k)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, N, m, &k->K));
    if (gradient)
        KN_TRY(kn_mat_new(ctx, N, m, &k->dK));
    KN_TRY(kn_mat_new(ctx, m, m, &k->Lu));
    KN_TRY(kn_mat_new(ctx, m, m, &k->La));
    KN_TRY(kn_mat_new(ctx, m, m, &k->Bm));
    KN_TRY(kn_mat_new(ctx, m, m, &k->H));
    KN_TRY(kn_mat_new(ctx, m, m, &k->E));
    KN_TRY(kn_mat_new(ctx, m, 1, &k->b));
    KN_TRY(kn_mat_new(ctx, m, 1, &k->w));
    KN_TRY(kn_mat_new(ctx, m, 1, &k->a));
    KN_TRY(kn_mat_new(ctx, N, 1, &k->r));
out:
    return status;
}

/* Computes the sums over tasks, in the coordinates whitened by L_u (Cholesky factor of K_uu): Bm
 * = L_u^-1 (sum_t K_t'K_t/s2_t) L_u^-T (m x m) and b = L_u^-1 sum_t K_t'y_t/s2_t (m). 2 N m^2 T
 * flops. */
static kn_status sum_tasks(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, work *k)
{
    kn_status status;
    kn_conv_inducing(c, d->uu, k->Lu);
    KN_TRY(kn_chol(ctx, k->Lu, "the covariance of the inducing values"));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        KN_TRY(kn_check_cancel(ctx));
        kn_conv_cross(c, t, d->fu, k->K);
        kn_syrk(ctx, 1 / c->s2[t], KN_T, k->K, 1, k->Bm);
        kn_gemm(ctx, 1 / c->s2[t], KN_T, k->K, KN_N, kn_cols(d->Y, t, 1), 1, k->b);
    }
    kn_mirror(k->Bm);
    kn_trsm_left(ctx, KN_N, k->Lu, k->Bm);
    kn_trsm_right(ctx, KN_T, k->Lu, k->Bm);
    kn_trsm_left(ctx, KN_N, k->Lu, k->b);
out:
    return status;
}

/* Factors I + Bm = LL' (k->La) and computes w = (I + Bm)^-1 b, the weights a = L_u^-T w, H = (I
 * + Bm)^-1, and E = L_u^-T (I - H) L_u^-1 (m x m), from which variances follow. */
static kn_status factor_precision(kn_ctx *ctx, work *k)
{
    kn_status status;
    ptrdiff_t m = k->Bm.rows;
    kn_mat_set(k->La, k->Bm);
    for (ptrdiff_t i = 0; i < m; i++)
        kn_col(k->La, i)[i] += 1;
    KN_TRY(kn_chol(ctx, k->La, "the precision of the inducing values"));
    kn_mat_set(k->w, k->b);
    kn_trsm_left(ctx, KN_N, k->La, k->w);
    kn_trsm_left(ctx, KN_T, k->La, k->w);
    kn_mat_set(k->a, k->w);
    kn_trsm_left(ctx, KN_T, k->Lu, k->a);
    kn_conv_inverse(ctx, k->La, k->H);
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(k->E, j)[i] = (i == j) - kn_at(k->H, i, j);
    kn_trsm_left(ctx, KN_T, k->Lu, k->E);
    kn_trsm_right(ctx, KN_N, k->Lu, k->E);
out:
    return status;
}

/* Returns the variational lower bound of the log likelihood from the sums and factors in *k. */
static double compute_bound(const kn_conv *c, const kn_conv_data *d, const work *k)
{
    double N = (double)d->Y.rows, sum = kn_conv_log_det(k->La);
    for (ptrdiff_t t = 0; t < c->T; t++)
        sum += N * (log(2 * M_PI) + log(c->s2[t])) +
               (kn_sumsq(kn_cols(d->Y, t, 1)) + N * kn_conv_variance(c, t)) / c->s2[t];
    for (ptrdiff_t i = 0; i < k->b.rows; i++)
        sum -= k->b.data[i] * k->w.data[i] + kn_at(k->Bm, i, i);
    return -0.5 * sum;
}

/* Adds to *g the derivatives of the bound by the parameters of each task t, by dK_t = [(y_t -
 * K_t a) a' + K_t E]/s2_t (N x m). KN_ERR_CANCELLED between tasks. */
static kn_status add_task_gradients(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, work *k,
                                    kn_conv *g)
{
    kn_status status = KN_OK;
    double N = (double)d->Y.rows;
    ptrdiff_t m = k->K.cols;
    for (ptrdiff_t t = 0; t < c->T; t++) {
        double s2 = c->s2[t], explained = 0;
        KN_TRY(kn_check_cancel(ctx));
        kn_conv_cross(c, t, d->fu, k->K);
        kn_mat_set(k->r, kn_cols(d->Y, t, 1));
        kn_gemm(ctx, -1, KN_N, k->K, KN_N, k->a, 1, k->r);
        kn_gemm(ctx, 1 / s2, KN_N, k->K, KN_N, k->E, 0, k->dK);
        for (ptrdiff_t j = 0; j < m; j++)
            explained += kn_vec_dot(k->K.rows, kn_col(k->dK, j), kn_col(k->K, j));
        kn_gemm(ctx, 1 / s2, KN_N, k->r, KN_T, k->a, 1, k->dK);
        kn_conv_cross_gradient(c, t, d->fu, k->dK, g);
        for (ptrdiff_t q = 0; q < c->Q; q++)
            kn_col(g->S, q)[t] -= N * kn_at(c->S, t, q) / s2;
        g->s2[t] += 0.5 * (-N + kn_sumsq(k->r) / s2 - explained + N * kn_conv_variance(c, t) / s2);
    }
out:
    return status;
}

/* Adds to *g the derivatives of the bound by ln nu through K_uu: dK_uu = 1/2 L_u^-T [I -
 * (I+Bm)^-1 - ww' - Bm] L_u^-1 (m x m). Overwrites k->Bm. */
static void add_inducing_gradient(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, work *k,
                                  kn_conv *g)
{
    ptrdiff_t m = k->Bm.rows;
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(k->Bm, j)[i] = 0.5 * ((i == j) - kn_at(k->H, i, j) -
                                         k->w.data[i] * k->w.data[j] - kn_at(k->Bm, i, j));
    kn_trsm_left(ctx, KN_T, k->Lu, k->Bm);
    kn_trsm_right(ctx, KN_N, k->Lu, k->Bm);
    kn_conv_inducing_gradient(c, d->uu, k->Bm, g);
}

/* Implements kn_conv_form.value: the collapsed variational bound; optionally its gradient and
 * the posterior, which has a and E. */
static kn_status evaluate_bound(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                                kn_conv *g, kn_conv_posterior *p)
{
    kn_status status;
    work k = {0};
    KN_TRY(work_new(ctx, d->Y.rows, kn_conv_m(c), g != NULL, &k));
    KN_TRY(sum_tasks(ctx, c, d, &k));
    KN_TRY(factor_precision(ctx, &k));
    *value = compute_bound(c, d, &k);
    if (g) {
        KN_TRY(add_task_gradients(ctx, c, d, &k, g));
        add_inducing_gradient(ctx, c, d, &k, g);
    }
    if (p) {
        p->a = k.a;
        p->E = k.E;
        k.a = k.E = kn_mat_none();
    }
out:
    work_clear(&k);
    return status;
}

/* Implements kn_conv_form.predict: mean = K* a, var = k_t - diag(K* E K*') for each task; the
 * training data d are not needed. */
static kn_status predict_bound(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                               const kn_conv_posterior *p, const kn_conv_query *query)
{
    kn_status status;
    kn_mat K = {0}, KE = {0};
    ptrdiff_t n = query->fu.rows, m = kn_conv_m(c);
    (void)d;
    KN_TRY(kn_mat_new(ctx, n, m, &K));
    KN_TRY(kn_mat_new(ctx, n, m, &KE));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        kn_conv_cross(c, t, query->fu, K);
        kn_gemm(ctx, 1, KN_N, K, KN_N, p->a, 0, kn_cols(query->mean, t, 1));
        kn_gemm(ctx, 1, KN_N, K, KN_N, p->E, 0, KE);
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(query->var, t)[i] = kn_conv_variance(c, t);
        kn_conv_row_dots(K, KE, -1, kn_col(query->var, t));
    }
out:
    kn_mat_clear(&K);
    kn_mat_clear(&KE);
    return status;
}

/* Leave-one-out: without participant n the precision of the whitened inducing values is I + Bm -
 * VV', V (m x T) the columns L_u^-1 k_tn/sqrt(s2_t), and V y is subtracted from b. This precision
 * is never below I, so that nothing cancels. var = k_t - |L_u^-1 k_tn|^2 + |L^-1 L_u^-1 k_tn|^2 L
 * the factor of that precision */
typedef struct loo_work {
    const kn_conv *c;
    kn_mat V, R; /* m x T  L_u^-1 k_tn, and L^-1 of it */
    kn_mat A, x; /* m x m, m x 1 */
    kn_mat row;  /* 1 x m */
} loo_work;

/* Computes residual and variance (row n, T columns) of all tasks of participant n when its own
 * values are held out, from sums and factors in *k: m^3 flops. */
static kn_status loo_participant(kn_ctx *ctx, const work *k, const kn_conv_data *d, loo_work *l,
                                 ptrdiff_t n, kn_mat residual, kn_mat var)
{
    kn_status status;
    const kn_conv *c = l->c;
    ptrdiff_t m = kn_conv_m(c);
    for (ptrdiff_t t = 0; t < c->T; t++) {
        kn_conv_cross(c, t, kn_sub(d->fu, n, 0, 1, c->M), l->row);
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(l->V, t)[i] = l->row.data[i * l->row.ld];
    }
    kn_trsm_left(ctx, KN_N, k->Lu, l->V);
    kn_mat_set(l->A, k->Bm);
    kn_mat_set(l->x, k->b);
    for (ptrdiff_t t = 0; t < c->T; t++)
        for (ptrdiff_t i = 0; i < m; i++) {
            kn_col(l->R, t)[i] = kn_at(l->V, i, t) / sqrt(c->s2[t]);
            l->x.data[i] -= kn_at(l->V, i, t) * kn_at(d->Y, n, t) / c->s2[t];
        }
    kn_syrk(ctx, -1, KN_N, l->R, 1, l->A);
    for (ptrdiff_t i = 0; i < m; i++)
        kn_col(l->A, i)[i] += 1;
    KN_TRY(kn_chol(ctx, l->A, "the precision of the inducing values without one participant"));
    kn_mat_set(l->R, l->V);
    kn_trsm_left(ctx, KN_N, l->A, l->R);
    kn_trsm_left(ctx, KN_N, l->A, l->x);
    for (ptrdiff_t t = 0; t < c->T; t++) {
        const double *r = kn_col(l->R, t);
        kn_col(residual, t)[n] = kn_at(d->Y, n, t) - kn_vec_dot(m, r, l->x.data);
        kn_col(var, t)[n] =
            kn_conv_variance(c, t) - kn_sumsq(kn_cols(l->V, t, 1)) + kn_vec_dot(m, r, r);
    }
out:
    return status;
}

/* Implements kn_conv_form.loo of the variational bound: residual and variance (N x T) of each
 * participant when all its T values are held out; m^3 flops per participant, m inducing values. */
static kn_status loo_bound(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                           const kn_conv_posterior *p, kn_mat residual, kn_mat var)
{
    kn_status status;
    work k = {0};
    loo_work l = {.c = c};
    ptrdiff_t m = kn_conv_m(c);
    (void)p;
    KN_TRY(work_new(ctx, d->Y.rows, m, false, &k));
    KN_TRY(sum_tasks(ctx, c, d, &k));
    KN_TRY(kn_mat_new(ctx, m, c->T, &l.V));
    KN_TRY(kn_mat_new(ctx, m, c->T, &l.R));
    KN_TRY(kn_mat_new(ctx, m, m, &l.A));
    KN_TRY(kn_mat_new(ctx, m, 1, &l.x));
    KN_TRY(kn_mat_new(ctx, 1, m, &l.row));
    for (ptrdiff_t n = 0; n < d->Y.rows; n++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(loo_participant(ctx, &k, d, &l, n, residual, var));
    }
out:
    kn_mat_clear(&l.V);
    kn_mat_clear(&l.R);
    kn_mat_clear(&l.A);
    kn_mat_clear(&l.x);
    kn_mat_clear(&l.row);
    work_clear(&k);
    return status;
}

/* Adds the work space of the bound to the memory plan: N participants, m inducing values and
 * `tall` N x m matrices. */
static void need_work(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t m, ptrdiff_t tall)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, tall * m + 1);
    for (int i = 0; i < 5; i++)
        kn_plan_alloc_d(r, KN_NEED_WORK, m, m);
    kn_plan_alloc_d(r, KN_NEED_WORK, m, 3);
}

/* Implements kn_conv_form.need_value of the bound, which predicts its memory in plan r; only the
 * peak rises. */
static void need_value(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    (void)T;
    need_work(r, N, m, 2);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_predict of the bound, which predicts its memory in plan r for n
 * new participants; only the peak rises. */
static void need_predict(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    (void)N, (void)T;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, 2 * m);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_loo of the bound, which predicts its memory in plan r; only the
 * peak rises. */
static void need_loo(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    need_work(r, N, m, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, m, 2 * T + m + 2);
    kn_plan_free_to(r, mark);
}

const kn_conv_form kn_conv_bound = {.value = evaluate_bound,
                                    .predict = predict_bound,
                                    .loo = loo_bound,
                                    .need_value = need_value,
                                    .need_predict = need_predict,
                                    .need_loo = need_loo};
