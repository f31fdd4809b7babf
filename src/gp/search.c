#include "gp/search.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

enum { CELLS = 5, SUBSAMPLE_LEAST = 150, SUBSAMPLE_MOST = 400 };
enum { STREAM_SUBSAMPLE = 101, STREAM_RESTARTS = 102 };
static const double RHO_BOUND = 7;      /* |logit rho|; rho = 0 and 1 are tried exactly besides */
static const double F_TOLERANCE = 1e-5; /* nats */

/* The search's coordinates: logit rho where both terms exist, ln length where se does. */
typedef struct space {
    kn_engine *e;
    bool has_rho, has_length;
    bool warm; /* the engine holds inside parameters to start from */
    int n;
    double lower[2], upper[2];
} space;

typedef struct point {
    double rho, length;
} point;

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static point point_of(const space *s, const double *x)
{
    point p = {.rho = s->has_length ? 1 : 0, .length = 1};
    int k = 0;
    if (s->has_rho)
        p.rho = logistic(x[k++]);
    if (s->has_length)
        p.length = exp(x[k]);
    return p;
}

static void coordinates(const space *s, point p, double *x)
{
    int k = 0;
    if (s->has_rho) {
        double rho = fmin(fmax(p.rho, 1e-12), 1 - 1e-12);
        x[k++] = fmin(fmax(log(rho / (1 - rho)), s->lower[0]), s->upper[0]);
    }
    if (s->has_length)
        x[k] = fmin(fmax(log(p.length), s->lower[k]), s->upper[k]);
}

/* By pairs where there are any, else from the rows of X. */
static kn_status box_of(kn_ctx *ctx, const kn_pairs *pairs, kn_mat X, unsigned kernels, kn_box *out)
{
    kn_distances d;
    *out =
        (kn_box){.has_length = (kernels & KN_SE) != 0, .rho = {-RHO_BOUND, RHO_BOUND}, .median = 1};
    out->has_rho = out->has_length && (kernels & KN_LINEAR);
    if (!out->has_length)
        return KN_OK;
    kn_status status =
        pairs->d2.data ? kn_pairs_distances(ctx, pairs, &d) : kn_row_distances(ctx, X, &d);
    if (status != KN_OK)
        return status;
    if (!(d.median > 0))
        return kn_fail(ctx, KN_ERR_DATA, "covariates do not differ between samples");
    out->length[0] = log(fmax(0.1 * d.median, 0.5 * d.nearest));
    out->length[1] = log(20 * d.median);
    out->median = d.median;
    return KN_OK;
}

kn_status kn_box_new(kn_ctx *ctx, const kn_pairs *pairs, unsigned kernels, kn_box *out)
{
    return box_of(ctx, pairs, kn_mat_none(), kernels, out);
}

static kn_status space_new(kn_ctx *ctx, kn_engine *e, space *s)
{
    kn_box box;
    kn_status status = box_of(ctx, &e->pairs, e->X, e->kernels, &box);
    *s = (space){.e = e, .has_rho = box.has_rho, .has_length = box.has_length};
    if (s->has_rho) {
        s->lower[s->n] = box.rho[0];
        s->upper[s->n++] = box.rho[1];
    }
    if (s->has_length) {
        s->lower[s->n] = box.length[0];
        s->upper[s->n++] = box.length[1];
    }
    return status;
}

static kn_status outer_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                 double *grad)
{
    space *s = self;
    point p = point_of(s, x);
    double g[2];
    kn_status status = kn_step_nested(ctx, s->e, p.rho, p.length, value, g);
    if (status == KN_OK) {
        int k = 0;
        if (s->has_rho)
            grad[k++] = g[0];
        if (s->has_length)
            grad[k] = g[1];
    }
    return status;
}

static bool stopped(const kn_ctx *ctx, const kn_limits *limits)
{
    return kn_cancelled(ctx) || limits->evals_left == 0 ||
           (limits->deadline > 0 && kn_clock() > limits->deadline);
}

