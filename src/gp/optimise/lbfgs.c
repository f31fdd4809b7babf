/* Implements lbfgs.h: allocates the vectors of kn_climb and calls it. */
#include "gp/optimise/lbfgs.h"

enum {
    KEPT = 10,                 /* steps that approximate the curvature */
    INSIDE = 2 * KEPT + 6 + 4, /* vectors that NLopt allocates: work, bounds, tolerances */
};

/* Bytes that NLopt allocates itself; they are counted towards the budget. */
static size_t inside_bytes(ptrdiff_t n)
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
    kn_meter_take(kn_ctx_meter(ctx), inside_bytes(o->n));
    status = kn_climb(ctx, &a, limits, f, self, &s);
    kn_meter_give(kn_ctx_meter(ctx), inside_bytes(o->n));
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
