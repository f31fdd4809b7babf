#include "gp/search.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

enum { CELLS = 5, SUBSAMPLE_LEAST = 150, SUBSAMPLE_MOST = 400 };
enum { SUBSAMPLE_LOW = 5000 }; /* the same where R0 is of low rank, and cheap */
enum { STREAM_SUBSAMPLE = 101, STREAM_RESTARTS = 102 };
static const double F_TOLERANCE = 1e-5; /* nats */

/* What is searched: x = (eta, ln shapes) inside a box [cov/weights.h], or, at a vertex of the
 * simplex, the shapes of the one term that is left. */
typedef struct space {
    kn_engine *e;
    bool warm; /* the engine holds inside parameters to start from */
    kn_box box;
    int first, n;      /* coordinates that move: all of them, or the shapes of one term ... */
    bool vertex;       /* ... while the weights stay */
    kn_cov_point held; /* where they do */
} space;

static kn_status space_new(kn_ctx *ctx, kn_engine *e, space *s)
{
    *s = (space){.e = e, .n = kn_cov_n_outer(&e->cov)};
    return kn_box_new(ctx, &e->cov, &e->pairs, e->X, &s->box);
}

static kn_cov_point point_of(const space *s, const double *x)
{
    if (!s->vertex)
        return kn_cov_point_at(&s->e->cov, x);
    kn_cov_point p = s->held;
    for (int i = 0; i < s->n; i++)
        p.shape[s->first - (s->e->cov.n - 1) + i] = exp(x[i]);
    return p;
}

static void coordinates(const space *s, const kn_cov_point *p, double *x)
{
    double all[KN_COV_OUTER];
    kn_cov_coordinates(&s->e->cov, p, all);
    for (int i = 0; i < s->n; i++) {
        int k = s->first + i;
        x[i] = fmin(fmax(all[k], s->box.lower[k]), s->box.upper[k]);
    }
}

static kn_status outer_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                 double *grad)
{
    space *s = self;
    kn_cov_point p = point_of(s, x);
    double g[KN_COV_OUTER];
    kn_status status = kn_step_nested(ctx, s->e, &p, value, g);
    if (status == KN_OK)
        memcpy(grad, g + s->first, (size_t)s->n * sizeof *g);
    return status;
}

static bool stopped(const kn_ctx *ctx, const kn_limits *limits)
{
    return kn_cancelled(ctx) || limits->evals_left == 0 ||
           (limits->deadline > 0 && kn_clock() > limits->deadline);
}

static ptrdiff_t subsample_size(ptrdiff_t N)
{
    return kn_at_most(N / 3 > SUBSAMPLE_LEAST ? N / 3 : SUBSAMPLE_LEAST, SUBSAMPLE_MOST);
}

/* index = n seeded rows; groups come whole, and the last of them may make it a few more. */
static kn_status pick_rows(kn_ctx *ctx, const kn_engine *e, uint64_t seed, ptrdiff_t *n,
                           ptrdiff_t *index)
{
    const kn_groups *g = &e->groups;
    kn_rng rng;
    ptrdiff_t *order = NULL, rows = 0;
    kn_status status = KN_OK;
    kn_rng_init(&rng, seed, STREAM_SUBSAMPLE);
    if (e->n_cells == 1) {
        kn_rng_permutation(&rng, e->N, index);
        return KN_OK;
    }
    KN_TRY(kn_alloc_i(ctx, g->n, &order));
    kn_rng_permutation(&rng, g->n, order);
    for (ptrdiff_t k = 0; k < g->n && rows < *n; k++)
        for (ptrdiff_t i = g->start[order[k]]; i < g->start[order[k] + 1]; i++)
            index[rows++] = g->row[i];
    *n = rows;
out:
    kn_free(order);
    return status;
}

/* A dense engine on seeded rows: n = max(150, N/3) of them cost a 27th of an evaluation each;
 * beyond 400 they tell no more. */
