/* Participants at no site of training are as far from it as they would be at the one of its sites
 * where participants like them are known best: by age, not by where they are from [METHOD 8b]. */
#include "support/sites.h"

#include "norm/metrics/extrapolation.h"
#include "support/logged.h"

static kn_ctx *ctx;

enum { T = 8, SITES = 3, EACH = 40, CONTROLS = 12, SCORED = 30 };

/* A curve along age, which few sites cannot tell from their mean. */
static void bend(visitors *v, double curve)
{
    for (ptrdiff_t j = 0; j < v->Y.cols; j++)
        for (ptrdiff_t i = 0; i < v->n; i++)
            kn_col(v->Y, j)[i] += curve * sin(v->age.data[i] / 9 + (double)j);
}

typedef struct study {
    place known[SITES], new;
    visitors train, controls, v;
    kn_model *m, *a; /* fitted, and adapted to `new` */
} study;

static void study_new(uint64_t seed, const char *options, double signal, study *s)
{
    world w = world_new(seed, T);
    visitors *all[3] = {&s->train, &s->controls, &s->v};
    for (int j = 0; j < T; j++)
        w.age[j] *= signal;
    w.apart *= signal;
    for (int k = 0; k < SITES; k++)
        s->known[k] = place_new(&w, (char[]){(char)('A' + k), '\0'});
    s->new = place_new(&w, "new");
    s->train = visitors_of(&w, s->known, SITES, EACH);
    s->controls = visitors_of(&w, &s->new, 1, CONTROLS);
    s->v = visitors_of(&w, &s->new, 1, SCORED);
    for (int k = 0; k < 3; k++)
        bend(all[k], 1.5 * signal);
    s->m = visitors_fit(ctx, &s->train, options);
    s->a = adapted_to(ctx, s->m, &s->controls);
}

static void study_free(study *s)
{
    kn_model_free(s->m), kn_model_free(s->a);
    visitors_free(&s->train), visitors_free(&s->controls), visitors_free(&s->v);
}

static kn_scores *scored(const kn_model *m, const visitors *v, const char *options)
{
    kn_scores *out;
    assert_ok(ctx, visitors_score(ctx, m, v, options, &out));
    return out;
}

/* The same participants at each of these sites of training, one after the other: the least of what
 * is said. */
static void min_of(const kn_model *m, visitors *v, place *at, int n, double *lowest)
{
    const char *own = v->site[0];
    for (int k = 0; k < n; k++) {
        for (ptrdiff_t i = 0; i < v->n; i++)
            v->site[i] = at[k].name;
        kn_scores *scores = scored(m, v, "write=z");
        const double *ratio = kn_scores_participants(scores, "extrapolation");
        for (ptrdiff_t i = 0; i < v->n; i++)
            lowest[i] = k == 0 ? ratio[i] : fmin(lowest[i], ratio[i]);
        kn_scores_free(scores);
    }
    for (ptrdiff_t i = 0; i < v->n; i++)
        v->site[i] = own;
}

static void assert_min(const kn_model *m, const visitors *v, const char *options,
                       const double *lowest)
{
    const kn_reference *r = &m->reference;
    kn_scores *scores = scored(m, v, options);
    const double *ratio = kn_scores_participants(scores, "extrapolation"),
                 *pct = kn_scores_participants(scores, "extrapolation_pct");
    for (ptrdiff_t i = 0; i < v->n; i++) {
        assert_close(ratio[i], lowest[i], 1e-8);
        assert_true(pct[i] == 100 || pct[i] == kn_percentile(r->extrapolation, r->n, ratio[i]));
    }
    kn_scores_free(scores);
}

static void they_are_as_far_as_at_the_site_that_knows_them_best(void **state)
{
    static const struct {
        const char *options;
        double signal;
        bool none; /* no component */
    } model[] = {{"folds=5", 1, false},
                 {"folds=5 noise=whitened components=3", 1, false},
                 {"folds=5 method=kronsum", 1, false},
                 {"folds=5 method=mtgpr components=3", 1, false},
                 {"folds=5 method=convolved", 1, false},
                 {"folds=5 method=stgpr", 1, false},
                 {"folds=5 interaction=site:age", 1, false},
                 {"folds=5", 0, true}};
    (void)state;
    for (size_t k = 0; k < sizeof model / sizeof *model; k++) {
        study s;
        double lowest[SCORED];
        for (uint64_t draw = 0;; draw++) { /* in one draw of 20 noise looks like a component */
            study_new(5 + draw, model[k].options, model[k].signal, &s);
            if (!model[k].none || s.m->gp.P == 0)
                break;
            assert_true(draw < 10);
            study_free(&s);
        }
        s.v.age.data[0] = 95; /* further than anybody, but not held */
        s.v.age.data[1] = 150;
        min_of(s.m, &s.v, s.known, SITES, lowest);
        assert_min(s.a, &s.v, "write=z", lowest);
        assert_min(s.m, &s.v, "write=z unseen=prior", lowest);
        study_free(&s);
    }
}

enum { MANY = 6, HOSTS = 4 };

/* Six sites of ages of their own, the most participants first; of the fourth and the fifth equally
 * many, but the fourth comes first by name. By name the largest is neither first nor last. */
static const struct {
    const char *name;
    ptrdiff_t participants;
} many[MANY] = {{"D", 50}, {"B", 40}, {"F", 32}, {"C", 24}, {"E", 24}, {"A", 16}};

static visitors ages_of_their_own(world *w, const place *at)
{
    ptrdiff_t n = 0, i = 0;
    for (int k = 0; k < MANY; k++)
        n += many[k].participants;
    visitors v = visitors_new(n, T);
    for (int k = 0; k < MANY; k++)
        for (ptrdiff_t end = i + many[k].participants; i < end; i++)
            do
                visit(w, &v, i, &at[k]);
            while (v.age.data[i] < 20 + 10 * k || v.age.data[i] > 30 + 10 * k);
    return v;
}

