/* Implements memory_need.h: plans the allocations of kn_fit or kn_score in their order. */
#include "commands/memory/memory_need.h"

#include <math.h>

#include "commands/score/score.h"
#include "gp/predict/noise.h"
#include "norm/reference/memory.h"

/* Memory outside our allocations: the program, and per thread its stack and BLAS buffers. */
static const double PROGRAM = 32e6, EACH_THREAD = 8e6;

/* Small allocations: structs, names, headers, file buffers. */
static const double SMALL = 64e3;

double kn_need_program(int threads)
{
    return PROGRAM + EACH_THREAD * threads;
}

double kn_need_total(const kn_need *n)
{
    return n->responses + n->samples + n->basis + n->reference + n->work + n->program;
}

/* Completes the shape with defaults. */
static kn_problem_size settled(const kn_problem_size *shape)
{
    kn_problem_size s = *shape;
    s.stats = s.stats > 0 ? s.stats : 2;
    s.task_stats = s.task_stats > 0 ? s.task_stats : s.rotated ? 2 : 1;
    s.threads = s.threads > 0 ? s.threads : 1;
    if (s.scoring)
        return s;
    s.folds = s.N < 2 ? 0 : (int)kn_min_size(s.folds, s.N);
    s.M = kn_min_size(s.M, s.N);
    s.method->need.settle(&s);
    return s;
}

/* Plans a fit, in the order of kn_fit. */
static void fit_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F); /* covariates as read, and standardised */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->sites > 0 ? 2 * s->F : s->F);
    kn_scaling_need(r, s->T);
    s->method->need.fit(r, s);
    if (s->folds > 0) {
        kn_reference_need(r, s);
        return;
    }
    kn_plan_stage(r, "noise");
    kn_noise_need(r, s, s->N);
    if (!s->iso && !s->method->alone && s->range == 0)
        kn_block_loop_need(r, s->N, kn_block_loop_width(0, s->T), KN_WALK_Y);
}

void kn_need_of(const kn_problem_size *shape, kn_need *out)
{
    kn_mem_plan r = {0};
    kn_problem_size s = settled(shape);
    kn_plan_stage(&r, "reading");
    kn_plan_alloc_bytes(&r, KN_NEED_RESPONSES, s.value * (double)s.N * (double)(s.T - s.elsewhere));
    kn_plan_alloc_bytes(&r, KN_NEED_WORK, SMALL + s.held);
    kn_mem_usage mark = r.now;
    kn_plan_alloc_bytes(&r, KN_NEED_WORK, s.reading);
    kn_plan_free_to(&r, mark);
    (s.scoring ? kn_score_need : fit_need)(&r, &s);
    *out = (kn_need){.responses = r.peak.part[KN_NEED_RESPONSES],
                     .samples = r.peak.part[KN_NEED_SAMPLES],
                     .basis = r.peak.part[KN_NEED_BASIS],
                     .reference = r.peak.part[KN_NEED_REFERENCE],
                     .work = r.peak.part[KN_NEED_WORK],
                     .program = kn_need_program(s.threads),
                     .stage = r.peak_stage};
}

double kn_need_window(const kn_problem_size *shape)
{
    kn_problem_size s = settled(shape);
    double N = (double)s.N, T = (double)s.T, columns = s.threads * KN_MOMENTS_COLUMNS;
    if (kn_gram_long(&s))
        columns = fmax(columns, KN_BLOCK);
    return s.value * fmin(s.scoring ? (double)kn_score_rows(&s) * T : columns * N,
                          N * (T - (double)s.elsewhere));
}