/* A dense engine on seeded rows: n = max(150, N/3) of them cost a 27th of an evaluation each;
 * beyond 1000 they tell no more. */
static kn_status subsample(kn_ctx *ctx, const kn_engine *e, uint64_t seed, kn_mat *Z,
                           kn_engine *out)
{
    kn_status status;
    ptrdiff_t N = e->N, n = N / 3 > SUBSAMPLE_LEAST ? N / 3 : SUBSAMPLE_LEAST;
    ptrdiff_t *index = NULL;
    kn_pairs pairs = {0};
    kn_mat X = {0};
    n = n < SUBSAMPLE_MOST ? n : SUBSAMPLE_MOST;
    kn_rng rng;
    KN_TRY(kn_alloc_i(ctx, N, &index));
    kn_rng_init(&rng, seed, STREAM_SUBSAMPLE);
    kn_rng_permutation(&rng, N, index);
    KN_TRY(kn_mat_new(ctx, n, e->P, Z));
    kn_mat_rows(e->Z, index, *Z);
    if (e->pairs.dot.data || e->pairs.d2.data) {
        KN_TRY(kn_pairs_subset(ctx, &e->pairs, index, n, &pairs));
    } else {
        KN_TRY(kn_mat_new(ctx, n, e->X.cols, &X));
        kn_mat_rows(e->X, index, X);
        KN_TRY(kn_pairs_within(ctx, X, e->kernels, &pairs));
    }
    double share = (double)n / (double)N;
    KN_TRY(kn_engine_new(ctx, &e->spec, &pairs, *Z, e->T, e->E * share,
                         e->complement ? e->E * share : INFINITY, N,
                         e->spec.noise == KN_NOISE_ISO ? &e->iso.tasks : NULL, out));
out:
    kn_mat_clear(&X);
    kn_pairs_clear(&pairs);
    kn_free(index);
    return status;
}

typedef struct cell {
    point at;
    double lml;
} cell;

static void keep_two(cell *best, cell c)
{
    if (c.lml > best[0].lml) {
        best[1] = best[0];
        best[0] = c;
    } else if (c.lml > best[1].lml) {
        best[1] = c;
    }
}

/* The best two of 5 x 5 cells. */
static kn_status grid(kn_ctx *ctx, const space *s, cell best[2])
{
    static const double rho[CELLS] = {0.05, 0.25, 0.5, 0.75, 0.95};
    int done = 0, rows = s->has_rho ? CELLS : 1, k = s->n - 1;
    best[0] = best[1] = (cell){.lml = -INFINITY};
    for (int l = 0; l < CELLS; l++)
        for (int r = 0; r < rows; r++) {
            double t = (l + 0.5) / CELLS;
            cell c = {.at = {s->has_rho ? rho[r] : 1,
                             exp(s->lower[k] + t * (s->upper[k] - s->lower[k]))}};
            if (kn_cancelled(ctx) && best[0].lml > -INFINITY)
                return KN_OK;
            kn_status status = kn_check_cancel(ctx);
            if (status == KN_OK)
                status = kn_step_nested(ctx, s->e, c.at.rho, c.at.length, &c.lml, NULL);
            if (status != KN_OK)
                return status;
            keep_two(best, c);
            kn_tell(ctx, "grid", ++done, rows * CELLS, NAN);
        }
    return KN_OK;
}

static void take(kn_found *found, point p, double lml, kn_stop stop, double projected)
{
    found->rho = p.rho;
    found->length = p.length;
    found->lml = lml;
    found->stop = stop;
    found->projected = projected;
}