/* Is one of them less than its fellow? */
static bool somebody_is_less(const double *a, const double *b)
{
    for (ptrdiff_t i = 0; i < SCORED; i++)
        if (a[i] < b[i] * (1 - 1e-6))
            return true;
    return false;
}

/* Everybody is known best at the site of his age, so that one host more or less, or another choice
 * of them, is seen. */
static void hosts_are_the_sites_with_the_most_participants(void **state)
{
    static const struct {
        const char *options;
        int hosts;
    } model[] = {{"folds=5 method=stgpr", HOSTS},
                 {"folds=5 method=kronsum", HOSTS},
                 {"folds=5 method=mtgpr components=3", HOSTS},
                 {"folds=5 method=convolved", HOSTS},
                 {"folds=5", MANY}};
    (void)state;
    for (size_t k = 0; k < sizeof model / sizeof *model; k++) {
        world w = world_new(5, T);
        place at[MANY], new;
        double lowest[MANY][SCORED];
        for (int s = 0; s < MANY; s++)
            at[s] = place_new(&w, many[s].name);
        new = place_new(&w, "new");
        visitors train = ages_of_their_own(&w, at), v = visitors_of(&w, &new, 1, SCORED);
        bend(&train, 1.5), bend(&v, 1.5);
        kn_model *m = visitors_fit(ctx, &train, model[k].options);
        for (int s = 0; s < MANY; s++) {
            min_of(m, &v, at, s + 1, lowest[s]);
            assert_true(s == 0 || somebody_is_less(lowest[s], lowest[s - 1]));
        }
        assert_min(m, &v, "write=z unseen=prior", lowest[model[k].hosts - 1]);
        kn_model_free(m);
        visitors_free(&train), visitors_free(&v);
    }
}

static bool speaks_of_distance(const logged *l)
{
    return strstr(l->text, "far from training") != NULL;
}

/* Ages that are well inside those of training, 20 to 80: one in a hundred at its ends is beyond the
 * 99th percentile, which is right. */
static void set_ages_inside(visitors *v)
{
    for (ptrdiff_t i = 0; i < v->n; i++)
        v->age.data[i] = 30 + 40 * (double)i / (double)v->n;
}

static void being_at_an_adapted_site_is_not_being_far(void **state)
{
    study s;
    logged l = {0};
    (void)state;
    study_new(5, "folds=5", 1, &s);
    set_ages_inside(&s.v);
    kn_set_log(ctx, logged_take, &l);
    kn_scores *scores = scored(s.a, &s.v, "write=z");
    const double *pct = kn_scores_participants(scores, "extrapolation_pct");
    for (ptrdiff_t i = 0; i < s.v.n; i++)
        assert_true(pct[i] <= KN_EXTRAPOLATION_WARN);
    assert_false(speaks_of_distance(&l));
    kn_scores_free(scores);
    kn_set_log(ctx, NULL, NULL);
    study_free(&s);
}

static void being_old_is_there_as_anywhere(void **state)
{
    study s;
    logged l = {0};
    (void)state;
    study_new(5, "folds=5", 1, &s);
    set_ages_inside(&s.v);
    s.v.age.data[3] = 150;
    s.v.age.data[5] = 95;
    kn_scores *scores = scored(s.a, &s.v, "write=z");
    const double *pct = kn_scores_participants(scores, "extrapolation_pct");
    for (ptrdiff_t i = 0; i < s.v.n; i++)
        assert_true((pct[i] > KN_EXTRAPOLATION_WARN) == (i == 3 || i == 5));
    kn_scores_free(scores);
    for (ptrdiff_t i = 0; i < s.v.n; i++)
        s.v.age.data[i] = 150;
    kn_set_log(ctx, logged_take, &l);
    scores = scored(s.a, &s.v, "write=z");
    pct = kn_scores_participants(scores, "extrapolation_pct");
    for (ptrdiff_t i = 0; i < s.v.n; i++)
        assert_true(pct[i] == 100);
    assert_true(l.lines > 0);
    kn_scores_free(scores);
    kn_set_log(ctx, NULL, NULL);
    study_free(&s);
}

/* Who is scored beside them changes nothing, in one batch or another. */
static void participants_of_known_sites_in_the_same_call_are_unchanged(void **state)
{
    study s;
    (void)state;
    study_new(5, "folds=5", 1, &s);
    for (ptrdiff_t i = 0; i < s.v.n; i += 2)
        s.v.site[i] = s.known[0].name;
    kn_scores *mixed = scored(s.a, &s.v, "write=z");
    for (ptrdiff_t i = 1; i < s.v.n; i += 2)
        s.v.site[i] = s.known[0].name;
    kn_scores *known = scored(s.a, &s.v, "write=z");
    for (ptrdiff_t i = 0; i < s.v.n; i += 2)
        assert_true(kn_scores_participants(mixed, "extrapolation")[i] ==
                    kn_scores_participants(known, "extrapolation")[i]);
    kn_scores_free(mixed), kn_scores_free(known);
    study_free(&s);
}

TEST_PROGRAM(commands_score_extrapolation)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_as_far_as_at_the_site_that_knows_them_best),
        cmocka_unit_test(hosts_are_the_sites_with_the_most_participants),
        cmocka_unit_test(being_at_an_adapted_site_is_not_being_far),
        cmocka_unit_test(being_old_is_there_as_anywhere),
        cmocka_unit_test(participants_of_known_sites_in_the_same_call_are_unchanged),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests_name("beyond", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
