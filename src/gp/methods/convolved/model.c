/* Complete model of the tasks: fixed effects, and convolved processes of their residuals
 * [METHOD 1i].
 *
 *     z_p = fixed effects of all covariates + f_p(continuous covariates) + noise d_p
 *     mean = fixed + K* a (or as the form has it)    var = var f + leverage d_p + unknown effects
 *
 * Least squares come first and are then fixed; d_p = s2_p N/(N - rank - 1) corrects for their
 * degrees of freedom. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "gp/latent.h"

/* A participant with leverage that close to 1 is the only one of its level. */
static const double ONLY_OF_LEVEL = 1e-6;

void kn_conv_spec_clear(kn_conv_spec *s)
{
    kn_free(s->columns.column);
    kn_free(s->columns.block);
    kn_free(s->smooth);
    *s = (kn_conv_spec){0};
}

void kn_conv_model_clear(kn_conv_model *m)
{
    kn_fixed_clear(&m->fixed);
    kn_mat_clear(&m->Z);
    kn_conv_clear(&m->c);
    kn_conv_posterior_clear(&m->posterior);
    kn_free(m->d);
    *m = (kn_conv_model){0};
}

/* Copies the continuous covariates, spec->n_smooth columns of the design X (N x F), to *out,
 * which the caller owns. */
static kn_status copy_continuous(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat *out)
{
    kn_status status = kn_mat_new(ctx, X.rows, spec->n_smooth, out);
    for (ptrdiff_t f = 0; status == KN_OK && f < spec->n_smooth; f++)
        kn_mat_set(kn_cols(*out, f, 1), kn_cols(X, spec->smooth[f], 1));
    return status;
}

/* Chooses inducing inputs, searches the parameters and computes the posterior of the processes
 * for the residuals Z (N x P) of the fixed effects; sets Z, c and posterior of *m. X: N x F
 * continuous covariates. */
static kn_status learn_processes(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                                 kn_conv_search *search, kn_conv_model *m)
{
    kn_status status;
    const kn_conv_form *form = kn_conv_find_form(spec->plan.how);
    kn_conv_data d = {0};
    double value;
    KN_TRY(kn_conv_choose_inputs(ctx, X, spec->plan.M, &m->Z));
    KN_TRY(kn_conv_data_new(ctx, form, X, m->Z, &d));
    d.Y = Z;
    KN_TRY(kn_conv_learn(ctx, &spec->plan, X, &d, search, &m->c));
    KN_TRY(form->value(ctx, &m->c, &d, &value, NULL, &m->posterior));
out:
    kn_conv_data_clear(&d);
    return status;
}

kn_status kn_conv_model_new(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                            kn_conv_search *search, kn_conv_model *out)
{
    kn_status status;
    kn_mat Xs = {0};
    *out = (kn_conv_model){0};
    KN_TRY(kn_fixed_new(ctx, &spec->columns, X, Z, &out->fixed));
    ptrdiff_t freedom = Z.rows - out->fixed.rank - 1;
    if (freedom < 1) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "{method=convolved}: %td fixed effects of %td participants leave nothing "
                         "to smooth; omit covariates from {use}",
                         out->fixed.rank + 1, Z.rows);
        goto out;
    }
    KN_TRY(copy_continuous(ctx, spec, X, &Xs));
    KN_TRY(learn_processes(ctx, spec, Xs, Z, search, out));
    KN_TRY(kn_alloc_d(ctx, Z.cols, &out->d));
    for (ptrdiff_t p = 0; p < Z.cols; p++)
        out->d[p] = out->c.s2[p] * (double)Z.rows / (double)freedom;
out:
    kn_mat_clear(&Xs);
    if (status != KN_OK)
        kn_conv_model_clear(out);
    return status;
}

/* Predicts the processes, without fixed effects and noise, into samples->mean and var (n x P).
 * X: design of the N training participants, which PITC and dense forms need. */
static kn_status predict_processes(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                                   kn_mat X, const kn_conv_samples *samples)
{
    kn_status status;
    const kn_conv_form *form = kn_conv_find_form(spec->plan.how);
    kn_mat Xt = {0}, Xs = {0};
    kn_conv_data d = {0};
    kn_conv_query query = {.mean = samples->mean, .var = samples->var};
    KN_TRY(copy_continuous(ctx, spec, samples->X, &Xs));
    KN_TRY(copy_continuous(ctx, spec, X, &Xt));
    if (form->pairs) {
        KN_TRY(kn_conv_data_new(ctx, form, Xt, m->Z, &d));
        KN_TRY(kn_mat_new(ctx, Xs.rows, Xt.rows, &query.ff));
        kn_conv_distances(Xs, Xt, query.ff);
    }
    KN_TRY(kn_mat_new(ctx, Xs.rows, m->Z.rows, &query.fu));
    kn_conv_distances(Xs, m->Z, query.fu);
    KN_TRY(form->predict(ctx, &m->c, &d, &m->posterior, &query));
out:
    kn_conv_data_clear(&d);
    kn_mat_clear(&query.fu);
    kn_mat_clear(&query.ff);
    kn_mat_clear(&Xs);
    kn_mat_clear(&Xt);
    return status;
}

