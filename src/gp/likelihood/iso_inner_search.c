/* Inner search of iso noise: L-BFGS (optimise.h) on kn_iso_eval, at most 500 evaluations per
 * start. At a fixed R0 it maximises the other parameters: variances of components and noise. */
#include "gp/likelihood/engine.h"

#include <math.h>
#include <string.h>

#include "cov/spectral_task.h"
#include "la/la.h"

/* Objective of the inner search under iso noise (self: kn_engine), in the form that kn_maximise
 * calls: log likelihood *value and its gradient grad (n_inside) at the parameters x (n_inside:
 * task covariance, iso term, noise) that leave the decomposition of R0 as it is. */
static kn_status inside_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                  double *grad)
{
    kn_engine *e = self;
    e->inner_evals++;
    return kn_iso_eval(ctx, &e->iso, e->cell[0].R0.r, e->cell[0].A, x, value, grad);
}

void kn_engine_inside_start(const kn_engine *e, int which, double *x)
{
    /* proportion of the variance that is signal */
    static const double proportion[KN_INSIDE_STARTS] = {0.3, 0.05, 0.7};
    int k = e->spec.task.n_theta;
    double N = (double)e->N, energy = kn_sumsq(e->Z);
    double dims = (double)(e->spec.identity ? e->T : e->P), v = energy / (N * dims);
    kn_cov_start(&e->spec.task, &e->iso.tasks, dims, v, proportion[which], x);
    if (e->iso.sample_iso)
        x[k++] = 0.5 * log(which == 2 ? 0.1 : 0.5);
    double s2 =
        e->complement && e->spec.likelihood == KN_EXACT ? e->s2 : (1 - proportion[which]) * v;
    x[k++] = 0.5 * log(s2);
}

kn_status kn_engine_maximise_inside(kn_ctx *ctx, kn_engine *e, double *lml)
{
    double lower[KN_THETA], upper[KN_THETA];
    kn_optimum best = {.value = -INFINITY};
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = e->iso.n_inside,
                             .lower = lower,
                             .upper = upper,
                             .unit = (double)e->N,
                             .f_tolerance = e->inside_tolerance};
    for (int i = 0; i < o.n; i++) {
        lower[i] = kn_theta_lower;
        upper[i] = kn_theta_upper;
    }
    int from = e->warm ? -1 : 0, to = e->warm && !e->thorough ? 0 : KN_INSIDE_STARTS;
    for (int start = from; start < to; start++) {
        kn_limits limits = {.evals_left = 500};
        kn_optimum here = {0};
        if (start < 0)
            memcpy(here.x, e->inside, sizeof here.x);
        else
            kn_engine_inside_start(e, start, here.x);
        kn_status status = kn_maximise(ctx, &o, &limits, inside_objective, e, &here);
        if (status != KN_OK)
            return status;
        if (here.value > best.value)
            best = here;
    }
    memcpy(e->inside, best.x, sizeof e->inside);
    e->warm = true;
    /* The last evaluation need not be the best one: restore the state of the best. */
    return kn_iso_eval(ctx, &e->iso, e->cell[0].R0.r, e->cell[0].A, e->inside, lml, NULL);
}

void kn_engine_copy_iso(kn_engine *e)
{
    for (ptrdiff_t p = 0; p < e->P; p++) {
        e->c[p] = e->iso.c[p];
        e->d[p] = e->iso.c[p] * e->iso.iso + e->iso.s2;
    }
    e->s2 = e->iso.s2;
}
