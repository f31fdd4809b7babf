/* Convolved processes with tasks that are independent given the inducing values: PITC [METHOD 1i].
 *
 *     Q_tt = K_t K_uu^-1 K_t'   D_t = K_tt - Q_tt + s2_t I   Phi = sum K_t' D_t^-1 K_t
 *     A = K_uu + Phi   a = A^-1 sum K_t' D_t^-1 y_t   al_t = D_t^-1 (y_t - K_t a)
 *     LML = -1/2 [NT ln 2pi + ln|A| - ln|K_uu| + sum ln|D_t| + sum y_t'al_t]
 *     G_t = 1/2 [al_t al_t' - D_t^-1 + D_t^-1 K_t A^-1 K_t' D_t^-1]           dK_tt
 *     dK_t = al_t a' - D_t^-1 K_t A^-1 - 2 G_t K_t K_uu^-1             ds2_t = tr G_t
 *     dK_uu = 1/2 [K_uu^-1 - A^-1 - aa'] + sum K_uu^-1 K_t' G_t K_t K_uu^-1
 *     mean = K*_t a + E al_t     E = K*_tt - K*_t K_uu^-1 K_t'     J = K*_t - E D_t^-1 K_t
 *     var = k_t - K*_t K_uu^-1 K*_t' - E D_t^-1 E' + J A^-1 J'
 *
 * A is factored by I + L_u^-1 Phi L_u^-T = L_a L_a', as in the variational bound. One task at a
 * time, and D_t is factored again when needed: 3 N^3 T flops with the gradient, and 2 N^2 numbers.
 */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"
#include "la/vec.h"

typedef struct work {
    kn_mat K, V, W;        /* N x m  K_t; K_t L_u^-T, later D_t^-1 K_t A^-1; L^-1 K_t */
    kn_mat D, G;           /* N x N  L, the Cholesky factor of D_t; G_t */
    kn_mat Lu, La, Ui, Ai; /* m x m  Ui = K_uu^-1, Ai = A^-1 */
    kn_mat dU, m1, m2;     /* m x m */
    kn_mat b, a;           /* m x 1 */
    kn_mat y, al;          /* N x 1 */
    double log_det, square;
} work;

static void work_clear(work *k)
{
    kn_mat *all[] = {&k->K,  &k->V,  &k->W,  &k->D,  &k->G, &k->Lu, &k->La, &k->Ui,
                     &k->Ai, &k->dU, &k->m1, &k->m2, &k->b, &k->a,  &k->y,  &k->al};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kn_mat_clear(all[i]);
}

/* Allocates the work space of PITC for N participants and m inducing values; G (N x N) only for
 * a gradient. The caller clears k, also after an error. */
static kn_status work_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t m, bool gradient, work *k)
{
    kn_status status = KN_OK;
    kn_mat *tall[] = {&k->K, &k->V, &k->W};
    kn_mat *small[] = {&k->Lu, &k->La, &k->Ui, &k->Ai, &k->dU, &k->m1, &k->m2};
    for (size_t i = 0; i < sizeof tall / sizeof *tall; i++)
        KN_TRY(kn_mat_new(ctx, N, m, tall[i]));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        KN_TRY(kn_mat_new(ctx, m, m, small[i]));
    KN_TRY(kn_mat_new(ctx, N, N, &k->D));
    if (gradient)
        KN_TRY(kn_mat_new(ctx, N, N, &k->G));
    KN_TRY(kn_mat_new(ctx, m, 1, &k->b));
    KN_TRY(kn_mat_new(ctx, m, 1, &k->a));
    KN_TRY(kn_mat_new(ctx, N, 1, &k->y));
    KN_TRY(kn_mat_new(ctx, N, 1, &k->al));
out:
    return status;
}

/* Factors task t: K = K_t (N x m), V = K L_u^-T, D = Cholesky factor L of D_t, what the inducing
 * values leave of the task's covariance plus noise, W = L^-1 K, y = L^-1 y_t (N). k->Lu is set.
 * N^3/3 flops. */