static kn_status subsample(kn_ctx *ctx, const kn_engine *e, uint64_t seed, kn_mat *Z,
                           kn_engine *out)
{
    kn_status status;
    ptrdiff_t N = e->N, n = subsample_size(N), *index = NULL;
    kn_pairs pairs = {0};
    kn_groups groups = {0};
    kn_mat X = {0};
    KN_TRY(kn_alloc_i(ctx, N, &index));
    KN_TRY(pick_rows(ctx, e, seed, &n, index));
    KN_TRY(kn_mat_new(ctx, n, e->P, Z));
    kn_mat_rows(e->Z, index, *Z);
    if (e->pairs.n > 0) {
        KN_TRY(kn_pairs_subset(ctx, &e->pairs, index, n, &pairs));
    } else {
        KN_TRY(kn_mat_new(ctx, n, e->X.cols, &X));
        kn_mat_rows(e->X, index, X);
        KN_TRY(kn_pairs_within(ctx, X, &e->cov.stats, &pairs));
    }
    KN_TRY(kn_groups_subset(ctx, &e->groups, index, n, &groups));
    double share = (double)n / (double)N;
    kn_engine_data data = {.Z = *Z,
                           .pairs = &pairs,
                           .groups = &groups,
                           .T = e->T,
                           .E = e->E * share,
                           .total = e->complement ? e->E * share : INFINITY,
                           .N_ref = N,
                           .tasks = e->spec.noise == KN_NOISE_ISO ? &e->iso.tasks : NULL};
    KN_TRY(kn_engine_new(ctx, &e->spec, &data, out));
    for (int k = 0; k < out->n_cells; k++)
        out->cell[k].R0.steady = e->spec.rank > 0; /* as the low rank that it stands for */
out:
    kn_groups_clear(&groups);
    kn_mat_clear(&X);
    kn_pairs_clear(&pairs);
    kn_free(index);
    return status;
}

typedef struct cell {
    kn_cov_point at;
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

/* Weights of the grid's r-th row: of two terms rho in five steps; of more all alike, and each at
 * three quarters. */
static int grid_rows(const kn_cov *cov)
{
    return cov->n == 1 ? 1 : cov->n == 2 ? CELLS : cov->n + 1;
}

static void grid_weights(const kn_cov *cov, int r, double *w)
{
    static const double rho[CELLS] = {0.05, 0.25, 0.5, 0.75, 0.95}, most = 0.75;
    int n = cov->n;
    w[0] = 1;
    if (n == 2) {
        w[0] = 1 - rho[r];
        w[1] = rho[r];
    }
    for (int k = 0; n > 2 && k < n; k++)
        w[k] = r == n ? 1 / (double)n : k == r ? most : (1 - most) / (n - 1);
}

/* The best two of 5 x 5 cells: steps of all lengths alike by rows of weights. */
static kn_status grid(kn_ctx *ctx, const space *s, cell best[2])
{
    const kn_cov *cov = &s->e->cov;
    int done = 0, rows = grid_rows(cov), steps = cov->n_shapes > 0 ? CELLS : 1;
    best[0] = best[1] = (cell){.lml = -INFINITY};
    for (int l = 0; l < steps; l++)
        for (int r = 0; r < rows; r++) {
            double t = (l + 0.5) / CELLS;
            cell c = {0};
            grid_weights(cov, r, c.at.w);
            for (int i = 0; i < cov->n_shapes; i++) {
                double low = s->box.lower[cov->n - 1 + i], high = s->box.upper[cov->n - 1 + i];
                c.at.shape[i] = exp(low + t * (high - low));
            }
            if (kn_cancelled(ctx) && best[0].lml > -INFINITY)
                return KN_OK;
            kn_status status = kn_check_cancel(ctx);
            if (status == KN_OK)
                status = kn_step_nested(ctx, s->e, &c.at, &c.lml, NULL);
            if (status != KN_OK)
                return status;
            keep_two(best, c);
            kn_tell(ctx, "grid", ++done, rows * steps, NAN);
        }
    return KN_OK;
}

static void take(kn_found *found, const kn_cov_point *at, double lml, kn_stop stop,
                 double projected)
{
    found->at = *at;
    found->lml = lml;
    found->stop = stop;
    found->projected = projected;
}

static kn_status climb(kn_ctx *ctx, space *s, kn_limits *limits, const kn_cov_point *start,
                       const char *stage, kn_found *found)
{
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = s->n,
                             .lower = s->box.lower + s->first,
                             .upper = s->box.upper + s->first,
                             .unit = (double)s->e->N,
                             .f_tolerance = F_TOLERANCE,
                             .stage = stage};
    kn_optimum best = {0};
    coordinates(s, start, best.x);
    s->e->warm = s->warm;
    kn_status status = kn_maximise(ctx, &o, limits, outer_objective, s, &best);
    if (status == KN_OK && best.value > found->lml) {
        kn_cov_point at = point_of(s, best.x);
        take(found, &at, best.value, best.stop, best.projected);
    }
    return status;
}

static bool same_place(const space *s, const kn_cov_point *a, const kn_cov_point *b)
{
    static const double APART = 0.3; /* in any coordinate */
    double x[KN_COV_OUTER], y[KN_COV_OUTER];
    coordinates(s, a, x);
    coordinates(s, b, y);
    for (int i = 0; i < s->n; i++)
        if (fabs(x[i] - y[i]) > APART)
            return false;
    return true;
}

/* Where to start on all rows: the best two cells, climbed on a subsample first where there are rows
 * to spare. A climb there costs less than one evaluation here, and two that meet are one. */
