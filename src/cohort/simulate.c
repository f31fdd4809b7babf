/* Implements simulate.h: maps options to the two simulations, cohort and visual experiment. */
#include "cohort/simulate.h"

#include <math.h>

#include "base/options/options.h"
#include "cohort/cohort.h"
#include "paper/visual/miyawaki.h"

enum { COHORT, MIYAWAKI };    /* values of {kind} */
enum { SMALL, AT_2MM, FULL }; /* values of {size} */

static kn_status cohort(kn_ctx *ctx, const kn_settings *s)
{
    kn_cohort_options o;
    kn_cohort_options_init(&o);
    if (s->samples > 0)
        o.samples = s->samples;
    if (s->patients >= 0)
        o.patients = s->patients;
    if (!isnan(s->strength))
        o.lesion = s->strength;
    if (!isnan(s->decline))
        o.decline = s->decline;
    o.sites = s->sites;
    o.visits = s->visits;
    o.regions = s->regions;
    o.size = s->size == SMALL ? KN_COHORT_SMALL : KN_COHORT_2MM;
    o.seed = s->seed;
    o.dir = s->study;
    o.force = s->force;
    return kn_sim_cohort(ctx, &o, NULL);
}

static kn_status miyawaki(kn_ctx *ctx, const kn_settings *s)
{
    kn_miyawaki_options o;
    kn_miyawaki_options_init(&o);
    if (!isnan(s->strength))
        o.strength = s->strength;
    o.size = s->size == SMALL ? KN_MIYAWAKI_SMALL : KN_MIYAWAKI_FULL;
    o.seed = s->seed;
    o.dir = s->study;
    o.force = s->force;
    return kn_sim_miyawaki(ctx, &o, NULL);
}

kn_status kn_simulate_check(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    kn_status status = kn_settings_of(ctx, options, "simulate", &s);
    if (status != KN_OK)
        return status;
    if (s.size == (s.kind == COHORT ? FULL : AT_2MM))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{size=%s} is not for {kind=%s}",
                       kn_options_get(options, "size"), kn_options_get(options, "kind"));
    if (s.kind == MIYAWAKI && (s.samples || s.patients >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{samples} and {patients} are for {kind=cohort}");
    if (s.kind == MIYAWAKI && (s.sites || s.visits || s.regions))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{sites}, {visits} and {regions} are for {kind=cohort}");
    if (!isnan(s.decline) && !s.visits)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{decline} is between visits (give {visits} too)");
    return KN_OK;
}

kn_status kn_simulate(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    kn_status status;
    KN_TRY(kn_simulate_check(ctx, options));
    KN_TRY(kn_settings_of(ctx, options, "simulate", &s));
    KN_TRY(s.kind == COHORT ? cohort(ctx, &s) : miyawaki(ctx, &s));
out:
    return status;
}
