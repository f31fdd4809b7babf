/* Designs in a model file, hostile ones too, and without memory. */
#include "support/designs.h"
#include "support/failing.h"

static void a_design_survives_json_to_the_bit(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 3}, {1, 0}};
    kn_mat raw = cohort();
    for (int additive = 0; additive < 2; additive++) {
        kn_design_options o = {.additive = additive,
                               .standardise = true,
                               .levels = additive ? COHORT_LEVELS : NULL,
                               .quadratic = 1,
                               .interactions = by_site,
                               .n_interactions = additive ? 2 : 0};
        kn_col(raw, 1)[5] = additive ? NAN : 0;
        kn_design d = made(ctx, raw, &o), back;
        json_t *json = kn_design_to_json(&d);
        char *text = json_dumps(json, JSON_COMPACT);
        json_t *again = json_loads(text, 0, NULL);
        assert_ok(ctx, kn_design_from_json(ctx, "m", again, (kn_design_scale){d.C, d.mean, d.sd},
                                           &back));
        kn_mat A = applied(ctx, &d, raw, true, NULL), B = applied(ctx, &back, raw, true, NULL);
        assert_true(back.F == d.F && back.n_constant == d.n_constant && back.Fq == d.Fq);
        assert_same(B, A, 0);
        json_t *json2 = kn_design_to_json(&back);
        char *text2 = json_dumps(json2, JSON_COMPACT);
        assert_string_equal(text2, text);
        free(A.data), free(B.data), free(text), free(text2);
        json_decref(json), json_decref(again), json_decref(json2);
        kn_design_clear(&d);
        kn_design_clear(&back);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

#define DESIGN(columns, more) "{\"additive\":true,\"columns\":[" columns "]" more "}"
#define AGE                   "{\"min\":1,\"max\":2}"
#define SITE                  "{\"shares\":[0.5,0.5]}"
#define OF(c)                 "m: design of covariate " c ": "

static void a_hostile_design_is_refused(void **state)
{
    (void)state;
    static const char SIZES[] = "m: the design of the covariates, expected one of 2 columns";
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", SIZES},
        {"{}", SIZES},
        {"{\"additive\":1,\"columns\":[" AGE "," SITE "]}", SIZES},
        {DESIGN(AGE, ""), SIZES},
        {DESIGN(AGE "," SITE "," SITE, ""), SIZES},
        {DESIGN("1," SITE, ""), OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":2,\"max\":1}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":\"1\",\"max\":1}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":-1e308,\"max\":1e308}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":1,\"max\":1}," SITE, ""), OF("1") "its minimum and maximum are equal"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":1}," SITE, ""),
         OF("1") "expected constant to be true or false"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":[1,0]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":[1]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":null}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":true,\"quadratic\":[1,1]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN(AGE ",{\"shares\":[]}", ""), OF("2") "expected shares of 1 to 2000 levels"},
        {DESIGN(AGE ",{\"shares\":1}", ""), OF("2") "expected shares of 1 to 2000 levels"},
        {DESIGN(AGE ",{\"shares\":[0.5,\"a\"]}", ""),
         OF("2") "a share is not a number from 0 to 1"},
        {DESIGN(AGE ",{\"shares\":[1.5,-0.5]}", ""), OF("2") "a share is not a number from 0 to 1"},
        {DESIGN(AGE ",{\"shares\":[0.5,0.4]}", ""), OF("2") "shares do not sum to 1"},
        {"{\"additive\":false,\"columns\":[" AGE "," SITE "]}",
         OF("2") "expected shares of 1 to 2000 levels"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":true},{\"shares\":[0,1]}", ""),
         "m: every covariate of the design is constant"},
        {DESIGN(AGE "," SITE, ",\"interactions\":{}"),
         "m: interactions, expected an array of at most 1000"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[1]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,0],[0,1]]"),
         "m: interaction 2, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,2]]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,0,0]]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE ",{\"shares\":[1,0]}", ",\"interactions\":[[1,0]]"),
         "m: interaction 1, expected a category and a number that vary"},
    };
    kn_ctx *ctx = kn_ctx_new();
    double mean[] = {1, 0}, sd[] = {2, 1};
    kn_design d;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i].text, 0, NULL);
        assert_non_null(json);
        assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                       KN_ERR_FORMAT, cases[i].sentence);
        assert_true(!d.column && !d.mean && !d.interaction);
        json_decref(json);
    }
    json_t *json = json_loads(DESIGN(AGE "," SITE, ""), 0, NULL);
    static const double wrong[][2] = {{NAN, 1}, {1, 0}, {1, -1}, {1, INFINITY}};
    for (int k = 0; k < 4; k++) {
        mean[0] = wrong[k][0];
        sd[0] = wrong[k][1];
        assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                       KN_ERR_FORMAT, OF("1") "expected a finite mean and a positive sd");
    }
    mean[0] = sd[0] = mean[1] = 1;
    assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                   KN_ERR_FORMAT, OF("2") "expected mean 0 and sd 1 of a category");
    mean[1] = 0;
    assert_ok(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d));
    assert_int_equal(d.F, 4);
    kn_design_clear(&d);
    json_decref(json);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_design, NULL, NULL)
{
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    for (long k = 1;; k++) {
        kn_design d = {0}, back = {0};
        kn_mat X = {0};
        json_t *json = NULL;
        ptrdiff_t participants[4];
        kn_fail_allocation(ctx, k);
        kn_status s = kn_design_new(ctx, view(raw), &o, &d);
        if (s == KN_OK)
            s = kn_mat_new(ctx, raw.rows, d.F, &X);
        if (s == KN_OK)
            s = kn_design_apply(ctx, &d, view(raw), true, X, NULL);
        if (s == KN_OK)
            s = kn_design_count_clamped(ctx, &d, view(raw), participants);
        if (s == KN_OK)
            s = kn_design_from_json(ctx, "m", json = kn_design_to_json(&d),
                                    (kn_design_scale){d.C, d.mean, d.sd}, &back);
        kn_fail_allocation(ctx, 0);
        kn_design_clear(&d);
        kn_design_clear(&back);
        kn_mat_clear(&X);
        json_decref(json);
        if (s == KN_OK) {
            assert_true(k > 10);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_design_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_design_survives_json_to_the_bit),
        cmocka_unit_test(a_hostile_design_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
