/* The space of a nested search: kn_maximise on kn_lockstep_nested, in the coordinates of the box.
 * Inner parameters are maximised at every point. */
#include "gp/search/internal.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"

const double kn_search_tolerance = 1e-5;

kn_status kn_search_space_new(kn_ctx *ctx, kn_engine *e, kn_search_space *s)
{
    *s = (kn_search_space){.e = e, .n = kn_cov_n_outer(&e->cov)};
    kn_status status = kn_box_new(ctx, &e->cov, &e->pairs, e->X, &s->box);
    return status == KN_OK ? kn_comm_broadcast(ctx, &s->box, sizeof s->box, 0) : status;
}

kn_cov_point kn_search_point(const kn_search_space *s, const double *x)
{
    if (!s->vertex)
        return kn_cov_point_at(&s->e->cov, x);
    kn_cov_point p = s->fixed;
    for (int i = 0; i < s->n; i++)
        p.shape[s->first - (s->e->cov.n - 1) + i] = exp(x[i]);
    return p;
}

void kn_search_coordinates(const kn_search_space *s, const kn_cov_point *p, double *x)
{
    double all[KN_COV_OUTER];
    kn_cov_coordinates(&s->e->cov, p, all);
    for (int i = 0; i < s->n; i++) {
        int k = s->first + i;
        x[i] = fmin(fmax(all[k], s->box.lower[k]), s->box.upper[k]);
    }
}

kn_status kn_search_stopped(kn_ctx *ctx, const kn_limits *limits, bool *yes)
{
    *yes = kn_cancelled(ctx);
    if (*yes && !kn_cancel_keeps_best(ctx))
        return kn_fail_cancelled(ctx);
    *yes = *yes || limits->evals_left == 0;
    return *yes ? KN_OK : kn_deadline_passed(ctx, limits, yes);
}

/* Objective of an ascent (self: kn_search_space): log likelihood, maximised over all inner
 * parameters, at the coordinates x, and its gradient by the s->n free ones. */
static kn_status outer_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                 double *grad)
{
    kn_search_space *s = self;
    kn_cov_point p = kn_search_point(s, x);
    double g[KN_COV_OUTER];
    kn_status status = kn_lockstep_nested(ctx, s->e, &p, value, g);
    if (status == KN_OK)
        memcpy(grad, g + s->first, (size_t)s->n * sizeof *g);
    return status;
}

void kn_search_record(kn_search_result *found, const kn_cov_point *at, double lml, kn_stop stop,
                      double projected)
{
    found->at = *at;
    found->lml = lml;
    found->stop = stop;
    found->projected = projected;
}

kn_status kn_search_ascend(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                           const kn_cov_point *start, const char *stage, kn_search_result *found)
{
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = s->n,
                             .lower = s->box.lower + s->first,
                             .upper = s->box.upper + s->first,
                             .unit = (double)s->e->N,
                             .f_tolerance = kn_search_tolerance,
                             .stage = stage};
    kn_optimum best = {0};
    kn_status status;
    kn_search_coordinates(s, start, best.x);
    s->e->warm = s->warm;
    KN_TRY(kn_comm_broadcast(ctx, best.x, sizeof best.x, 0));
    KN_TRY(kn_maximise(ctx, &o, limits, outer_objective, s, &best));
    /* The inner search switched to a better maximum, so the likelihood jumped and the line search
     * failed. Repeat from this point, and take the best of several inner starts at every step. */
    if (best.stop == KN_STOP_LINE_SEARCH && s->e->spec.noise == KN_NOISE_ISO) {
        kn_optimum again = best;
        s->e->thorough = true;
        status = kn_maximise(ctx, &o, limits, outer_objective, s, &again);
        s->e->thorough = false;
        KN_TRY(status);
        if (again.value >= best.value)
            best = again;
    }
    if (best.value > found->lml) {
        kn_cov_point at = kn_search_point(s, best.x);
        kn_search_record(found, &at, best.value, best.stop, best.projected);
    }
out:
    return status;
}