static kn_status starts(kn_ctx *ctx, const space *s, const kn_search_options *o, kn_cov_point at[2],
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
        kn_found top = {.at = best[k].at, .lml = -INFINITY};
        kn_limits limits = {.evals_left = -1, .deadline = o->limits.deadline};
        if (smaller && !kn_cancelled(ctx))
            KN_TRY(climb(ctx, &here, &limits, &best[k].at, NULL, &top));
        at[k] = top.at;
    }
    if (smaller && *n == 2 && same_place(s, &at[0], &at[1]))
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

/* Weights of an additive sum have local maxima: from where each term in turn holds most of the
 * variance, at median lengths. */
static kn_status from_terms(kn_ctx *ctx, space *s, kn_limits *limits, const char *stage,
                            kn_found *found)
{
    static const double MOST = 0.75;
    const kn_cov *cov = &s->e->cov;
    kn_status status = KN_OK;
    for (int k = 0; cov->n > 1 && k < cov->n && !stopped(ctx, limits); k++) {
        kn_cov_point at = s->box.middle;
        for (int m = 0; m < cov->n; m++)
            at.w[m] = m == k ? MOST : (1 - MOST) / (cov->n - 1);
        KN_TRY(climb(ctx, s, limits, &at, stage, found));
    }
out:
    return status;
}

/* Would all rows cost much? Then these starts are for a subsample. */
static kn_status starts_small(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, bool *small)
{
    kn_status status = kn_engine_try_rank(ctx, e, at);
    *small = e->N > (e->spec.rank == 0 ? SUBSAMPLE_LEAST : SUBSAMPLE_LOW);
    return status;
}

/* The additive sum on a subsample: from equal weights and median lengths, and from each term. */
static kn_status additive_start(kn_ctx *ctx, const space *s, const kn_search_options *o,
                                kn_cov_point *at, kn_found *found)
{
    kn_status status = KN_OK;
    kn_engine sub = {0};
    kn_mat Z = {0};
    space here = *s;
    kn_found top = {.at = *at, .lml = -INFINITY};
    kn_limits limits = {.evals_left = -1, .deadline = o->limits.deadline};
    KN_TRY(subsample(ctx, s->e, o->seed, &Z, &sub));
    sub.journal = s->e->journal;
    here.e = &sub;
    KN_TRY(climb(ctx, &here, &limits, at, NULL, &top));
    KN_TRY(from_terms(ctx, &here, &limits, NULL, &top));
    *at = top.at;
    found->evals_subsample += sub.evals;
out:
    kn_engine_clear(&sub);
    kn_mat_clear(&Z);
    return status;
}

/* One term alone, exactly: no coordinate gets there. Its shapes are free. */
static space at_vertex(const space *s, int k, const kn_cov_point *at)
{
    const kn_cov *cov = &s->e->cov;
    space v = *s;
    v.vertex = true;
    v.held = *at;
    for (int m = 0; m < cov->n; m++)
        v.held.w[m] = m == k;
    v.first = cov->n - 1 + cov->term[k].shape;
    v.n = cov->term[k].kernel->n_shape;
    return v;
}

/* The vertices of the simplex; of two terms rho = 0 and rho = 1. */
static kn_status ends(kn_ctx *ctx, space *s, kn_limits *limits, kn_found *found)
{
    for (int k = 0; k < s->e->cov.n; k++) {
        space end = at_vertex(s, k, &found->at);
        double lml;
        if (stopped(ctx, limits))
            return KN_OK;
        s->e->thorough = true; /* the other end's inside parameters are no start for this one */
        kn_status status = kn_step_nested(ctx, s->e, &end.held, &lml, NULL);
        s->e->thorough = false;
        if (status != KN_OK)
            return status;
        if (limits->evals_left > 0)
            limits->evals_left--;
        if (!(lml > found->lml))
            continue;
        take(found, &end.held, lml, found->stop, found->projected);
        if (end.n > 0)
            status = climb(ctx, &end, limits, &end.held, "fit", found);
        if (status != KN_OK)
            return status;
    }
    return KN_OK;
}

/* theta as a start of the nested search: R0 = scale sum_k w_k K_k, and the scale goes to C, where
 * nested keeps it. */
static kn_cov_point from_theta(kn_engine *e, const double *theta)
{
    double r0[KN_COV_THETA] = {0}, total;
    kn_cov_point p;
    kn_spec_split(&e->spec, theta, r0, e->inside);
    kn_cov_point_of(&e->cov, r0, &p, &total);
    double shift = 0.5 * log(total);
    for (int k = 0; k < e->spec.task.n; k++)
        e->inside[e->spec.task.term[k].at] += shift;
    if (e->iso.sample_iso)
        e->inside[e->spec.task.n_theta] -= shift;
    return p;
}

