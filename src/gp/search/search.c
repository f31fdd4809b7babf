/* The sequence of a search: starts, ascents, restarts, vertices of the simplex; the engine is left
 * at the point found [METHOD 3b]. kn_search is the only call that methods need. */
#include "gp/search/search.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "base/random.h"
#include "gp/search/internal.h"

/* Returns the search space at vertex k of the simplex of weights: w_k = 1 exactly, which no
 * coordinate reaches. Only the shapes of term k are free; the others are those of `at`. */
static kn_search_space restrict_to_vertex(const kn_search_space *s, int k, const kn_cov_point *at)
{
    const kn_cov *cov = &s->e->cov;
    kn_search_space v = *s;
    v.vertex = true;
    v.fixed = *at;
    for (int m = 0; m < cov->n; m++)
        v.fixed.w[m] = m == k;
    v.first = cov->n - 1 + cov->term[k].shape;
    v.n = cov->term[k].kernel->n_shape;
    return v;
}

/* Evaluates every vertex of the simplex of weights (with two terms rho = 0 and rho = 1) and
 * ascends from those that are better than *found, which is replaced. Ends early if *limits are
 * reached. Collective. */
static kn_status search_vertices(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                                 kn_search_result *found)
{
    for (int k = 0; k < s->e->cov.n; k++) {
        kn_search_space end = restrict_to_vertex(s, k, &found->at);
        double lml;
        bool stop;
        kn_status status = kn_search_stopped(ctx, limits, &stop);
        if (status != KN_OK || stop)
            return status;
        s->e->thorough = true; /* inside parameters of another vertex are no start */
        status = kn_lockstep_nested(ctx, s->e, &end.fixed, &lml, NULL);
        s->e->thorough = false;
        if (status != KN_OK)
            return status;
        if (limits->evals_left > 0)
            limits->evals_left--;
        if (!(lml > found->lml))
            continue;
        kn_search_record(found, &end.fixed, lml, found->stop, found->projected);
        if (end.n > 0)
            status = kn_search_ascend(ctx, &end, limits, &end.fixed, "fit", found);
        if (status != KN_OK)
            return status;
    }
    return KN_OK;
}

/* Converts theta to a start of the nested search: R0 = scale sum_k w_k K_k; the scale moves to
 * the task covariance C, where the nested search has it. Sets e->inside. */
static kn_cov_point point_from_theta(kn_engine *e, const double *theta)
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

/* Sets *start to the middle of the box, or as given by the caller in o: theta, or rho and length
 * (either or both). *given: rho or length is. KN_ERR_ARGUMENT if they are given but R0
 * (covariance between participants) has more than two terms. */
static kn_status choose_nested_start(kn_ctx *ctx, kn_search_space *s, const kn_search_options *o,
                                     bool *given, kn_cov_point *start)
{
    const kn_cov *cov = &s->e->cov;
    double rho, length;
    *start = s->box.middle;
    *given = isfinite(o->length) || isfinite(o->rho);
    if (*given && !kn_cov_is_rho_length(cov))
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{rho} and {length} can start at most two terms, but the sample covariance has %d",
            cov->n);
    if (*given) {
        kn_cov_rho_length(cov, start, &rho, &length);
        *start = kn_cov_at_rho(cov, isfinite(o->rho) ? o->rho : rho,
                               isfinite(o->length) ? o->length : length);
    }
    if (o->theta && s->e->spec.noise == KN_NOISE_ISO) {
        *start = point_from_theta(s->e, o->theta);
        s->warm = *given = true;
    }
    return KN_OK;
}

/* Ascends from o->restarts uniformly random points of the box; a better result replaces *found.
 * Ends early if *limits are reached. Collective. */
static kn_status search_restarts(kn_ctx *ctx, kn_search_space *s, const kn_search_options *o,
                                 kn_limits *limits, kn_search_result *found)
{
    kn_status status = KN_OK;
    kn_rng rng;
    bool stop;
    kn_rng_init(&rng, o->seed, KN_SEARCH_RESTARTS);
    for (int k = 0; k < o->restarts; k++) {
        double x[KN_COV_OUTER];
        KN_TRY(kn_search_stopped(ctx, limits, &stop));
        if (stop)
            break;
        for (int i = 0; i < s->n; i++)
            x[i] = s->box.lower[i] + kn_rng_uniform(&rng) * (s->box.upper[i] - s->box.lower[i]);
        kn_cov_point at = kn_search_point(s, x);
        KN_TRY(kn_search_ascend(ctx, s, limits, &at, "fit", found));
    }
out:
    return status;
}

/* Repeats the ascent from slightly increased weights until the gain is negligible. An ascent in
 * the subsample may have made weights so small that the likelihood does not depend on their
 * coordinates any more: there an ascent on all rows ends at once, wherever the maximum is.
 * Collective. */
static kn_status climb_lifted(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                              kn_search_result *found)
{
    enum { MAX_COUNT = 5 };
    static const double LIFT = 0.01, ENOUGH = 1e-3; /* of the sum of weights; nats */
    int n = s->e->cov.n;
    kn_status status = KN_OK;
    double before = -INFINITY;
    for (int k = 0; k < MAX_COUNT && found->lml - before > ENOUGH; k++) {
        kn_cov_point at = found->at;
        bool stop;
        KN_TRY(kn_search_stopped(ctx, limits, &stop));
        if (stop)
            break;
        for (int m = 0; m < n; m++)
            at.w[m] = (at.w[m] + LIFT) / (1 + n * LIFT);
        before = found->lml;
        KN_TRY(kn_search_ascend(ctx, s, limits, &at, "fit", found));
    }
out:
    return status;
}