static kn_status climb(kn_ctx *ctx, space *s, kn_limits *limits, point start, const char *stage,
                       kn_found *found)
{
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = s->n,
                             .lower = s->lower,
                             .upper = s->upper,
                             .unit = (double)s->e->N,
                             .f_tolerance = F_TOLERANCE,
                             .stage = stage};
    kn_optimum best = {0};
    coordinates(s, start, best.x);
    s->e->warm = s->warm;
    kn_status status = kn_maximise(ctx, &o, limits, outer_objective, s, &best);
    if (status == KN_OK && best.value > found->lml)
        take(found, point_of(s, best.x), best.value, best.stop, best.projected);
    return status;
}

static bool same_place(const space *s, point a, point b)
{
    static const double APART = 0.3; /* in logit rho or ln length */
    double x[2], y[2];
    coordinates(s, a, x);
    coordinates(s, b, y);
    for (int i = 0; i < s->n; i++)
        if (fabs(x[i] - y[i]) > APART)
            return false;
    return true;
}

/* Where to start on all rows: the best two cells, climbed on a subsample first where there are rows
 * to spare. A climb there costs less than one evaluation here, and two that meet are one. */
static kn_status starts(kn_ctx *ctx, const space *s, const kn_search_options *o, point at[2],
                        int *n, kn_found *found)
{
    kn_status status = KN_OK;
    kn_engine sub = {0};
    kn_mat Z = {0};
    space here = *s;
    cell best[2];
    int before = s->e->evals;
    bool smaller = s->e->N > SUBSAMPLE_LEAST;
    if (smaller) {
        KN_TRY(subsample(ctx, s->e, o->seed, &Z, &sub));
        sub.journal = s->e->journal;
        here.e = &sub;
    }
    KN_TRY(grid(ctx, &here, best));
    *n = best[1].lml > -INFINITY ? 2 : 1;
    for (int k = 0; k < *n; k++) {
        kn_found top = {.rho = best[k].at.rho, .length = best[k].at.length, .lml = -INFINITY};
        kn_limits limits = {.evals_left = -1, .deadline = o->limits.deadline};
        if (smaller && !kn_cancelled(ctx))
            KN_TRY(climb(ctx, &here, &limits, best[k].at, NULL, &top));
        at[k] = (point){top.rho, top.length};
    }
    if (smaller && *n == 2 && same_place(s, at[0], at[1]))
        *n = 1;
    if (smaller) {
        found->evals_subsample += sub.evals;
        found->inner_evals += sub.inner_evals;
    } else { /* the grid's own, wherever it was */
        found->evals_subsample += s->e->evals - before;
        s->e->evals = before;
    }
out:
    kn_engine_clear(&sub);
    kn_mat_clear(&Z);
    return status;
}

/* rho = 0 and rho = 1 exactly: the logistic never gets there. For rho = 1 the length is free. */
static kn_status ends(kn_ctx *ctx, space *s, kn_limits *limits, kn_found *found)
{
    for (int end = 0; end < 2; end++) {
        point p = {end, found->length};
        double lml;
        if (stopped(ctx, limits))
            return KN_OK;
        s->e->thorough = true; /* the other end's inside parameters are no start for this one */
        kn_status status = kn_step_nested(ctx, s->e, p.rho, p.length, &lml, NULL);
        s->e->thorough = false;
        if (status != KN_OK)
            return status;
        if (limits->evals_left > 0)
            limits->evals_left--;
        if (!(lml > found->lml))
            continue;
        take(found, p, lml, found->stop, found->projected);
        if (end == 1) {
            space only = *s;
            only.has_rho = false;
            only.n = 1;
            only.lower[0] = s->lower[1];
            only.upper[0] = s->upper[1];
            status = climb(ctx, &only, limits, p, "fit", found);
            if (status != KN_OK)
                return status;
        }
    }
    return KN_OK;
}

static point middle(const space *s)
{
    point p = {s->has_rho ? 0.5 : s->has_length ? 1 : 0, 1};
    if (s->has_length) /* the median distance */
        p.length = exp(s->upper[s->n - 1]) / 20;
    return p;
}

/* theta as a start of the nested search: R0 = scale ((1-rho) XX'/F + rho SE), and the scale goes to
 * C, where nested keeps it. */