/* The middle of the box, or what the caller gave: theta, or of rho and length either or both. */
static kn_status nested_start(kn_ctx *ctx, space *s, const kn_search_options *o, bool *given,
                              kn_cov_point *start)
{
    const kn_cov *cov = &s->e->cov;
    double rho, length;
    *start = s->box.middle;
    *given = isfinite(o->length) || isfinite(o->rho);
    if (*given && !kn_cov_is_rho_length(cov))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "rho and length say where to start for two terms at most, the sample "
                       "covariance has %d",
                       cov->n);
    if (*given) {
        kn_cov_rho_length(cov, start, &rho, &length);
        *start = kn_cov_at_rho(cov, isfinite(o->rho) ? o->rho : rho,
                               isfinite(o->length) ? o->length : length);
    }
    if (o->theta && s->e->spec.noise == KN_NOISE_ISO) {
        *start = from_theta(s->e, o->theta);
        s->warm = *given = true;
    }
    return KN_OK;
}

static kn_status nested(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found)
{
    space s;
    kn_cov_point at[2];
    int n = 1;
    bool given;
    kn_limits limits = o->limits;
    kn_rng rng;
    kn_status status;
    KN_TRY(space_new(ctx, e, &s));
    KN_TRY(nested_start(ctx, &s, o, &given, &at[0]));
    found->lml = -INFINITY;
    if (!o->optimise || s.n == 0) { /* one term without shape has nothing outside to search */
        take(found, &at[0], -INFINITY, o->optimise ? KN_STOP_CONVERGED : KN_STOP_NOT_OPTIMISED, 0);
        return KN_OK;
    }
    bool additive = e->spec.additive && !given, small = false;
    if (additive)
        KN_TRY(starts_small(ctx, e, &at[0], &small));
    if (small)
        KN_TRY(additive_start(ctx, &s, o, &at[0], found));
    else if (!additive && !given)
        KN_TRY(starts(ctx, &s, o, at, &n, found));
    e->low.tol = kn_rank_tolerance_search;
    for (int k = 0; k < n; k++)
        if (k == 0 || !stopped(ctx, &limits))
            KN_TRY(climb(ctx, &s, &limits, &at[k], "fit", found));
    if (additive && !small)
        KN_TRY(from_terms(ctx, &s, &limits, "fit", found));
    kn_rng_init(&rng, o->seed, STREAM_RESTARTS);
    for (int k = 0; k < o->restarts && !stopped(ctx, &limits); k++) {
        double x[KN_COV_OUTER];
        for (int i = 0; i < s.n; i++)
            x[i] = s.box.lower[i] + kn_rng_uniform(&rng) * (s.box.upper[i] - s.box.lower[i]);
        at[0] = point_of(&s, x);
        KN_TRY(climb(ctx, &s, &limits, &at[0], "fit", found));
    }
    e->low.tol = kn_rank_tolerance;
    if (e->spec.rank > 0 && !stopped(ctx, &limits)) { /* the same with all of R0's trace */
        kn_cov_point rough = found->at;
        found->lml = -INFINITY;
        KN_TRY(climb(ctx, &s, &limits, &rough, "fit", found));
    }
    if (e->cov.n > 1 && !e->spec.additive) /* its bounds leave a thousandth to every term */
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

/* A start in the middle of things: equal weights, median lengths, the nested inside maximum's
 * start. */
static kn_status joint_start(kn_ctx *ctx, kn_engine *e, double *theta)
{
    space s;
    double r0[KN_COV_THETA], inside[KN_THETA];
    kn_status status = space_new(ctx, e, &s);
    if (status != KN_OK)
        return status;
    kn_cov_theta(&e->cov, &s.box.middle, r0);
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
    double lower[KN_THETA], upper[KN_THETA], start[KN_THETA] = {0};
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
    double r0[KN_COV_THETA] = {0};
    kn_cov_theta(&e->cov, &found->at, r0);
    kn_spec_join(&e->spec, r0, e->inside, theta);
    for (int i = 0; i < kn_spec_n_theta(&e->spec); i++)
        theta[i] = fmin(fmax(theta[i], kn_theta_lower), kn_theta_upper);
}

kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found)
{
    kn_status status;
    bool iso = e->spec.noise == KN_NOISE_ISO;
    *found = (kn_found){0};
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
        KN_TRY(kn_engine_nested(ctx, e, &found->at, &found->lml, NULL));
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

void kn_search_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_need_shape some = *s;
    kn_engine_need(r, s, true, false);
    kn_held mark = r->now;
    kn_distances_need(r, s->N);
    if (s->N <= SUBSAMPLE_LEAST)
        return;
    some.N = some.M = subsample_size(s->N);
    kn_hold_d(r, KN_NEED_WORK, s->N, 1);
    kn_hold_d(r, KN_NEED_WORK, some.N, s->P + s->F);
    kn_engine_need(r, &some, true, true);
    kn_let_go(r, mark);
}
