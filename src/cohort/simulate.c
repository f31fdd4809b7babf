/* The command `kronorm simulate`: maps options to the two simulations, cohort and visual
 * experiment, checks them, and calls the steps of a cohort (internal.h) in order. Nothing is
 * written before the options are checked. */
#include "cohort/simulate.h"

#include <math.h>
#include <string.h>

#include "base/options/options.h"
#include "cohort/internal.h"
#include "paper/visual/miyawaki.h"

/* ---- the cohort ---- */

enum { MIN_SAMPLES = 10, MAX_SUBJECTS = 100000, MAX_SITES = 50, MAX_REGIONS = 1000, MAX_SD = 1000 };

void kn_cohort_options_init(kn_cohort_options *options)
{
    *options =
        (kn_cohort_options){.samples = 120, .patients = 20, .lesion = 2, .seed = 1, .decline = 1};
}

/* Returns KN_ERR_ARGUMENT unless n is 0, or 2 to `limit`; `what` names the things counted. */
static kn_status check_count(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t limit, const char *what)
{
    if (n != 0 && (n < 2 || n > limit))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td %s were requested, but 2 to %td are allowed", n,
                       what, limit);
    return KN_OK;
}

/* Returns KN_ERR_ARGUMENT for sizes and effects that a cohort cannot have. */
static kn_status check_cohort(kn_ctx *ctx, const kn_cohort_options *o)
{
    kn_status status = KN_OK;
    if (o->samples < MIN_SAMPLES || o->samples > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%td healthy participants were requested, but %d to %d are allowed",
                       o->samples, MIN_SAMPLES, MAX_SUBJECTS);
    if (o->patients < 0 || o->patients > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td patients were requested, but 0 to %d are allowed",
                       o->patients, MAX_SUBJECTS);
    if (!(o->lesion >= 0 && o->lesion <= MAX_SD))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "the lesion strength is %g, but must be 0 to %d",
                       o->lesion, MAX_SD);
    if (!(o->decline >= 0 && o->decline <= MAX_SD))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{decline} is %g per year; it must be 0 to %d",
                       o->decline, MAX_SD);
    if (o->size != KN_COHORT_SMALL && o->size != KN_COHORT_2MM)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown size of cohort %d", (int)o->size);
    KN_TRY(check_count(ctx, o->sites, MAX_SITES, "sites"));
    KN_TRY(check_count(ctx, o->visits, KN_COHORT_VISITS, "visits"));
    KN_TRY(check_count(ctx, o->regions, MAX_REGIONS, "regions"));
    if (o->samples < MIN_SAMPLES * o->sites)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "%td healthy participants at %td sites are too few; at least %d per site are needed",
            o->samples, o->sites, MIN_SAMPLES);
out:
    return status;
}

/* Writes images, tables and true values of a drawn cohort into its folder. */
static kn_status write_all(kn_ctx *ctx, kn_cohort *c)
{
    kn_status status;
    KN_TRY(kn_folder_sub(ctx, c->folder, "images"));
    KN_TRY(kn_folder_sub(ctx, c->folder, "truth"));
    KN_TRY(kn_cohort_write_images(ctx, c));
    KN_TRY(kn_cohort_write_tables(ctx, c));
    KN_TRY(kn_cohort_write_truth(ctx, c));
out:
    return status;
}

kn_status kn_sim_cohort(kn_ctx *ctx, const kn_cohort_options *options, kn_cohort_summary *out)
{
    kn_cohort c = {.o = options};
    kn_status status;

    if (out)
        *out = (kn_cohort_summary){0};
    KN_TRY(check_cohort(ctx, options));
    KN_TRY(kn_folder_open(ctx, options->dir, options->force, &c.folder));
    KN_TRY(kn_cohort_draw_participants(ctx, &c));
    KN_TRY(kn_cohort_make_maps(ctx, &c));
    KN_TRY(write_all(ctx, &c));
    if (out)
        *out = c.summary;
out:
    kn_folder_close(c.folder, status == KN_OK);
    kn_free(c.participants);
    kn_free(c.site);
    kn_free(c.index);
    kn_free(c.maps);
    kn_free(c.lesion);
    kn_free(c.region);
    kn_free(c.region_mean);
    return status;
}

enum { COHORT, MIYAWAKI };    /* values of {kind} */
enum { SMALL, AT_2MM, FULL }; /* values of {size} */

/* Simulates a cohort with the options of the command; options not given have their defaults. */
static kn_status simulate_cohort(kn_ctx *ctx, const kn_settings *s)
{
    kn_cohort_options o;
    kn_cohort_options_init(&o);
    o.samples = s->samples;
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

/* Simulates a visual experiment with the options of the command; options not given have their
 * defaults. */
static kn_status simulate_miyawaki(kn_ctx *ctx, const kn_settings *s)
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

/* Returns whether the caller gave this option, even with its default value. */
static bool is_given(const kn_options *options, const char *key)
{
    const struct kn_option_row *row;
    const char *value;
    for (int i = 0; kn_options_given(options, i, &row, &value); i++)
        if (strcmp(row->key, key) == 0)
            return true;
    return false;
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
    if (s.kind == MIYAWAKI && (is_given(options, "participants") || is_given(options, "patients")))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{participants} and {patients} apply only to {kind=cohort}");
    if (s.kind == MIYAWAKI && (s.sites || s.visits || s.regions))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{sites}, {visits} and {regions} apply only to {kind=cohort}");
    if (!isnan(s.decline) && !s.visits)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{decline} is a change between visits; give {visits} too");
    return KN_OK;
}

kn_status kn_simulate(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    kn_status status;
    KN_TRY(kn_simulate_check(ctx, options));
    KN_TRY(kn_settings_of(ctx, options, "simulate", &s));
    KN_TRY(s.kind == COHORT ? simulate_cohort(ctx, &s) : simulate_miyawaki(ctx, &s));
out:
    return status;
}
