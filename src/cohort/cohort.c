/* Implements cohort.h: checks the options and calls the steps of internal.h in order. */
#include "cohort/cohort.h"

#include <math.h>

#include "cohort/internal.h"

enum { MIN_SAMPLES = 10, MAX_SUBJECTS = 100000, MAX_SITES = 50, MAX_REGIONS = 1000 };

void kn_cohort_options_init(kn_cohort_options *options)
{
    *options =
        (kn_cohort_options){.samples = 120, .patients = 20, .lesion = 2, .seed = 1, .decline = 1};
}

/* Accepts 0, or 2 to `most`. */
static kn_status check_count(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t most, const char *what)
{
    if (n != 0 && (n < 2 || n > most))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td %s, expected 2 to %td", n, what, most);
    return KN_OK;
}

static kn_status check(kn_ctx *ctx, const kn_cohort_options *o)
{
    kn_status status = KN_OK;
    if (o->samples < MIN_SAMPLES || o->samples > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td normal subjects, expected %d to %d", o->samples,
                       MIN_SAMPLES, MAX_SUBJECTS);
    if (o->patients < 0 || o->patients > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td patients, expected 0 to %d", o->patients,
                       MAX_SUBJECTS);
    if (!(isfinite(o->lesion) && o->lesion >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "lesion strength %g, expected 0 or more", o->lesion);
    if (!(isfinite(o->decline) && o->decline >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "decline of %g a year, expected 0 or more",
                       o->decline);
    if (o->size != KN_COHORT_SMALL && o->size != KN_COHORT_2MM)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown size of cohort %d", (int)o->size);
    KN_TRY(check_count(ctx, o->sites, MAX_SITES, "sites"));
    KN_TRY(check_count(ctx, o->visits, KN_COHORT_VISITS, "visits"));
    KN_TRY(check_count(ctx, o->regions, MAX_REGIONS, "regions"));
    if (o->samples < MIN_SAMPLES * o->sites)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%td normal subjects at %td sites, expected at least %d a site", o->samples,
                       o->sites, MIN_SAMPLES);
out:
    return status;
}

static kn_status write_all(kn_ctx *ctx, kn_cohort *c)
{
    kn_status status;
    KN_TRY(kn_folder_sub(ctx, c->folder, "images"));
    KN_TRY(kn_folder_sub(ctx, c->folder, "truth"));
    KN_TRY(kn_cohort_images(ctx, c));
    KN_TRY(kn_cohort_tables(ctx, c));
    KN_TRY(kn_cohort_truth(ctx, c));
out:
    return status;
}

kn_status kn_sim_cohort(kn_ctx *ctx, const kn_cohort_options *options, kn_cohort_summary *out)
{
    kn_cohort c = {.o = options};
    kn_status status;

    if (out)
        *out = (kn_cohort_summary){0};
    KN_TRY(check(ctx, options));
    KN_TRY(kn_folder_open(ctx, options->dir, options->force, &c.folder));
    KN_TRY(kn_cohort_draw(ctx, &c));
    KN_TRY(kn_cohort_space(ctx, &c));
    KN_TRY(write_all(ctx, &c));
    if (out)
        *out = c.summary;
out:
    kn_folder_close(c.folder, status == KN_OK);
    kn_free(c.people);
    kn_free(c.site);
    kn_free(c.index);
    kn_free(c.maps);
    kn_free(c.lesion);
    kn_free(c.region);
    kn_free(c.region_mean);
    return status;
}