static kn_status factor_task(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, ptrdiff_t t,
                             work *k)
{
    kn_status status;
    KN_TRY(kn_check_cancel(ctx));
    kn_conv_cross(c, t, d->fu, k->K);
    kn_mat_set(k->V, k->K);
    kn_trsm_right(ctx, KN_T, k->Lu, k->V);
    kn_conv_between(c, t, t, d->ff, k->D);
    kn_syrk(ctx, -1, KN_N, k->V, 1, k->D);
    for (ptrdiff_t i = 0; i < k->D.rows; i++)
        kn_col(k->D, i)[i] += c->s2[t];
    KN_TRY(kn_chol(ctx, k->D, "what the inducing values leave of a task"));
    kn_mat_set(k->W, k->K);
    kn_trsm_left(ctx, KN_N, k->D, k->W);
    if (d->Y.data) { /* predictions do not need it */
        kn_mat_set(k->y, kn_cols(d->Y, t, 1));
        kn_trsm_left(ctx, KN_N, k->D, k->y);
    }
out:
    return status;
}

/* Computes Ai = A^-1 = L_u^-T (I + L_u^-1 Phi L_u^-T)^-1 L_u^-1 (m x m), the posterior
 * covariance of the inducing values, and their weights a, from Phi in k->La and sums in k->b;
 * subtracts the explained part from k->square. */
static kn_status invert_precision(kn_ctx *ctx, work *k)
{
    kn_status status;
    kn_mirror(k->La);
    kn_trsm_left(ctx, KN_N, k->Lu, k->La);
    kn_trsm_right(ctx, KN_T, k->Lu, k->La);
    for (ptrdiff_t i = 0; i < k->La.rows; i++)
        kn_col(k->La, i)[i] += 1;
    KN_TRY(kn_chol(ctx, k->La, "the precision of the inducing values"));
    kn_conv_inverse(ctx, k->Lu, k->Ui);
    kn_conv_inverse(ctx, k->La, k->Ai);
    kn_trsm_left(ctx, KN_T, k->Lu, k->Ai);
    kn_trsm_right(ctx, KN_N, k->Lu, k->Ai);
    kn_mat_set(k->a, k->b);
    kn_trsm_left(ctx, KN_N, k->Lu, k->a);
    kn_trsm_left(ctx, KN_N, k->La, k->a);
    k->square -= kn_sumsq(k->a);
    kn_trsm_left(ctx, KN_T, k->La, k->a);
    kn_trsm_left(ctx, KN_T, k->Lu, k->a);
out:
    return status;
}

/* First loop over the tasks: sums Phi, b, log determinants and squares over tasks, then solves
 * for A^-1 and a (invert_precision). */
static kn_status sum_tasks(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, work *k)
{
    kn_status status;
    kn_conv_inducing(c, d->uu, k->Lu);
    KN_TRY(kn_chol(ctx, k->Lu, "the covariance of the inducing values"));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        KN_TRY(factor_task(ctx, c, d, t, k));
        kn_syrk(ctx, 1, KN_T, k->W, 1, k->La); /* Phi */
        kn_gemm(ctx, 1, KN_T, k->W, KN_N, k->y, 1, k->b);
        k->log_det += kn_conv_log_det(k->D);
        k->square += kn_sumsq(k->y);
    }
    KN_TRY(invert_precision(ctx, k));
    k->log_det += kn_conv_log_det(k->La);
out:
    return status;
}

/* Computes for the factored task al = D_t^-1 (y_t - K_t a), the weights of its observations (N),
 * and overwrites W by D_t^-1 K_t. */
static void compute_alpha(kn_ctx *ctx, work *k)
{
    kn_mat_set(k->al, k->y);
    kn_gemm(ctx, -1, KN_N, k->W, KN_N, k->a, 1, k->al);
    kn_trsm_left(ctx, KN_T, k->D, k->al);
    kn_trsm_left(ctx, KN_T, k->D, k->W);
}

/* Adds to *g the derivatives of the likelihood by the parameters of task t, whose factors are in
 * *k, and to k->dU its term of the derivative by K_uu. Overwrites G, V and W. */