kn_status kn_conv_model_predict(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                                kn_mat X, const kn_conv_samples *samples, double *clamped)
{
    kn_status status;
    ptrdiff_t n = samples->X.rows, P = m->c.T;
    kn_fixed_prediction effects = {0};
    KN_TRY(kn_mat_new(ctx, n, P, &effects.mean));
    KN_TRY(kn_mat_new(ctx, n, P, &effects.spread));
    KN_TRY(kn_alloc_d(ctx, n, &effects.leverage));
    KN_TRY(kn_fixed_predict(ctx, &spec->columns, &m->fixed, samples->X, effects));
    KN_TRY(predict_processes(ctx, spec, m, X, samples));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < n; i++) {
            double *v = &kn_col(samples->var, p)[i];
            kn_col(samples->mean, p)[i] += kn_at(effects.mean, i, p);
            *v = kn_clamp_nonnegative(*v, kn_conv_variance(&m->c, p), clamped) +
                 effects.leverage[i] * m->d[p] + kn_at(effects.spread, i, p);
        }
out:
    kn_mat_clear(&effects.mean);
    kn_mat_clear(&effects.spread);
    kn_free(effects.leverage);
    return status;
}

/* ---- leave-one-out ---- */

/* Estimates the fixed effects without participant n, the only one of its level, and predicts it:
 * sets its row of mean, spread and leverage. X: N x F design, Z: N x P tasks. */
static kn_status predict_fixed_without(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                                       ptrdiff_t n, kn_fixed_prediction effects)
{
    kn_status status;
    kn_mat Xo = {0}, Zo = {0};
    ptrdiff_t *kept_rows = NULL, N = X.rows;
    kn_fixed f = {0};
    KN_TRY(kn_alloc_i(ctx, N, &kept_rows));
    for (ptrdiff_t i = 0; i < N - 1; i++)
        kept_rows[i] = i + (i >= n);
    KN_TRY(kn_mat_new(ctx, N - 1, X.cols, &Xo));
    KN_TRY(kn_mat_new(ctx, N - 1, Z.cols, &Zo));
    kn_mat_rows(X, kept_rows, Xo);
    kn_mat_rows(Z, kept_rows, Zo);
    KN_TRY(kn_fixed_new(ctx, &spec->columns, Xo, Zo, &f));
    KN_TRY(kn_fixed_predict(ctx, &spec->columns, &f, kn_sub(X, n, 0, 1, X.cols),
                            (kn_fixed_prediction){kn_sub(effects.mean, n, 0, 1, Z.cols),
                                                  kn_sub(effects.spread, n, 0, 1, Z.cols),
                                                  effects.leverage + n}));
out:
    kn_fixed_clear(&f);
    kn_mat_clear(&Xo);
    kn_mat_clear(&Zo);
    kn_free(kept_rows);
    return status;
}

/* Replaces effects.mean (N x P) and leverage (N) of the full fit by leave-one-out values:
 * residual r/(1 - h) and leverage h/(1 - h), without a refit unless a participant is the only
 * one of its level. */
static kn_status loo_fixed(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                           kn_fixed_prediction effects)
{
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < X.rows; i++) {
        double h = effects.leverage[i];
        if (1 - h < ONLY_OF_LEVEL) {
            KN_TRY(predict_fixed_without(ctx, spec, X, Z, i, effects));
            continue;
        }
        for (ptrdiff_t p = 0; p < Z.cols; p++) {
            double z = kn_at(Z, i, p), *mean = &kn_col(effects.mean, p)[i];
            *mean = z - (z - *mean) / (1 - h);
        }
        effects.leverage[i] = h / (1 - h);
    }
out:
    return status;
}

typedef struct loo_work {
    kn_mat Y, e;
    kn_fixed_prediction effects;
    kn_conv_data d;
} loo_work;

/* Frees the work space of leave-one-out. */
static void loo_work_clear(loo_work *l)
{
    kn_conv_data_clear(&l->d);
    kn_mat_clear(&l->Y);
    kn_mat_clear(&l->e);
    kn_mat_clear(&l->effects.mean);
    kn_mat_clear(&l->effects.spread);
    kn_free(l->effects.leverage);
}

