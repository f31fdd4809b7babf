/* Draws the participants of the simulated cohort: age, sex, site, group, visits. Each participant
 * has random streams of its own. */
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "cohort/internal.h"

/* Controls of the new site; its patients are as many as {patients}. */
enum { ADAPT = 20, NEW_CONTROLS = 20 };

static const double TRAIN_PROPORTION = 0.8, AGE_MIN = 20, AGE_MAX = 80;
static const double SITE_AGE_CUT = 15; /* years of age that a site may lack at either end */
const double KN_COHORT_LESION_SPREAD = 0.25;
const double KN_COHORT_OFFSET = 0.6, KN_COHORT_LN_NOISE = 0.25;

/* Draws the sites of {sites}: range of ages, which partly confounds age and site as in multi-site
 * studies, and factor of the noise variance. Does nothing without {sites}. */
static kn_status draw_sites(kn_ctx *ctx, kn_cohort *c)
{
    kn_rng rng;
    void *p;
    kn_status status = KN_OK;
    if (c->o->sites == 0)
        return KN_OK;
    c->sites = (int)c->o->sites + 1;
    KN_TRY(kn_alloc(ctx, c->sites, sizeof *c->site, &p));
    c->site = p;
    kn_rng_init(&rng, c->o->seed, KN_STREAM_SITES);
    for (int s = 0; s < c->sites; s++) {
        c->site[s].age_min = AGE_MIN + SITE_AGE_CUT * kn_rng_uniform(&rng);
        c->site[s].age_max = AGE_MAX - SITE_AGE_CUT * kn_rng_uniform(&rng);
        c->site[s].noise = exp(KN_COHORT_LN_NOISE * kn_rng_normal(&rng));
    }
out:
    return status;
}

/* Returns the list that the k-th drawn participant belongs to: training, test, adaptation or new
 * site. */
static kn_cohort_list list_of_participant(const kn_cohort *c, ptrdiff_t k)
{
    ptrdiff_t cohort = c->o->samples + c->o->patients;
    return k < c->summary.train ? KN_COHORT_TRAIN
           : k < cohort         ? KN_COHORT_TEST
           : k < cohort + ADAPT ? KN_COHORT_ADAPT
                                : KN_COHORT_NEW;
}

/* Sets list, site, sex and group of the k-th drawn participant. Sexes and sites alternate, so that
 * every level occurs in training. */
static void assign_site(const kn_cohort *c, ptrdiff_t k, kn_cohort_participant *p)
{
    int sites = c->sites ? c->sites - 1 : KN_COHORT_THREE;
    ptrdiff_t cohort = c->o->samples + c->o->patients;
    p->part = list_of_participant(c, k);
    if (k < cohort) {
        p->site = (int)(k % sites);
        p->sex = (int)(k / sites % 2);
        p->patient = k >= c->o->samples;
    } else {
        p->site = sites;
        p->sex = (int)(k % 2);
        p->patient = k >= cohort + ADAPT + NEW_CONTROLS;
    }
}

/* Draws the time of each visit in years since the first one, 0.8 to 1.2 years apart, at tenths of a
 * year, which is the precision of the tables. */
static void draw_visits(kn_cohort *c)
{
    enum { SHORTEST = 8, LENGTHS = 5 }; /* tenths of a year: 0.8 to 1.2 */
    kn_rng rng;
    kn_rng_init(&rng, c->o->seed, KN_STREAM_VISITS);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        ptrdiff_t tenths = 0;
        for (ptrdiff_t v = 1; v < c->o->visits; v++) {
            tenths += SHORTEST + kn_rng_below(&rng, LENGTHS);
            c->participants[i].years[v] = (double)tenths / 10;
        }
    }
}

/* Draws in random order: training controls, other controls, patients, then those of the new
 * site. */
kn_status kn_cohort_draw_participants(kn_ctx *ctx, kn_cohort *c)
{
    const kn_cohort_options *o = c->o;
    kn_rng rng;
    ptrdiff_t *order = NULL;
    void *p;
    kn_status status;

    KN_TRY(draw_sites(ctx, c));
    c->n = o->samples + o->patients + (c->sites ? ADAPT + NEW_CONTROLS + o->patients : 0);
    for (c->digits = 4; pow(10, c->digits) <= (double)c->n;)
        c->digits++;
    c->summary.train = (ptrdiff_t)(TRAIN_PROPORTION * (double)o->samples + 0.5);
    c->summary.test = o->samples + o->patients - c->summary.train;
    c->summary.adapt = c->sites ? ADAPT : 0;
    c->summary.new_participants = c->sites ? NEW_CONTROLS + o->patients : 0;
    KN_TRY(kn_alloc(ctx, c->n, sizeof *c->participants, &p));
    c->participants = p;
    KN_TRY(kn_alloc_i(ctx, c->n, &order));
    kn_rng_init(&rng, o->seed, KN_STREAM_SUBJECTS);
    kn_rng_permutation(&rng, c->n, order);
    for (ptrdiff_t k = 0; k < c->n; k++) {
        kn_cohort_participant *s = &c->participants[order[k]];
        assign_site(c, k, s);
        double low = c->sites ? c->site[s->site].age_min : AGE_MIN;
        double high = c->sites ? c->site[s->site].age_max : AGE_MAX;
        double age = low + (high - low) * kn_rng_uniform(&rng);
        double strength = 1 + KN_COHORT_LESION_SPREAD * (2 * kn_rng_uniform(&rng) - 1);
        s->age = floor(10 * age) / 10;
        s->lesion = s->patient ? o->lesion * strength : 0;
        s->decline = s->patient ? o->decline * strength : 0;
    }
    draw_visits(c);
out:
    kn_free(order);
    return status;
}

int kn_cohort_visits(const kn_cohort *c, const kn_cohort_participant *p)
{
    return c->o->visits && p->part == KN_COHORT_TEST ? (int)c->o->visits : 1;
}

double kn_cohort_age(const kn_cohort_participant *p, int visit)
{
    return p->age + p->years[visit];
}

void kn_cohort_coefficients(const kn_cohort *c, const kn_cohort_participant *p, int visit,
                            double out[KN_COHORT_EFFECTS])
{
    const double late = 0.2; /* on the scale of u: 56 years */
    double u =
        (2 * kn_cohort_age(p, visit) - AGE_MAX - AGE_MIN) / (AGE_MAX - AGE_MIN); /* -1 .. 1 */
    double beyond = u > late ? u - late : 0;
    for (int k = 0; k < KN_COHORT_EFFECTS; k++)
        out[k] = 0;
    out[KN_AGE_LINEAR] = u;
    out[KN_AGE_QUADRATIC] = 2 * (u * u - 1.0 / 3);
    out[KN_AGE_LATE] = 2 * beyond * beyond;
    out[KN_SEX] = p->sex ? 0.5 : -0.5;
    if (!c->sites)
        out[KN_THREE_SITES + p->site] = 1;
}

void kn_cohort_id(const kn_cohort *c, ptrdiff_t i, char id[KN_COHORT_ID])
{
    snprintf(id, KN_COHORT_ID, "sub-%0*td", c->digits, i + 1);
}

void kn_cohort_site_name(const kn_cohort *c, int site, char name[KN_COHORT_ID])
{
    if (c->sites)
        snprintf(name, KN_COHORT_ID, "site-%d", site + 1);
    else
        snprintf(name, KN_COHORT_ID, "%c", 'A' + site);
}
