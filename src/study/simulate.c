#include <math.h>

#include "study/cohort.h"
#include "study/miyawaki.h"

static kn_status cohort(kn_ctx *ctx, const kn_simulate_job *job)
{
    kn_cohort_options o;
    kn_cohort_options_init(&o);
    if (job->samples > 0)
        o.samples = job->samples;
    if (job->patients >= 0)
        o.patients = job->patients;
    if (!isnan(job->strength))
        o.lesion = job->strength;
    o.size = job->large ? KN_COHORT_2MM : KN_COHORT_SMALL;
    o.seed = job->seed;
    o.dir = job->output;
    o.force = job->force != 0;
    return kn_sim_cohort(ctx, &o, NULL);
}

static kn_status miyawaki(kn_ctx *ctx, const kn_simulate_job *job)
{
    kn_miyawaki_options o;
    kn_miyawaki_options_init(&o);
    if (!isnan(job->strength))
        o.strength = job->strength;
    o.size = job->large ? KN_MIYAWAKI_FULL : KN_MIYAWAKI_SMALL;
    o.seed = job->seed;
    o.dir = job->output;
    o.force = job->force != 0;
    return kn_sim_miyawaki(ctx, &o, NULL);
}

kn_status kn_simulate_files(kn_ctx *ctx, const kn_simulate_job *job)
{
    if (!job || job->size != sizeof *job || !job->output)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a simulation needs an output folder and its own size");
    if (job->kind == KN_SIMULATE_COHORT)
        return cohort(ctx, job);
    if (job->kind == KN_SIMULATE_MIYAWAKI)
        return miyawaki(ctx, job);
    return kn_fail(ctx, KN_ERR_ARGUMENT, "there is no simulation of kind %d", (int)job->kind);
}
