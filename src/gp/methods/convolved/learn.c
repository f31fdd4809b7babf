/* Search for the parameters of convolved processes, by the gradient of the likelihood or of its
 * bound [METHOD 1i]. The search is L-BFGS over S, ln tau, ln nu, ln s2. */
#include "gp/methods/convolved/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/optimise/optimise.h"

static const double GAIN = 1e-3; /* nats: a step that gains less ends the search */
/* Bounds: widths relative to the median squared distance; S and s2 relative to the variance of a
 * task. */
static const double WIDTHS = 100, MAX_S = 10, MIN_S2 = 1e-4, MAX_S2 = 10;

/* ---- parameter vector: S, ln tau unless widths are shared, ln nu, ln s2 ---- */

typedef struct search {
    const kn_conv_form *form;
    const kn_conv_data *d;
    kn_conv_search *result;
    bool shared;
    int evals; /* in this start */
    kn_conv c, g;
    ptrdiff_t n;
} search;

/* Returns the length of the parameter vector of the search: S, ln tau, ln nu, ln s2; with shared
 * widths it has no tau. */
static ptrdiff_t count_parameters(const kn_conv *c, bool shared)
{
    return c->T * c->Q * (shared ? 1 : 2) + c->Q + c->T;
}

/* Writes the parameters S, ln tau, ln nu, ln s2 of *c, or with `gradient` the derivatives that c
 * then holds, to the vector x. With shared widths tau is left out, and derivatives by ln tau are
 * added to those by ln nu. */
static void pack_parameters(const kn_conv *c, bool shared, bool gradient, double *x)
{
    ptrdiff_t TQ = c->T * c->Q;
    for (ptrdiff_t i = 0; i < TQ; i++)
        *x++ = c->S.data[i];
    for (ptrdiff_t i = 0; !shared && i < TQ; i++)
        *x++ = gradient ? c->tau.data[i] : log(c->tau.data[i]);
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        double own = gradient ? c->nu[q] : log(c->nu[q]);
        for (ptrdiff_t t = 0; gradient && shared && t < c->T; t++)
            own += kn_at(c->tau, t, q);
        *x++ = own;
    }
    for (ptrdiff_t t = 0; t < c->T; t++)
        *x++ = gradient ? c->s2[t] : log(c->s2[t]);
}

/* Reads the parameters of *c from the vector x, the inverse of pack_parameters; with shared
 * widths tau is set to nu. */
static void unpack_parameters(const double *x, bool shared, kn_conv *c)
{
    ptrdiff_t TQ = c->T * c->Q;
    for (ptrdiff_t i = 0; i < TQ; i++)
        c->S.data[i] = *x++;
    for (ptrdiff_t i = 0; !shared && i < TQ; i++)
        c->tau.data[i] = exp(*x++);
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        c->nu[q] = exp(*x++);
        for (ptrdiff_t t = 0; shared && t < c->T; t++)
            kn_col(c->tau, q)[t] = c->nu[q];
    }
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->s2[t] = exp(*x++);
}

/* Writes lower and upper bounds of the parameter vector, in the order of pack_parameters():
 * widths relative to the median squared distance, S and s2 relative to the variance of each
 * task. */
static void set_bounds(const kn_conv *c, const kn_conv_scale *scale, bool shared, double *lower,
                       double *upper)
{
    ptrdiff_t widths = c->Q * (shared ? 1 : 1 + c->T), i = 0;
    for (ptrdiff_t q = 0; q < c->Q; q++)
        for (ptrdiff_t t = 0; t < c->T; t++, i++) {
            upper[i] = MAX_S * sqrt(scale->variance[t]);
            lower[i] = -upper[i];
        }
    for (ptrdiff_t k = 0; k < widths; k++, i++) {
        lower[i] = log(scale->distance2 / WIDTHS);
        upper[i] = log(scale->distance2 * WIDTHS);
    }
    for (ptrdiff_t t = 0; t < c->T; t++, i++) {
        lower[i] = log(MIN_S2 * scale->variance[t]);
        upper[i] = log(MAX_S2 * scale->variance[t]);
    }
}

/* Sets all derivatives of *g to 0, because gradients are added. */
static void zero_gradient(kn_conv *g)
{
    kn_mat_zero(g->S);
    kn_mat_zero(g->tau);
    memset(g->nu, 0, (size_t)g->Q * sizeof *g->nu);
    memset(g->s2, 0, (size_t)g->T * sizeof *g->s2);
}

/* Objective of the search (self: search), in the form that kn_maximise_large calls: log
 * likelihood or bound *value and gradient at x. NaN if cancelled half way: the search then stops
 * at the point before. */
static kn_status evaluate_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                    double *grad)
{
    search *s = self;
    unpack_parameters(x, s->shared, &s->c);
    zero_gradient(&s->g);
    kn_status status = s->form->value(ctx, &s->c, s->d, value, &s->g, NULL);
    if (status == KN_ERR_CANCELLED && s->evals > 0) {
        *value = NAN;
        return KN_OK;
    }
    if (status != KN_OK)
        return status;
    pack_parameters(&s->g, s->shared, true, grad);
    s->evals++;
    return KN_OK;
}

