/* Participants, a model of them and the one that is given away. */
#ifndef KN_TEST_EXPORTS_H
#define KN_TEST_EXPORTS_H

#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "commands/export/export.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { NUMBERS = 3, SEX = NUMBERS, SITE, COLUMNS, SITES = 3, T = 7 };

typedef struct participants {
    ptrdiff_t n;
    int numbers; /* of them in use; then sex and site, where there are levels */
    bool levels;
    kn_mat X, Y;
    int level[COLUMNS];
    int *group;
    kn_interaction slope;
    kn_design_options design;
    kn_settings s;
} participants;

/* Numbers from 20 to 80, a course over the first that is no polynomial, shared by pairs. */
static inline participants participants_new(ptrdiff_t n, int numbers, bool levels)
{
    participants p = {.n = n, .numbers = numbers, .levels = levels};
    int C = numbers + (levels ? 2 : 0);
    p.X = ref_new(n, C);
    p.Y = ref_normal(&rng, n, T);
    p.group = calloc((size_t)n, sizeof *p.group);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int k = 0; k < numbers; k++)
            kn_col(p.X, k)[i] = 20 + 60 * kn_rng_uniform(&rng);
        double x = (kn_at(p.X, i, 0) - 50) / 17, other = numbers > 1 ? kn_at(p.X, i, 1) / 30 : 0;
        int sex = (int)kn_rng_below(&rng, 2), site = (int)(i % SITES);
        if (levels) {
            kn_col(p.X, numbers)[i] = sex;
            kn_col(p.X, numbers + 1)[i] = site;
        }
        p.group[i] = (int)i / 2;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(p.Y, j)[i] +=
                (j % 2 ? 2 : -1) * sin(2.5 * x) + 0.5 * x * x + other * other + (levels ? site : 0);
    }
    for (int k = 0; k < C; k++)
        p.level[k] = k < numbers ? 0 : k == numbers ? 2 : SITES;
    kn_settings_init(&p.s);
    p.s.folds = n < 10 ? 3 : 5;
    return p;
}

/* The defaults, by the design of the participants, who stay where they are. */
static inline void by_design(participants *p)
{
    p->design = (kn_design_options){.levels = p->level, .quadratic = -1};
    p->s.design = &p->design;
}

static inline kn_model *fit(const participants *p)
{
    kn_model *m;
    assert_ok(ctx, kn_fit_arrays(ctx, view(p->X), view(p->Y), &p->s, &m));
    return m;
}

static inline void participants_free(participants *p)
{
    free(p->X.data), free(p->Y.data), free(p->group);
}

static inline kn_model *share_limited(const kn_model *m, double leverage, kn_export_info *info)
{
    kn_model *shared;
    *info = (kn_export_info){0};
    assert_ok(ctx, kn_export_model(ctx, m, 20, leverage, &shared, info));
    return shared;
}

static inline kn_model *share(const kn_model *m, kn_export_info *info)
{
    return share_limited(m, 1, info);
}

#endif
