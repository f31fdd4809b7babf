/* Implements optimise.h: NLopt with an objective that keeps the best point and checks the limits.
 * NLopt's own stopping rules and return codes are translated into kn_stop. */
#include "gp/optimise/optimise.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

#include "base/machine.h"
#include "base/mpi/comm.h"

/* A projected gradient below this, per participant, counts as converged: the remaining gain is of
 * the order of its square. */
static const double CONVERGED = 1e-5;

/* Steps that NLopt keeps to approximate the curvature: more than a run takes. By default it clears
 * 24 MB for them at every start, which takes longer than solving a small problem. */
static const unsigned STEPS_KEPT = 1000;

typedef struct run {
    kn_ctx *ctx;
    const kn_climb_options *o;
    kn_limits *limits;
    kn_objective_fn f;
    void *self;
    kn_climb_result *best;
    nlopt_opt opt;
    kn_status status;
    kn_stop stop;
    bool stopped;
    int calls;
} run;

/* Makes NLopt stop and records why; returns the best value so far, scaled, as the value of the
 * objective. */
static double stop_with(run *r, kn_stop why)
{
    r->stop = why;
    r->stopped = true;
    nlopt_force_stop(r->opt);
    return r->best->evals > 0 ? r->best->value / r->o->unit : 0;
}

kn_status kn_deadline_passed(kn_ctx *ctx, const kn_limits *limits, bool *late)
{
    char yes = limits->deadline > 0 && kn_clock() > limits->deadline;
    kn_status status = limits->deadline > 0 ? kn_comm_broadcast(ctx, &yes, 1, 0) : KN_OK;
    *late = yes != 0;
    return status;
}

/* True if the search is cancelled or a limit is reached; *value is then what the objective
 * returns, and r->status an error if no point may be kept. */
static bool search_stops(run *r, double *value)
{
    bool late = false;
    if (kn_cancelled(r->ctx)) {
        r->status = kn_cancel_keeps_best(r->ctx) ? KN_OK : kn_fail_cancelled(r->ctx);
        *value = stop_with(r, KN_STOP_CANCELLED);
        return true;
    }
    /* Checked from the second evaluation on, so that there is always one point to keep. */
    if (r->calls == 0)
        return false;
    if (r->limits->evals_left == 0) {
        *value = stop_with(r, KN_STOP_MAX_EVALS);
        return true;
    }
    r->status = kn_deadline_passed(r->ctx, r->limits, &late);
    if (late || r->status != KN_OK)
        *value = stop_with(r, KN_STOP_MAX_SECONDS);
    return r->stopped;
}

/* Objective for NLopt (data: run): value and gradient at x (n), both divided by o->unit; keeps
 * the best point in r->best. Stops NLopt if a limit is reached, the call is cancelled or the
 * objective fails (r->status). A value that is not finite counts as -infinity with gradient 0. */
static double nlopt_objective(unsigned n, const double *x, double *grad, void *data)
{
    run *r = data;
    double value, *g = r->best->work;
    if (r->stopped) /* a line search may call once more after the stop */
        return stop_with(r, r->stop);
    if (search_stops(r, &value))
        return value;
    r->calls++;
    r->status = r->f(r->self, r->ctx, x, &value, g);
    if (r->status != KN_OK)
        return stop_with(r,
                         r->status == KN_ERR_CANCELLED ? KN_STOP_CANCELLED : KN_STOP_LINE_SEARCH);
    if (r->limits->evals_left > 0)
        r->limits->evals_left--;
    if (!isfinite(value)) {
        /* not finite: worse than any value and flat, so that a line search turns back */
        if (grad)
            memset(grad, 0, n * sizeof *grad);
        return -HUGE_VAL;
    }
    if (r->best->evals++ == 0 || value > r->best->value) {
        r->best->value = value;
        memcpy(r->best->x, x, n * sizeof *x);
        memcpy(r->best->grad, g, n * sizeof *g);
    }
    if (grad)
        for (unsigned i = 0; i < n; i++)
            grad[i] = g[i] / r->o->unit;
    if (r->o->stage)
        kn_report_progress(r->ctx, r->o->stage, r->best->evals, 0, r->best->value);
    return value / r->o->unit;
}

double kn_projected_gradient(ptrdiff_t n, const double *x, const double *g, const double *lower,
                             const double *upper)
{
    double worst = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double slack = 1e-9 * (1 + fabs(x[i]));
        bool pushing = (lower && g[i] < 0 && x[i] <= lower[i] + slack) ||
                       (upper && g[i] > 0 && x[i] >= upper[i] - slack);
        if (!pushing && fabs(g[i]) > worst)
            worst = fabs(g[i]);
    }
    return worst;
}

