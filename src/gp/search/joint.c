/* Joint search: kn_maximise on kn_lockstep_joint, from one start and its restarts. All of theta is
 * searched at once, as in the paper. */
#include "gp/search/internal.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "base/random.h"
#include "gp/likelihood/engine.h"

/* Objective of the joint search (self: kn_engine): log likelihood and gradient at all parameters
 * x = theta. */
static kn_status joint_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                 double *grad)
{
    return kn_lockstep_joint(ctx, self, x, value, grad);
}

/* Sets theta to the default start: equal weights, median lengths and the first cold start of the
 * inside parameters. */
static kn_status set_middle(kn_ctx *ctx, kn_engine *e, double *theta)
{
    kn_search_space s;
    double r0[KN_COV_THETA], inside[KN_THETA];
    kn_status status = kn_search_space_new(ctx, e, &s);
    if (status != KN_OK)
        return status;
    kn_cov_theta(&e->cov, &s.box.middle, r0);
    kn_engine_inside_start(e, 0, inside);
    kn_spec_join(&e->spec, r0, inside, theta);
    return KN_OK;
}

kn_status kn_search_joint_start(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                                double *theta)
{
    kn_status status = KN_OK;
    int n = kn_spec_n_theta(&e->spec);
    if (o->theta)
        memcpy(theta, o->theta, (size_t)n * sizeof *theta);
    else
        status = set_middle(ctx, e, theta);
    for (int i = 0; i < n; i++)
        theta[i] = fmin(fmax(theta[i], kn_theta_lower), kn_theta_upper);
    return status == KN_OK ? kn_comm_broadcast(ctx, theta, n * (ptrdiff_t)sizeof *theta, 0)
                           : status;
}

kn_status kn_search_joint(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                          kn_search_result *found)
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
                              .f_tolerance = kn_search_tolerance,
                              .stage = "fit"};
    for (int i = 0; i < oo.n; i++) {
        lower[i] = kn_theta_lower;
        upper[i] = kn_theta_upper;
    }
    KN_TRY(kn_search_joint_start(ctx, e, o, start));
    found->lml = -INFINITY;
    kn_rng_init(&rng, o->seed, KN_SEARCH_RESTARTS);
    for (int k = 0; k <= o->restarts; k++) {
        kn_optimum best = {0};
        bool stop = false;
        memcpy(best.x, start, sizeof best.x);
        for (int i = 0; k > 0 && i < oo.n; i++)
            best.x[i] += kn_rng_normal(&rng);
        if (k > 0)
            KN_TRY(kn_search_stopped(ctx, &limits, &stop));
        if (stop)
            break;
        KN_TRY(kn_comm_broadcast(ctx, best.x, sizeof best.x, 0));
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