/* Maximises from the start in s->c by L-BFGS and, if the optimum is better than all before,
 * copies it to `best` (s->n) and its value to s->result. plan->evals 0: evaluates the start
 * only. */
static kn_status search_from_start(kn_ctx *ctx, const kn_conv_plan *plan, search *s,
                                   kn_large_options *o, double *best)
{
    kn_status status;
    kn_large_optimum top = {0};
    kn_limits limits = {.evals_left = plan->evals, .deadline = s->result->deadline};
    bool first = s->result->evals == 0;
    double *gradient = NULL;
    KN_TRY(kn_alloc_d(ctx, s->n, &top.x));
    KN_TRY(kn_alloc_d(ctx, plan->evals == 0 ? s->n : 0, &gradient));
    pack_parameters(&s->c, s->shared, false, top.x);
    for (ptrdiff_t i = 0; i < s->n; i++)
        top.x[i] = fmin(fmax(top.x[i], o->lower[i]), o->upper[i]);
    s->evals = 0;
    if (plan->evals == 0) {
        KN_TRY(evaluate_objective(s, ctx, top.x, &top.value, gradient));
        top.stop = KN_STOP_NOT_OPTIMISED;
        top.evals = 1;
    } else {
        KN_TRY(kn_maximise_large(ctx, o, &limits, evaluate_objective, s, &top));
    }
    if (first || top.value > s->result->value) {
        s->result->value = top.value;
        s->result->projected = plan->evals == 0 ? NAN : top.projected;
        memcpy(best, top.x, (size_t)s->n * sizeof *best);
    }
    if (first || top.stop == KN_STOP_CANCELLED || s->result->stop == KN_STOP_CONVERGED)
        s->result->stop = top.stop;
    s->result->evals += top.evals;
out:
    kn_free(gradient);
    kn_free(top.x);
    return status;
}

/* Searches from plan->restarts + 1 starts and leaves s->c at the best point; evaluations and
 * reason of the stop go to s->result. */
static kn_status search_all_starts(kn_ctx *ctx, const kn_conv_plan *plan,
                                   const kn_conv_scale *scale, search *s)
{
    kn_status status;
    double *lower = NULL, *upper = NULL, *best = NULL;
    kn_large_options o = {.n = s->n,
                          .unit = (double)s->d->Y.rows,
                          .f_tolerance = GAIN,
                          .stage = s->result->stage};
    KN_TRY(kn_alloc_d(ctx, s->n, &lower));
    KN_TRY(kn_alloc_d(ctx, s->n, &upper));
    KN_TRY(kn_alloc_d(ctx, s->n, &best));
    set_bounds(&s->c, scale, s->shared, lower, upper);
    o.lower = lower;
    o.upper = upper;
    for (int r = 0; r <= plan->restarts; r++) {
        if (s->result->evals > 0 && s->result->stop == KN_STOP_CANCELLED)
            break;
        KN_TRY(kn_conv_set_start(ctx, s->d, scale, r, &s->c));
        KN_TRY(search_from_start(ctx, plan, s, &o, best));
    }
    unpack_parameters(best, s->shared, &s->c);
out:
    kn_free(lower);
    kn_free(upper);
    kn_free(best);
    return status;
}

kn_status kn_conv_learn(kn_ctx *ctx, const kn_conv_plan *plan, kn_mat X, const kn_conv_data *d,
                        kn_conv_search *result, kn_conv *c)
{
    kn_status status;
    ptrdiff_t T = d->Y.cols, M = d->fu.cols;
    kn_conv_scale scale = {0};
    search s = {.form = kn_conv_find_form(plan->how),
                .d = d,
                .result = result,
                .shared = plan->widths == KN_WIDTHS_SHARED};
    result->evals = 0;
    result->stop = KN_STOP_CONVERGED;
    KN_TRY(kn_conv_scale_new(ctx, X, d->Y, &scale));
    KN_TRY(kn_conv_new(ctx, T, plan->Q, M, X.cols, &s.c));
    KN_TRY(kn_conv_new(ctx, T, plan->Q, M, X.cols, &s.g));
    s.n = count_parameters(&s.c, s.shared);
    KN_TRY(search_all_starts(ctx, plan, &scale, &s));
    *c = s.c;
    s.c = (kn_conv){0};
out:
    kn_conv_clear(&s.c);
    kn_conv_clear(&s.g);
    kn_conv_scale_clear(&scale);
    return status;
}

void kn_conv_learn_need(kn_mem_plan *r, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t T)
{
    const kn_conv_form *form = kn_conv_find_form(plan->how);
    ptrdiff_t m = plan->Q * plan->M;
    kn_conv like = {.T = T, .Q = plan->Q};
    ptrdiff_t n = count_parameters(&like, plan->widths == KN_WIDTHS_SHARED);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2 * plan->Q + 1);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2 * plan->Q + 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 6);
    kn_mem_usage before = r->now;
    kn_conv_set_start_need(r, N, T, plan->M);
    kn_plan_free_to(r, before);
    kn_maximise_large_need(r, n);
    form->need_value(r, N, T, m);
    kn_plan_free_to(r, mark);
}