kn_status kn_climb(kn_ctx *ctx, const kn_climb_options *o, kn_limits *limits, kn_objective_fn f,
                   void *self, kn_climb_result *best)
{
    double value;
    run r = {.ctx = ctx, .o = o, .limits = limits, .f = f, .self = self, .best = best};
    best->evals = 0;
    for (ptrdiff_t i = 0; i < o->n; i++) {
        best->x[i] = o->lower ? fmax(best->x[i], o->lower[i]) : best->x[i];
        best->x[i] = o->upper ? fmin(best->x[i], o->upper[i]) : best->x[i];
        best->at[i] = best->x[i];
    }
    r.opt =
        nlopt_create(o->algorithm == KN_TNEWTON ? NLOPT_LD_TNEWTON_PRECOND_RESTART : NLOPT_LD_LBFGS,
                     (unsigned)o->n);
    if (!r.opt)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the optimiser");
    nlopt_set_max_objective(r.opt, nlopt_objective, &r);
    if (o->lower)
        nlopt_set_lower_bounds(r.opt, o->lower);
    if (o->upper)
        nlopt_set_upper_bounds(r.opt, o->upper);
    nlopt_set_ftol_abs(r.opt, o->f_tolerance / o->unit);
    nlopt_set_xtol_rel(r.opt, 1e-10);
    nlopt_set_vector_storage(r.opt, o->kept);
    nlopt_result result = nlopt_optimize(r.opt, best->at, &value);
    nlopt_destroy(r.opt);
    bool keeps_best = best->evals > 0 && kn_cancel_keeps_best(ctx);
    if (r.status != KN_OK && !(r.status == KN_ERR_CANCELLED && keeps_best))
        return r.status;
    if (result == NLOPT_OUT_OF_MEMORY)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory in the optimiser");
    if (best->evals == 0 && r.stopped && r.stop == KN_STOP_CANCELLED)
        return kn_check_cancel(ctx);
    if (best->evals == 0)
        return kn_fail(ctx, KN_ERR_NUMERIC,
                       "the likelihood is not finite at the start of the optimisation");
    best->projected =
        kn_projected_gradient(o->n, best->x, best->grad, o->lower, o->upper) / o->unit;
    if (r.stopped)
        best->stop = r.stop;
    else if (result > 0 || best->projected < CONVERGED)
        best->stop = KN_STOP_CONVERGED;
    else
        best->stop = KN_STOP_LINE_SEARCH;
    return KN_OK;
}

kn_status kn_maximise(kn_ctx *ctx, const kn_optimise_options *o, kn_limits *limits,
                      kn_objective_fn f, void *self, kn_optimum *best)
{
    double at[KN_MAX_DIM], work[KN_MAX_DIM];
    kn_climb_result s = {.x = best->x, .grad = best->grad, .at = at, .work = work};
    kn_climb_options a = {.algorithm = o->algorithm,
                          .n = o->n,
                          .lower = o->lower,
                          .upper = o->upper,
                          .unit = o->unit,
                          .f_tolerance = o->f_tolerance,
                          .kept = STEPS_KEPT,
                          .stage = o->stage};
    kn_status status = kn_climb(ctx, &a, limits, f, self, &s);
    best->evals = s.evals;
    if (status != KN_OK)
        return status;
    best->value = s.value;
    best->projected = s.projected;
    best->stop = s.stop;
    return KN_OK;
}

/* ---- L-BFGS with many variables ---- */

enum {
    KEPT = 10,                 /* steps that approximate the curvature */
    INSIDE = 2 * KEPT + 6 + 4, /* vectors that NLopt allocates: work, bounds, tolerances */
};

/* Returns the bytes that NLopt allocates itself for n variables; they are counted towards the
 * memory budget. */
static size_t compute_inside_bytes(ptrdiff_t n)
{
    return (size_t)n * INSIDE * sizeof(double);
}

kn_status kn_maximise_large(kn_ctx *ctx, const kn_large_options *o, kn_limits *limits,
                            kn_objective_fn f, void *self, kn_large_optimum *best)
{
    kn_status status;
    kn_climb_result s = {.x = best->x};
    kn_climb_options a = {.algorithm = KN_LBFGS,
                          .n = o->n,
                          .lower = o->lower,
                          .upper = o->upper,
                          .unit = o->unit,
                          .f_tolerance = o->f_tolerance,
                          .kept = KEPT,
                          .stage = o->stage};
    KN_TRY(kn_alloc_d(ctx, o->n, &s.grad));
    KN_TRY(kn_alloc_d(ctx, o->n, &s.at));
    KN_TRY(kn_alloc_d(ctx, o->n, &s.work));
    kn_meter_add_block(kn_ctx_meter(ctx), compute_inside_bytes(o->n));
    status = kn_climb(ctx, &a, limits, f, self, &s);
    kn_meter_remove_block(kn_ctx_meter(ctx), compute_inside_bytes(o->n));
    KN_TRY(status);
    best->value = s.value;
    best->projected = s.projected;
    best->stop = s.stop;
out:
    best->evals = s.evals;
    kn_free(s.grad);
    kn_free(s.at);
    kn_free(s.work);
    return status;
}

void kn_maximise_large_need(kn_mem_plan *r, ptrdiff_t n)
{
    for (int k = 0; k < 3; k++)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, INSIDE);
}