static void add_task_gradient(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, ptrdiff_t t,
                              work *k, kn_conv *g)
{
    double trace = 0;
    kn_conv_inverse(ctx, k->D, k->G);
    kn_gemm(ctx, 1, KN_N, k->W, KN_N, k->Ai, 0, k->V);
    kn_gemm(ctx, 0.5, KN_N, k->V, KN_T, k->W, -0.5, k->G);
    kn_gemm(ctx, 0.5, KN_N, k->al, KN_T, k->al, 1, k->G);
    for (ptrdiff_t i = 0; i < k->G.rows; i++)
        trace += kn_at(k->G, i, i);
    g->s2[t] += c->s2[t] * trace;
    kn_conv_between_gradient(c, t, t, d->ff, k->G, g);
    kn_gemm(ctx, 1, KN_N, k->G, KN_N, k->K, 0, k->W); /* G K, overwrites D^-1 K */
    kn_gemm(ctx, 1, KN_T, k->K, KN_N, k->W, 1, k->dU);
    kn_gemm(ctx, -2, KN_N, k->W, KN_N, k->Ui, -1, k->V);
    kn_gemm(ctx, 1, KN_N, k->al, KN_T, k->a, 1, k->V); /* dK_t */
    kn_conv_cross_gradient(c, t, d->fu, k->V, g);
}

/* Second loop over the tasks: weights alpha (N x T) of the observations for *p, and the gradient
 * by all parameters for *g; either may be NULL. */
static kn_status visit_gradients(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, work *k,
                                 kn_conv *g, kn_conv_posterior *p)
{
    kn_status status = KN_OK;
    ptrdiff_t m = k->Lu.rows;
    for (ptrdiff_t t = 0; t < c->T; t++) {
        KN_TRY(factor_task(ctx, c, d, t, k));
        compute_alpha(ctx, k);
        if (p)
            kn_mat_set(kn_cols(p->alpha, t, 1), k->al);
        if (g)
            add_task_gradient(ctx, c, d, t, k, g);
    }
    if (!g)
        goto out;
    kn_gemm(ctx, 1, KN_N, k->Ui, KN_N, k->dU, 0, k->m1);
    kn_gemm(ctx, 1, KN_N, k->m1, KN_N, k->Ui, 0, k->m2);
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(k->m2, j)[i] +=
                0.5 * (kn_at(k->Ui, i, j) - kn_at(k->Ai, i, j) - k->a.data[i] * k->a.data[j]);
    kn_conv_inducing_gradient(c, d->uu, k->m2, g);
out:
    return status;
}

/* Implements kn_conv_form.value: log likelihood with tasks independent given the inducing
 * values; optionally gradient and posterior (a, E = A^-1, alpha). Some 3 N^3 T flops with
 * gradient. */
static kn_status evaluate_pitc(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                               kn_conv *g, kn_conv_posterior *p)
{
    kn_status status;
    work k = {0};
    ptrdiff_t N = d->Y.rows;
    KN_TRY(work_new(ctx, N, kn_conv_m(c), g != NULL, &k));
    if (p)
        KN_TRY(kn_mat_new(ctx, N, c->T, &p->alpha));
    KN_TRY(sum_tasks(ctx, c, d, &k));
    *value = -0.5 * ((double)(N * c->T) * log(2 * M_PI) + k.log_det + k.square);
    if (g || p)
        KN_TRY(visit_gradients(ctx, c, d, &k, g, p));
    if (p) {
        p->a = k.a;
        p->E = k.Ai;
        k.a = k.Ai = kn_mat_none();
    }
out:
    work_clear(&k);
    if (status != KN_OK && p)
        kn_conv_posterior_clear(p);
    return status;
}

typedef struct predict_work {
    kn_mat K, V; /* n x m  K*_t, K*_t L_u^-T and later J */
    kn_mat E;    /* n x N */
} predict_work;

/* Writes mean and variance of task t at the n new points to query->mean and var; *k holds the
 * factors of the task, *q is work space. */