static point from_theta(kn_engine *e, const double *theta, point otherwise)
{
    double r0[KN_R0_MAX_PARAMS] = {0}, linear = 0, se = 0;
    int k = 0, n_task = kn_kernel_n_params(e->spec.task_kernel);
    point p = otherwise;
    kn_spec_split(&e->spec, theta, r0, e->inside);
    if (e->kernels & KN_LINEAR)
        linear = (double)e->spec.F * exp(2 * r0[k++]);
    if (e->kernels & KN_SE) {
        se = exp(2 * r0[k]);
        p.length = exp(r0[k + 1]);
    }
    p.rho = se / (linear + se);
    double shift = 0.5 * log(linear + se);
    k = 0;
    if (e->spec.task_kernel & KN_LINEAR)
        e->inside[k++] += shift;
    if (e->spec.task_kernel & KN_SE) {
        e->inside[k] += shift;
        k += 2;
    }
    if (e->spec.task_kernel & KN_ISO)
        e->inside[k] += shift;
    if (e->spec.sample_kernel & KN_ISO)
        e->inside[n_task] -= shift;
    return p;
}

static kn_status nested(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found)
{
    space s;
    point at[2];
    int n = 1;
    kn_limits limits = o->limits;
    kn_rng rng;
    kn_status status = space_new(ctx, e, &s);
    if (status != KN_OK)
        return status;
    point start = middle(&s);
    bool given = isfinite(o->length) || isfinite(o->rho);
    if (isfinite(o->rho) && s.has_rho)
        start.rho = o->rho;
    if (isfinite(o->length))
        start.length = o->length;
    if (o->theta && e->spec.noise == KN_NOISE_ISO) {
        start = from_theta(e, o->theta, start);
        s.warm = given = true;
    }
    found->lml = -INFINITY;
    if (!o->optimise || s.n == 0) { /* a linear kernel alone has nothing outside to search */
        take(found, start, -INFINITY, o->optimise ? KN_STOP_CONVERGED : KN_STOP_NOT_OPTIMISED, 0);
        return KN_OK;
    }
    if (given)
        at[0] = start;
    else
        KN_TRY(starts(ctx, &s, o, at, &n, found));
    e->low.tol = kn_rank_tolerance_search;
    for (int k = 0; k < n; k++)
        if (k == 0 || !stopped(ctx, &limits))
            KN_TRY(climb(ctx, &s, &limits, at[k], "fit", found));
    kn_rng_init(&rng, o->seed, STREAM_RESTARTS);
    for (int k = 0; k < o->restarts && !stopped(ctx, &limits); k++) {
        double x[2];
        for (int i = 0; i < s.n; i++)
            x[i] = s.lower[i] + kn_rng_uniform(&rng) * (s.upper[i] - s.lower[i]);
        KN_TRY(climb(ctx, &s, &limits, point_of(&s, x), "fit", found));
    }
    e->low.tol = kn_rank_tolerance;
    if (e->spec.rank > 0 && !stopped(ctx, &limits)) { /* the same with all of R0's trace */
        point rough = {found->rho, found->length};
        found->lml = -INFINITY;
        KN_TRY(climb(ctx, &s, &limits, rough, "fit", found));
    }
    if (s.has_rho)
        KN_TRY(ends(ctx, &s, &limits, found));
out:
    e->low.tol = kn_rank_tolerance;
    return status;
}

static kn_status joint_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                 double *grad)
{
    return kn_step_joint(ctx, self, x, value, grad);
}

/* A start in the middle of things: rho = 1/2, median length, the nested inside maximum's start. */
static kn_status joint_start(kn_ctx *ctx, kn_engine *e, double *theta)
{
    space s;
    double r0[KN_R0_MAX_PARAMS], inside[KN_MAX_THETA];
    kn_status status = space_new(ctx, e, &s);
    if (status != KN_OK)
        return status;
    point p = middle(&s);
    kn_theta_of_rho(e->kernels, e->spec.F, p.rho, p.length, r0);
    kn_engine_inside_start(e, 0, inside);
    kn_spec_join(&e->spec, r0, inside, theta);
    return KN_OK;
}

