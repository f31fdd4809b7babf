/* Implements memory.h. It follows the order of reference.c. */
#include "norm/reference/memory.h"

#include "base/memory/alloc.h"
#include "base/memory/plan.h"
#include "gp/assign_folds.h"
#include "gp/method.h"
#include "gp/predict/map_density.h"
#include "gp/predict/slope.h"
#include "norm/calibration/null_model.h"
#include "norm/deviance/fit.h"
#include "norm/reference/internal.h"
#include "norm/reference/reference.h"
#include "norm/sites/learn_site_prior.h"

/* Add to the memory plan r a block loop over maps of n participants that computes z; what the maps
 * keep stays in the plan. */
static void loop_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_mem_usage mark = r->now, free_bytes;
    kn_block_loop_need(r, n, kn_block_loop_width(0, s->T), KN_BLOCK_Y | KN_BLOCK_MAPS);
    kn_extreme_stream_need(r, n, s->T, s->top);
    if (s->elsewhere > 0)
        kn_extreme_join_need(r, n, s->T, s->top);
    free_bytes = r->now;
    s->method->need.block(r, s, kind, n);
    kn_plan_free(r, mark, free_bytes);
}

/* Add to the memory plan r the second loop, with cached z or with maps that are computed again.
 * panel: the marks between which the maps of the first loop were planned, which are then freed. */
static void deviance_need(kn_mem_plan *r, const kn_problem_size *s, const kn_deviance_sizes *d,
                          const kn_mem_usage panel[2])
{
    kn_mem_usage mark;
    kn_plan_stage(r, "deviance");
    if (s->method->own_deviance) { /* the model's own deviance came from the first loop */
        kn_deviance_gram_need(r, d);
        kn_table_order_test_need(r, d->N);
        return;
    }
    kn_table_order_test_need(r, d->N);
    kn_deviance_begin_pass2_need(r, d);
    kn_deviance_begin_pass2_need(r, d);
    mark = r->now;
    if (kn_reference_keeps_z(d->N, s->T)) {
        kn_z_replay_need(r, d->N, s->T);
    } else {
        kn_plan_free(r, panel[0], panel[1]);
        kn_block_loop_need(r, d->N, kn_block_loop_width(0, s->T), KN_BLOCK_Y | KN_BLOCK_MAPS);
        s->method->need.block(r, s, KN_MAPS_CV, d->N);
    }
    kn_plan_free_to(r, mark);
    kn_deviance_finish_need(r, d);
}

void kn_reference_need(kn_mem_plan *r, const kn_problem_size *s)
{
    bool once = s->folds == KN_HELD_OUT_ONCE, keep;
    ptrdiff_t n = once ? kn_held_out(s->N) : s->N;
    kn_deviance_sizes d = {n, s->T, once ? KN_REFERENCE_FOLDS : s->folds, s->threads};
    kn_mem_usage begin, map_density[2],
        panel[2]; /* panel: before and after what the maps keep from a loop */
    kn_plan_stage(r, "reference");
    if (!s->iso && !s->method->independent_responses)
        kn_slope_need(r, s, n);
    keep = kn_reference_keeps_z(n, s->T);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, n, 8);
    if (keep)
        kn_plan_alloc_f(r, KN_NEED_REFERENCE, n, s->T);
    kn_calibration_need(r, s, n);
    kn_null_need(r, s, n);
    begin = r->now;
    kn_learner_need(r, s, n);
    kn_noise_need(r, s, n);
    if (keep)
        kn_plan_alloc_f(r, KN_NEED_REFERENCE, n, 2 * (s->T - s->elsewhere));
    for (int k = 0; k < (s->method->own_deviance ? 1 : 2); k++) /* one fitter, for zz' */
        kn_deviance_fitter_need(r, &d);
    kn_z_builder_need(r, s, n, true);
    map_density[0] = r->now;
    if (s->method->own_deviance)
        kn_map_density_need(r, s, n, s->P);
    map_density[1] = panel[0] = r->now;
    loop_need(r, s, KN_MAPS_CV, n);
    panel[1] = r->now;
    if (!s->method->own_deviance) /* else it is held until the table-order test is done */
        kn_plan_free(r, map_density[0], map_density[1]);
    deviance_need(r, s, &d, panel);
    kn_plan_free_to(r, begin);
    kn_plan_free(r, panel[1], panel[0]); /* still allocated */
    for (int k = 0; !s->method->own_deviance && k < 2; k++)
        kn_deviance_kept_need(r, &d);
    if (s->sites > 0)
        kn_sites_need(r, s, n, (int)s->sites);
    if (once)
        return;
    kn_plan_stage(r, "leave-one-out");
    s->method->need.maps(r, s, KN_MAPS_LOO, n);
    kn_z_builder_need(r, s, n, false);
    loop_need(r, s, KN_MAPS_LOO, n);
}

/* Upper bound of the bytes that the reference still allocates when its first loop begins. */
static double remaining_bytes(const kn_deviance_sizes *d, double top)
{
    static const double OTHER_BYTES = 128e6; /* the program, and the maps of a block */
    kn_mem_plan r = {0};
    ptrdiff_t width = kn_block_loop_width(0, d->T);
    double sum = OTHER_BYTES;
    kn_deviance_fitter_need(&r, d);
    kn_deviance_fitter_need(&r, d);
    kn_slots_need(&r, KN_NEED_WORK, 1 + d->T / KN_BLOCK, 5 * d->N);
    kn_extreme_stream_need(&r, d->N, d->T, top);
    kn_block_loop_need(&r, d->N, width, KN_BLOCK_Y | KN_BLOCK_MAPS);
    kn_deviance_begin_pass2_need(&r, d);
    kn_deviance_begin_pass2_need(&r, d);
    kn_deviance_finish_need(&r, d);
    for (int k = 0; k < KN_NEED_CATEGORIES; k++)
        sum += r.peak.bytes[k];
    return sum;
}

kn_index_range kn_reference_cached_range(kn_ctx *ctx, const kn_responses *Y,
                                         const kn_deviance_sizes *d, double top)
{
    kn_index_range own = kn_response_range(ctx, Y), kept = {own.first, own.first};
    double each = 2 * sizeof(float) * (double)d->N;
    double free_bytes =
        kn_mem_budget_of(ctx).bytes - (double)kn_memory_now(ctx) - remaining_bytes(d, top);
    while (kept.last < own.last) {
        ptrdiff_t end = kn_block_end(Y, KN_BLOCK, kept.last);
        if (each * (double)(end - own.first) > free_bytes)
            break;
        kept.last = end;
    }
    return kept;
}