/* Runs the nested search: starts, ascents, vertices, restarts; sets found->at, lml, stop and
 * projected. Collective. */
static kn_status search_nested(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                               kn_search_result *found)
{
    kn_search_space s;
    kn_cov_point at[2];
    int n = 1;
    bool given, stop;
    kn_limits limits = o->limits;
    kn_status status;
    KN_TRY(kn_search_space_new(ctx, e, &s));
    KN_TRY(choose_nested_start(ctx, &s, o, &given, &at[0]));
    found->lml = -INFINITY;
    if (!o->optimise || s.n == 0) { /* one term without shape: nothing to search */
        kn_search_record(found, &at[0], -INFINITY,
                         o->optimise ? KN_STOP_CONVERGED : KN_STOP_NOT_OPTIMISED, 0);
        return KN_OK;
    }
    bool additive = e->spec.additive && !given, small = false;
    if (additive)
        KN_TRY(kn_starts_small(ctx, e, &at[0], &small));
    if (small)
        KN_TRY(kn_starts_additive(ctx, &s, o, &at[0], found));
    else if (!additive && !given)
        KN_TRY(kn_starts_grid(ctx, &s, o, at, &n, found));
    e->low.tol = kn_rank_tolerance_search;
    KN_TRY(kn_search_ascend(ctx, &s, &limits, &at[0], "fit", found));
    if (small)
        KN_TRY(climb_lifted(ctx, &s, &limits, found));
    for (int k = 1; k < n; k++) {
        KN_TRY(kn_search_stopped(ctx, &limits, &stop));
        if (!stop)
            KN_TRY(kn_search_ascend(ctx, &s, &limits, &at[k], "fit", found));
    }
    if (additive && !small)
        KN_TRY(kn_starts_terms(ctx, &s, &limits, "fit", found));
    KN_TRY(search_restarts(ctx, &s, o, &limits, found));
    e->low.tol = kn_rank_tolerance;
    if (e->spec.rank > 0)
        KN_TRY(kn_search_stopped(ctx, &limits, &stop));
    if (e->spec.rank > 0 && !stop) { /* again with the full trace of R0 */
        kn_cov_point rough = found->at;
        found->lml = -INFINITY;
        KN_TRY(kn_search_ascend(ctx, &s, &limits, &rough, "fit", found));
    }
    /* not for additive sums, where the box keeps every weight above about 1e-3 */
    if (e->cov.n > 1 && !e->spec.additive)
        KN_TRY(search_vertices(ctx, &s, &limits, found));
out:
    e->low.tol = kn_rank_tolerance;
    return status;
}

/* Writes to theta all parameters of the nested result *found, clipped to the bounds. */
static void nested_theta(const kn_engine *e, const kn_search_result *found, double *theta)
{
    double r0[KN_COV_THETA] = {0};
    kn_cov_theta(&e->cov, &found->at, r0);
    kn_spec_join(&e->spec, r0, e->inside, theta);
    for (int i = 0; i < kn_spec_n_theta(&e->spec); i++)
        theta[i] = fmin(fmax(theta[i], kn_theta_lower), kn_theta_upper);
}

kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_search_result *found)
{
    kn_status status;
    bool iso = e->spec.noise == KN_NOISE_ISO, turned;
    *found = (kn_search_result){0};
    e->lockstep = o->lockstep;
    KN_TRY(kn_engine_sync_rank(ctx, e, &turned));
    if (iso && (o->optimiser != KN_NESTED || (o->theta && !o->optimise))) {
        if (o->optimise) {
            KN_TRY(kn_search_joint(ctx, e, o, found));
        } else {
            KN_TRY(kn_search_joint_start(ctx, e, o, found->theta));
            found->stop = KN_STOP_NOT_OPTIMISED;
        }
    } else {
        KN_TRY(search_nested(ctx, e, o, found));
        e->thorough = true;
        /* not in lock-step: the engine of every rank must stand at the point found */
        KN_TRY(kn_engine_evaluate_at(ctx, e, &found->at, &found->lml));
        if (iso)
            nested_theta(e, found, found->theta);
        KN_TRY(kn_comm_broadcast(ctx, found->theta, sizeof found->theta, 0));
    }
    if (iso) /* state, likelihood and gradient must belong to the reported theta */
        KN_TRY(kn_engine_joint(ctx, e, found->theta, &found->lml, found->gradient));
    KN_TRY(kn_engine_sync_rank(ctx, e, &turned));
    if (iso && turned)
        KN_TRY(kn_engine_joint(ctx, e, found->theta, &found->lml, found->gradient));
    found->evals += e->evals;
    found->inner_evals += e->inner_evals;
    KN_TRY(kn_engine_broadcast(ctx, e));
    KN_TRY(kn_comm_broadcast(ctx, found, sizeof *found, 0));
out:
    return status;
}

void kn_search_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_engine_need(r, s, true, false);
    kn_mem_usage mark = r->now;
    kn_distances_need(r, s->N);
    if (s->N <= KN_SUBSAMPLE_MIN)
        return;
    kn_subsample_need(r, s);
    kn_plan_free_to(r, mark);
}