/* The start given, or one in the middle of things, inside the bounds. */
static kn_status start_of(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, double *theta)
{
    kn_status status = KN_OK;
    int n = kn_spec_n_theta(&e->spec);
    if (o->theta)
        memcpy(theta, o->theta, (size_t)n * sizeof *theta);
    else
        status = joint_start(ctx, e, theta);
    for (int i = 0; i < n; i++)
        theta[i] = fmin(fmax(theta[i], kn_theta_lower), kn_theta_upper);
    return status;
}

static kn_status joint(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found)
{
    double lower[KN_MAX_THETA], upper[KN_MAX_THETA], start[KN_MAX_THETA] = {0};
    kn_limits limits = o->limits;
    kn_rng rng;
    kn_status status = KN_OK;
    kn_optimise_options oo = {.algorithm = o->optimiser,
                              .n = kn_spec_n_theta(&e->spec),
                              .lower = lower,
                              .upper = upper,
                              .unit = (double)e->N,
                              .f_tolerance = F_TOLERANCE,
                              .stage = "fit"};
    for (int i = 0; i < oo.n; i++) {
        lower[i] = kn_theta_lower;
        upper[i] = kn_theta_upper;
    }
    KN_TRY(start_of(ctx, e, o, start));
    found->lml = -INFINITY;
    kn_rng_init(&rng, o->seed, STREAM_RESTARTS);
    for (int k = 0; k <= o->restarts; k++) {
        kn_optimum best = {0};
        memcpy(best.x, start, sizeof best.x);
        for (int i = 0; k > 0 && i < oo.n; i++)
            best.x[i] += kn_rng_normal(&rng);
        if (k > 0 && stopped(ctx, &limits))
            break;
        KN_TRY(kn_maximise(ctx, &oo, &limits, joint_objective, e, &best));
        if (best.value > found->lml) {
            found->lml = best.value;
            found->stop = best.stop;
            found->projected = best.projected;
            memcpy(found->theta, best.x, sizeof found->theta);
        }
    }
out:
    return status;
}

/* theta of a nested result, inside the bounds */
static void nested_theta(const kn_engine *e, const kn_found *found, double *theta)
{
    double r0[KN_R0_MAX_PARAMS] = {0};
    kn_theta_of_rho(e->kernels, e->spec.F, found->rho, found->length, r0);
    kn_spec_join(&e->spec, r0, e->inside, theta);
    for (int i = 0; i < kn_spec_n_theta(&e->spec); i++)
        theta[i] = fmin(fmax(theta[i], kn_theta_lower), kn_theta_upper);
}

kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found)
{
    kn_status status;
    bool iso = e->spec.noise == KN_NOISE_ISO;
    *found = (kn_found){.rho = NAN, .length = NAN};
    e->journal = o->journal;
    if (iso && (o->optimiser != KN_NESTED || (o->theta && !o->optimise))) {
        if (o->optimise) {
            KN_TRY(joint(ctx, e, o, found));
        } else {
            KN_TRY(start_of(ctx, e, o, found->theta));
            found->stop = KN_STOP_NOT_OPTIMISED;
        }
    } else {
        KN_TRY(nested(ctx, e, o, found));
        e->thorough = true;
        /* not by way of the journal: the engine has to stand there */
        KN_TRY(kn_engine_nested(ctx, e, found->rho, found->length, &found->lml, NULL));
        if (iso)
            nested_theta(e, found, found->theta);
    }
    if (iso) /* the state, the likelihood and the gradient belong to the theta that is reported */
        KN_TRY(kn_engine_joint(ctx, e, found->theta, &found->lml, found->gradient));
    found->evals += e->evals;
    found->inner_evals += e->inner_evals;
out:
    return status;
}