static void predict_task(kn_ctx *ctx, const kn_conv *c, const kn_conv_posterior *p,
                         const kn_conv_query *query, ptrdiff_t t, predict_work *q, work *k)
{
    kn_mat mean = kn_cols(query->mean, t, 1);
    double *var = kn_col(query->var, t);
    kn_conv_cross(c, t, query->fu, q->K);
    kn_mat_set(q->V, q->K);
    kn_trsm_right(ctx, KN_T, k->Lu, q->V);
    kn_conv_between(c, t, t, query->ff, q->E);
    kn_gemm(ctx, -1, KN_N, q->V, KN_T, k->V, 1, q->E);
    kn_gemm(ctx, 1, KN_N, q->K, KN_N, p->a, 0, mean);
    kn_gemm(ctx, 1, KN_N, q->E, KN_N, kn_cols(p->alpha, t, 1), 1, mean);
    for (ptrdiff_t i = 0; i < mean.rows; i++)
        var[i] = kn_conv_variance(c, t);
    kn_conv_row_dots(q->V, q->V, -1, var);
    kn_trsm_right(ctx, KN_T, k->D, q->E); /* E L^-T */
    kn_conv_row_dots(q->E, q->E, -1, var);
    kn_gemm(ctx, -1, KN_N, q->E, KN_N, k->W, 1, q->K); /* J */
    kn_gemm(ctx, 1, KN_N, q->K, KN_N, p->E, 0, q->V);
    kn_conv_row_dots(q->K, q->V, 1, var);
}

/* Implements kn_conv_form.predict of PITC: mean and variance of the points of *query, one task
 * at a time, whose N x N covariance is factored again (N^3/3 flops). */
static kn_status predict_pitc(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                              const kn_conv_posterior *p, const kn_conv_query *query)
{
    kn_status status;
    work k = {0};
    predict_work q = {0};
    ptrdiff_t n = query->fu.rows, N = d->fu.rows, m = kn_conv_m(c);
    KN_TRY(work_new(ctx, N, m, false, &k));
    KN_TRY(kn_mat_new(ctx, n, m, &q.K));
    KN_TRY(kn_mat_new(ctx, n, m, &q.V));
    KN_TRY(kn_mat_new(ctx, n, N, &q.E));
    kn_conv_inducing(c, d->uu, k.Lu);
    KN_TRY(kn_chol(ctx, k.Lu, "the covariance of the inducing values"));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        KN_TRY(factor_task(ctx, c, d, t, &k));
        predict_task(ctx, c, p, query, t, &q, &k);
    }
out:
    kn_mat_clear(&q.K);
    kn_mat_clear(&q.V);
    kn_mat_clear(&q.E);
    work_clear(&k);
    return status;
}

/* Leave-one-out: the T x T block of a participant in the inverse of the full covariance is diag_t
 * (D_t^-1)_nn minus rows n of D_t^-1 K_t about A^-1; residual = block^-1 al_n, variance with noise
 * diag(block^-1). */
typedef struct loo_work {
    kn_mat rows, diag; /* N x Tm: D_t^-1 K_t side by side; N x T */
    kn_mat R, RA;      /* T x m of one participant */
    kn_mat B, I, x;    /* T x T, T x T, T x 1 */
} loo_work;

/* Computes residual and variance (row n, T columns) of all tasks of participant n when its own
 * values are held out, from its rows of D_t^-1 K_t in *l. */
static kn_status loo_participant(kn_ctx *ctx, const kn_conv *c, const kn_conv_posterior *p,
                                 loo_work *l, ptrdiff_t n, kn_mat residual, kn_mat var)
{
    kn_status status;
    ptrdiff_t T = c->T, m = kn_conv_m(c);
    for (ptrdiff_t t = 0; t < T; t++) {
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(l->R, i)[t] = kn_at(l->rows, n, t * m + i);
        l->x.data[t] = kn_at(p->alpha, n, t);
    }
    kn_gemm(ctx, 1, KN_N, l->R, KN_N, p->E, 0, l->RA);
    kn_gemm(ctx, -1, KN_N, l->RA, KN_T, l->R, 0, l->B);
    for (ptrdiff_t t = 0; t < T; t++)
        kn_col(l->B, t)[t] += kn_at(l->diag, n, t);
    KN_TRY(kn_chol(ctx, l->B, "the precision of a sample"));
    kn_conv_inverse(ctx, l->B, l->I);
    kn_trsm_left(ctx, KN_N, l->B, l->x);
    kn_trsm_left(ctx, KN_T, l->B, l->x);
    for (ptrdiff_t t = 0; t < T; t++) {
        kn_col(residual, t)[n] = l->x.data[t];
        kn_col(var, t)[n] = kn_at(l->I, t, t) - c->s2[t];
    }
out:
    return status;
}

