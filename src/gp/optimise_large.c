#include "gp/optimise_large.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mat.h"
#include "la/vec.h"

enum { KEPT = KN_LARGE_KEPT, TRIALS = 40 }; /* of one line search */

static const double CONVERGED = 1e-5; /* projected gradient per unit, as in optimise.c */
static const double ARMIJO = 1e-4, CURVATURE = 0.9;
/* A pair whose curvature is below this share of |s| |y| says nothing but rounding. */
static const double PAIR = 1e-10;

typedef struct run {
    kn_ctx *ctx;
    const kn_large_options *o;
    kn_limits *limits;
    kn_objective_fn f;
    void *self;
    kn_large_optimum *best; /* x and value are those that the search stands at, always the best */
    double *g;              /* n  gradient there */
    double *d;              /* n  direction */
    double *trial, *trial_g;
    double value;      /* at the trial */
    kn_mat s, y;       /* n x KEPT, used in a ring */
    double rho[KEPT];  /* 1/s'y */
    int pairs, newest; /* how many, and where the last is */
    bool stopped;
} run;

static kn_status run_new(run *r)
{
    kn_status status;
    ptrdiff_t n = r->o->n;
    KN_TRY(kn_alloc_d(r->ctx, n, &r->g));
    KN_TRY(kn_alloc_d(r->ctx, n, &r->d));
    KN_TRY(kn_alloc_d(r->ctx, n, &r->trial));
    KN_TRY(kn_alloc_d(r->ctx, n, &r->trial_g));
    KN_TRY(kn_mat_new(r->ctx, n, KEPT, &r->s));
    KN_TRY(kn_mat_new(r->ctx, n, KEPT, &r->y));
out:
    return status;
}

static void run_clear(run *r)
{
    kn_free(r->g);
    kn_free(r->d);
    kn_free(r->trial);
    kn_free(r->trial_g);
    kn_mat_clear(&r->s);
    kn_mat_clear(&r->y);
}

void kn_maximise_large_need(kn_rehearsal *r, ptrdiff_t n)
{
    for (int k = 0; k < 4; k++)
        kn_hold_d(r, KN_NEED_WORK, n, 1);
    kn_hold_d(r, KN_NEED_WORK, n, KEPT);
    kn_hold_d(r, KN_NEED_WORK, n, KEPT);
}

static void stop_with(run *r, kn_stop why)
{
    r->best->stop = why;
    r->stopped = true;
}

/* The objective at r->trial. From the second evaluation on, limits are looked at: there is always
 * one point to keep. */
static kn_status evaluate(run *r)
{
    kn_large_optimum *best = r->best;
    if (kn_cancelled(r->ctx)) {
        stop_with(r, KN_STOP_CANCELLED);
        return best->evals > 0 ? KN_OK : kn_check_cancel(r->ctx);
    }
    if (best->evals > 0 && r->limits->evals_left == 0)
        stop_with(r, KN_STOP_MAX_EVALS);
    else if (best->evals > 0 && r->limits->deadline > 0 && kn_clock() > r->limits->deadline)
        stop_with(r, KN_STOP_MAX_SECONDS);
    if (r->stopped)
        return KN_OK;
    kn_status status = r->f(r->self, r->ctx, r->trial, &r->value, r->trial_g);
    if (status == KN_ERR_CANCELLED && best->evals > 0) {
        stop_with(r, KN_STOP_CANCELLED);
        return KN_OK;
    }
    if (status != KN_OK)
        return status;
    if (r->limits->evals_left > 0)
        r->limits->evals_left--;
    best->evals++;
    return KN_OK;
}

/* The trial becomes the point that the search stands at. */
static void accept(run *r)
{
    size_t bytes = (size_t)r->o->n * sizeof(double);
    memcpy(r->best->x, r->trial, bytes);
    memcpy(r->g, r->trial_g, bytes);
    r->best->value = r->value;
    if (r->o->stage)
        kn_tell(r->ctx, r->o->stage, r->best->evals, 0, r->value);
}

static bool pushes(const run *r, ptrdiff_t i)
{
    double x = r->best->x[i], g = r->g[i], slack = 1e-9 * (1 + fabs(x));
    return (r->o->lower && g < 0 && x <= r->o->lower[i] + slack) ||
           (r->o->upper && g > 0 && x >= r->o->upper[i] - slack);
}

static double clip(const kn_large_options *o, ptrdiff_t i, double x)
{
    x = o->lower && x < o->lower[i] ? o->lower[i] : x;
    return o->upper && x > o->upper[i] ? o->upper[i] : x;
}

