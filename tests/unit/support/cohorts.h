/* Participants with age, sex and site whose true values are known. */
#ifndef KN_TEST_COHORTS_H
#define KN_TEST_COHORTS_H

#include "support/test.h"

#include "base/random.h"
#include "data/covariates/design.h"

enum { AGE, SEX, SITE, COHORT_COLUMNS };

/* What responses follow. */
typedef enum cohort_kind {
    COHORT_NONE,
    COHORT_LINEAR,
    COHORT_CURVED,
    COHORT_SMOOTH,
    COHORT_SITES,
    COHORT_KINDS
} cohort_kind;

typedef struct cohort_plan {
    ptrdiff_t N, T;
    int sites;
    cohort_kind kind;
    double strength;    /* of the signal; noise is 1 */
    double group_noise; /* variance that members of a group share in every pattern */
    ptrdiff_t members;  /* of a group; 0: no groups */
    uint64_t seed;
} cohort_plan;

typedef struct cohort {
    ptrdiff_t N, T;
    kn_mat X; /* N x 3: age, sex and site as codes */
    kn_mat Y;
    int *group;
    int levels[COHORT_COLUMNS];
    kn_design_options design;
} cohort;

static inline kn_view cohort_view(kn_mat m)
{
    return (kn_view){m.data, KN_F64, m.rows, m.cols, 1, m.ld};
}

/* The course of pattern k over participants, about 1 in size. */
static inline double cohort_signal(cohort_kind kind, int k, double age, int sex, int site)
{
    double x = (age - 50) / 17;
    switch (kind) {
    case COHORT_NONE: return 0;
    case COHORT_LINEAR: return k == 0 ? x : sex - 0.5;
    case COHORT_CURVED: return k == 0 ? x * x - 1 : x;
    case COHORT_SMOOTH: return k == 0 ? sin(3 * x) : cos(2 * x + 1);
    default: return k == 0 ? sin(1.7 * site + 1) : 0.3 * x + cos(2.3 * site);
    }
}

/* Two patterns of signal; every response has noise of its own, and with groups three patterns of
 * noise that members share. */
static inline cohort cohort_new(cohort_plan plan)
{
    enum { SIGNALS = 2, SHARED = 3 };
    cohort c = {.N = plan.N, .T = plan.T, .levels = {0, 2, plan.sites > 1 ? plan.sites : 2}};
    kn_rng rng;
    ref_rng_init(&rng, plan.seed, 5);
    c.X = ref_new(c.N, COHORT_COLUMNS);
    c.Y = ref_normal(&rng, c.N, c.T);
    c.group = calloc((size_t)c.N, sizeof *c.group);
    kn_mat load = ref_normal(&rng, c.T, SIGNALS + SHARED), shared = ref_normal(&rng, c.N, SHARED);
    for (ptrdiff_t i = 0; i < c.N; i++) {
        double age = 20 + 60 * kn_rng_uniform(&rng);
        int sex = (int)kn_rng_below(&rng, 2), site = (int)(i % c.levels[SITE]);
        kn_col(c.X, AGE)[i] = age;
        kn_col(c.X, SEX)[i] = sex;
        kn_col(c.X, SITE)[i] = site;
        c.group[i] = (int)(plan.members > 0 ? i / plan.members : i);
        for (ptrdiff_t j = 0; j < c.T; j++) {
            double *y = &kn_col(c.Y, j)[i];
            for (int k = 0; k < SIGNALS; k++)
                *y +=
                    plan.strength * kn_at(load, j, k) * cohort_signal(plan.kind, k, age, sex, site);
            for (int k = 0; plan.members > 0 && k < SHARED; k++)
                *y += sqrt(plan.group_noise) * kn_at(load, j, SIGNALS + k) *
                      kn_at(shared, c.group[i], k);
        }
    }
    free(load.data), free(shared.data);
    return c;
}

static inline void cohort_free(cohort *c)
{
    free(c->X.data), free(c->Y.data), free(c->group);
}

/* The defaults for a cohort that stays where it is. */
static inline kn_settings cohort_settings(cohort *c, bool groups)
{
    kn_settings s;
    kn_settings_init(&s);
    c->design = (kn_design_options){.levels = c->levels, .quadratic = -1};
    s.design = &c->design;
    s.groups = groups ? c->group : NULL;
    return s;
}

#endif