/* Fills l->rows (D_t^-1 K_t of all T tasks side by side, N x Tm) and l->diag (N x T), the
 * diagonals of D_t^-1. */
static kn_status compute_task_precisions(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                                         const kn_conv_posterior *p, work *k, loo_work *l)
{
    kn_status status;
    ptrdiff_t m = kn_conv_m(c);
    (void)p;
    kn_conv_inducing(c, d->uu, k->Lu);
    KN_TRY(kn_chol(ctx, k->Lu, "the covariance of the inducing values"));
    for (ptrdiff_t t = 0; t < c->T; t++) {
        KN_TRY(factor_task(ctx, c, d, t, k));
        kn_trsm_left(ctx, KN_T, k->D, k->W);
        kn_mat_set(kn_cols(l->rows, t * m, m), k->W);
        kn_conv_inverse(ctx, k->D, k->G);
        for (ptrdiff_t n = 0; n < d->Y.rows; n++)
            kn_col(l->diag, t)[n] = kn_at(k->G, n, n);
    }
out:
    return status;
}

/* Implements kn_conv_form.loo of PITC: residual and variance (N x T) of each participant held
 * out, by one pass over tasks, then one T x T problem per participant. */
static kn_status loo_pitc(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                          const kn_conv_posterior *p, kn_mat residual, kn_mat var)
{
    kn_status status;
    work k = {0};
    loo_work l = {0};
    ptrdiff_t N = d->Y.rows, T = c->T, m = kn_conv_m(c);
    KN_TRY(work_new(ctx, N, m, true, &k));
    KN_TRY(kn_mat_new(ctx, N, T * m, &l.rows));
    KN_TRY(kn_mat_new(ctx, N, T, &l.diag));
    KN_TRY(kn_mat_new(ctx, T, m, &l.R));
    KN_TRY(kn_mat_new(ctx, T, m, &l.RA));
    KN_TRY(kn_mat_new(ctx, T, T, &l.B));
    KN_TRY(kn_mat_new(ctx, T, T, &l.I));
    KN_TRY(kn_mat_new(ctx, T, 1, &l.x));
    KN_TRY(compute_task_precisions(ctx, c, d, p, &k, &l));
    for (ptrdiff_t n = 0; n < N; n++)
        KN_TRY(loo_participant(ctx, c, p, &l, n, residual, var));
out:
    kn_mat_clear(&l.rows);
    kn_mat_clear(&l.diag);
    kn_mat_clear(&l.R);
    kn_mat_clear(&l.RA);
    kn_mat_clear(&l.B);
    kn_mat_clear(&l.I);
    kn_mat_clear(&l.x);
    work_clear(&k);
    return status;
}

/* Adds the work space of PITC to the memory plan: N participants, m inducing values and
 * `squares` N x N matrices. */
static void need_work(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t m, int squares)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, 3 * m + 2);
    for (int i = 0; i < squares; i++)
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, N);
    for (int i = 0; i < 7; i++)
        kn_plan_alloc_d(r, KN_NEED_WORK, m, m);
    kn_plan_alloc_d(r, KN_NEED_WORK, m, 2);
}

/* Implements kn_conv_form.need_value of PITC, which predicts its memory in plan r; only the peak
 * rises. */
static void need_value(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    (void)T;
    need_work(r, N, m, 2);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_predict of PITC, which predicts its memory in plan r for n new
 * participants; only the peak rises. */
static void need_predict(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    (void)T;
    need_work(r, N, m, 1);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, 2 * m + N);
    kn_plan_free_to(r, mark);
}

/* Implements kn_conv_form.need_loo of PITC, which predicts its memory in plan r; only the peak
 * rises. */
static void need_loo(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m)
{
    kn_mem_usage mark = r->now;
    need_work(r, N, m, 2);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, T * m + T);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2 * m + 2 * T + 1);
    kn_plan_free_to(r, mark);
}

const kn_conv_form kn_conv_pitc = {.pairs = true,
                                   .value = evaluate_pitc,
                                   .predict = predict_pitc,
                                   .loo = loo_pitc,
                                   .need_value = need_value,
                                   .need_predict = need_predict,
                                   .need_loo = need_loo};