static void add(ptrdiff_t n, double a, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* d <- H d by the pairs kept, of -f: y is minus the change of the gradient. */
static void two_loops(run *r)
{
    ptrdiff_t n = r->o->n;
    double alpha[KEPT] = {0};
    for (int k = 0; k < r->pairs; k++) {
        int at = (r->newest - k + KEPT) % KEPT;
        alpha[at] = r->rho[at] * kn_vec_dot(n, kn_col(r->s, at), r->d);
        add(n, -alpha[at], kn_col(r->y, at), r->d);
    }
    if (r->pairs > 0) {
        const double *y = kn_col(r->y, r->newest);
        double scale = 1 / (r->rho[r->newest] * kn_vec_dot(n, y, y));
        for (ptrdiff_t i = 0; i < n; i++)
            r->d[i] *= scale;
    }
    for (int k = r->pairs - 1; k >= 0; k--) {
        int at = (r->newest - k + KEPT) % KEPT;
        double beta = r->rho[at] * kn_vec_dot(n, kn_col(r->y, at), r->d);
        add(n, alpha[at] - beta, kn_col(r->s, at), r->d);
    }
}

/* The direction, and its slope g'd > 0; 0 where there is none upwards. */
static double direction(run *r)
{
    ptrdiff_t n = r->o->n;
    for (int again = 0; again < 2; again++) {
        for (ptrdiff_t i = 0; i < n; i++)
            r->d[i] = pushes(r, i) ? 0 : r->g[i];
        two_loops(r);
        for (ptrdiff_t i = 0; i < n; i++)
            r->d[i] = pushes(r, i) ? 0 : r->d[i];
        double slope = kn_vec_dot(n, r->g, r->d);
        if (slope > 0 && isfinite(slope))
            return slope;
        r->pairs = 0; /* what was kept misleads: steepest ascent */
    }
    return 0;
}

/* A pair from where the search stands to the trial, before it is accepted. */
static void keep_pair(run *r)
{
    ptrdiff_t n = r->o->n;
    double sy = 0, ss = 0, yy = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double s = r->trial[i] - r->best->x[i], y = r->g[i] - r->trial_g[i];
        sy += s * y;
        ss += s * s;
        yy += y * y;
    }
    if (!(sy > PAIR * sqrt(ss * yy)))
        return;
    int at = r->pairs > 0 ? (r->newest + 1) % KEPT : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        kn_col(r->s, at)[i] = r->trial[i] - r->best->x[i];
        kn_col(r->y, at)[i] = r->g[i] - r->trial_g[i];
    }
    r->rho[at] = 1 / sy;
    r->newest = at;
    r->pairs = r->pairs < KEPT ? r->pairs + 1 : KEPT;
}

/* Along x(t) until both conditions hold; gain 0: nothing higher was found. A trial that is higher,
 * only not flat enough, is kept at the last. */
static kn_status climb(run *r, double slope, double *gain)
{
    ptrdiff_t n = r->o->n;
    kn_status status = KN_OK;
    double low = 0, high = INFINITY, start = r->best->value;
    double t = r->pairs > 0 ? 1 : 1 / sqrt(kn_vec_dot(n, r->d, r->d));
    *gain = 0;
    for (int k = 0; k < TRIALS && !r->stopped; k++) {
        double rise = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            r->trial[i] = clip(r->o, i, r->best->x[i] + t * r->d[i]);
            rise += r->g[i] * (r->trial[i] - r->best->x[i]);
        }
        KN_TRY(evaluate(r));
        if (r->stopped)
            break;
        bool higher = isfinite(r->value) && r->value >= start + ARMIJO * rise && r->value > start;
        if (higher && (!(kn_vec_dot(n, r->trial_g, r->d) > CURVATURE * slope) || k + 1 == TRIALS)) {
            keep_pair(r);
            accept(r);
            *gain = r->best->value - start;
            break;
        }
        *(higher ? &low : &high) = t;
        t = isfinite(high) ? (low + high) / 2 : 2 * t;
    }
out:
    return status;
}

static double projected(const run *r)
{
    double worst = 0;
    for (ptrdiff_t i = 0; i < r->o->n; i++)
        if (!pushes(r, i) && fabs(r->g[i]) > worst)
            worst = fabs(r->g[i]);
    return worst / r->o->unit;
}

static kn_status ascend(run *r)
{
    kn_status status = KN_OK;
    while (!r->stopped) {
        double gain, slope = direction(r);
        bool fresh = r->pairs == 0;
        if (slope == 0 || projected(r) < CONVERGED) {
            stop_with(r, KN_STOP_CONVERGED);
            break;
        }
        KN_TRY(climb(r, slope, &gain));
        if (r->stopped)
            break;
        if (gain > 0 && gain < r->o->f_tolerance)
            stop_with(r, KN_STOP_CONVERGED);
        else if (gain == 0 && fresh)
            stop_with(r, KN_STOP_LINE_SEARCH);
        else if (gain == 0)
            r->pairs = 0;
    }
out:
    return status;
}

kn_status kn_maximise_large(kn_ctx *ctx, const kn_large_options *o, kn_limits *limits,
                            kn_objective_fn f, void *self, kn_large_optimum *best)
{
    kn_status status;
    run r = {.ctx = ctx, .o = o, .limits = limits, .f = f, .self = self, .best = best};
    best->evals = 0;
    KN_TRY(run_new(&r));
    for (ptrdiff_t i = 0; i < o->n; i++)
        r.trial[i] = clip(o, i, best->x[i]);
    KN_TRY(evaluate(&r));
    if (!isfinite(r.value))
        KN_TRY(kn_fail(ctx, KN_ERR_NUMERIC,
                       "the likelihood is not finite at the start of the optimisation"));
    accept(&r);
    KN_TRY(ascend(&r));
    best->projected = projected(&r);
out:
    run_clear(&r);
    return status;
}