/* Allocates *l and sets l->Y = Z minus the fixed effects of the full fit (N x P), l->effects,
 * and l->e, the leave-one-out residuals of the processes; their variances go to samples->var. */
static kn_status loo_processes(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                               kn_mat Z, const kn_conv_samples *samples, loo_work *l)
{
    kn_status status;
    const kn_conv_form *form = kn_conv_find_form(spec->plan.how);
    kn_mat Xs = {0};
    ptrdiff_t N = Z.rows, P = Z.cols;
    KN_TRY(kn_mat_copy(ctx, Z, &l->Y));
    KN_TRY(kn_mat_new(ctx, N, P, &l->e));
    KN_TRY(kn_mat_new(ctx, N, P, &l->effects.mean));
    KN_TRY(kn_mat_new(ctx, N, P, &l->effects.spread));
    KN_TRY(kn_alloc_d(ctx, N, &l->effects.leverage));
    KN_TRY(kn_fixed_predict(ctx, &spec->columns, &m->fixed, samples->X, l->effects));
    for (ptrdiff_t i = 0; i < N * P; i++)
        l->Y.data[i] -= l->effects.mean.data[i];
    KN_TRY(copy_continuous(ctx, spec, samples->X, &Xs));
    KN_TRY(kn_conv_data_new(ctx, form, Xs, m->Z, &l->d));
    l->d.Y = l->Y;
    KN_TRY(form->loo(ctx, &m->c, &l->d, &m->posterior, l->e, samples->var));
out:
    kn_mat_clear(&Xs);
    return status;
}

kn_status kn_conv_model_loo(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m, kn_mat Z,
                            const kn_conv_samples *samples, double *clamped)
{
    kn_status status;
    loo_work l = {0};
    KN_TRY(loo_processes(ctx, spec, m, Z, samples, &l));
    KN_TRY(loo_fixed(ctx, spec, samples->X, Z, l.effects));
    for (ptrdiff_t p = 0; p < Z.cols; p++)
        for (ptrdiff_t i = 0; i < Z.rows; i++) {
            double *v = &kn_col(samples->var, p)[i];
            kn_col(samples->mean, p)[i] =
                kn_at(l.effects.mean, i, p) + kn_at(l.Y, i, p) - kn_at(l.e, i, p);
            *v = kn_clamp_nonnegative(*v, kn_conv_variance(&m->c, p), clamped) +
                 l.effects.leverage[i] * m->d[p] + kn_at(l.effects.spread, i, p);
        }
out:
    loo_work_clear(&l);
    return status;
}

/* ---- memory ---- */

void kn_conv_model_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s)
{
    const kn_conv_form *form = kn_conv_find_form(plan->how);
    ptrdiff_t m = plan->Q * plan->M;
    kn_fixed_need(r, s.N, s.k, s.P);
    kn_plan_alloc_d(r, KN_NEED_WORK, plan->M, s.F);
    kn_plan_alloc_d(r, KN_NEED_WORK, s.P, 1);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s.N, s.F);
    kn_conv_choose_inputs_need(r, s.N, s.F, plan->M);
    kn_conv_data_need(r, form->pairs, s.N, plan->M);
    kn_mem_usage data = r->now;
    kn_conv_learn_need(r, plan, s.N, s.P);
    form->need_value(r, s.N, s.P, m);
    kn_plan_free_to(r, data);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, s.P, 2 * plan->Q + 1);
    if (plan->how != KN_INDUCING_NONE)
        kn_plan_alloc_d(r, KN_NEED_WORK, m, m + 1);
    if (plan->how != KN_INDUCING_VARIATIONAL)
        kn_plan_alloc_d(r, KN_NEED_WORK, s.N, s.P);
}

void kn_conv_predict_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s, ptrdiff_t n)
{
    const kn_conv_form *form = kn_conv_find_form(plan->how);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 2 * s.P + 1);
    kn_fixed_predict_need(r, n, s.k);
    kn_plan_alloc_d(r, KN_NEED_WORK, n + s.N, s.F);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, plan->M);
    if (form->pairs) {
        kn_conv_data_need(r, true, s.N, plan->M);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, s.N);
    }
    form->need_predict(r, s.N, s.P, plan->Q * plan->M, n);
    kn_plan_free_to(r, mark);
}

void kn_conv_loo_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s)
{
    const kn_conv_form *form = kn_conv_find_form(plan->how);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s.N, 4 * s.P + 1);
    kn_fixed_predict_need(r, s.N, s.k);
    kn_plan_alloc_d(r, KN_NEED_WORK, s.N, s.F);
    kn_conv_data_need(r, form->pairs, s.N, plan->M);
    form->need_loo(r, s.N, s.P, plan->Q * plan->M);
    kn_plan_free_to(r, mark);
}
