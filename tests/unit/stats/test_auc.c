#include "support/test.h"

#include "base/random.h"
#include "stats/two_sample_tests.h"

static kn_ctx *ctx;
static kn_rng rng;

static double beats(double a, double b)
{
    return a > b ? 1 : a == b ? 0.5 : 0;
}

/* DeLong 1988 as printed: all pairs, two samples of structural components. */
static void literal(const double *s, const bool *abnormal, ptrdiff_t n, double *auc, double *se)
{
    double m = 0, k = 0, total = 0, v10 = 0, v01 = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        m += abnormal[i];
        k += !abnormal[i];
        for (ptrdiff_t j = 0; j < n; j++)
            total += abnormal[i] && !abnormal[j] ? beats(s[i], s[j]) : 0;
    }
    *auc = total / (m * k);
    for (ptrdiff_t i = 0; i < n; i++) {
        double part = 0;
        for (ptrdiff_t j = 0; j < n; j++)
            if (abnormal[i] != abnormal[j])
                part += abnormal[i] ? beats(s[i], s[j]) / k : beats(s[j], s[i]) / m;
        *(abnormal[i] ? &v10 : &v01) += (part - *auc) * (part - *auc);
    }
    *se = sqrt(v10 / (m - 1) / m + v01 / (k - 1) / k);
}

static void auc_matches_golden(void **state)
{
    (void)state;
    json_t *all = golden_json("normative/auc", ""), *each;
    size_t index;
    json_array_foreach(all, index, each)
    {
        kn_mat label = golden_column(each, "label"), score = golden_column(each, "score");
        bool abnormal[500];
        for (ptrdiff_t i = 0; i < label.rows; i++)
            abnormal[i] = label.data[i] == 1;
        kn_auc a;
        assert_ok(ctx, kn_auc_of(ctx, score.data, abnormal, label.rows, &a));
        assert_close(a.auc, golden_number(each, "auc"), 1e-12);
        free(label.data), free(score.data);
    }
    assert_true(index == 4);
    json_decref(all);

    json_t *map = golden_json("normative/map", "expected");
    bool abnormal[80];
    const char *key;
    for (int i = 0; i < 80; i++)
        abnormal[i] = i >= 40;
    json_object_foreach(json_object_get(map, "stat"), key, each)
    {
        static const char *const of[] = {"gevd_normal_rows", "gevd_all_rows"};
        kn_mat value = golden_column(each, "value");
        kn_auc a;
        assert_ok(ctx, kn_auc_of(ctx, value.data, abnormal, 80, &a));
        assert_close(a.auc, golden_number(each, "auc_of_value"), 1e-12);
        for (int w = 0; w < 2; w++) {
            json_t *fit = json_object_get(each, of[w]);
            kn_mat p = golden_column(fit, "probability");
            assert_ok(ctx, kn_auc_of(ctx, p.data, abnormal, 80, &a));
            assert_close(a.auc, golden_number(fit, "auc"), 1e-12);
            free(p.data);
        }
        free(value.data);
    }
    json_decref(map);
}

static void auc_and_interval_match_all_pairs(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        double s[90], auc, se;
        bool abnormal[90];
        ptrdiff_t n = 8 + kn_rng_below(&rng, 80);
        for (ptrdiff_t i = 0; i < n; i++) {
            abnormal[i] = i < 2 || (i >= 4 && kn_rng_uniform(&rng) < 0.3);
            s[i] = kn_rng_normal(&rng) + abnormal[i] * (round % 3);
            if (round % 2)
                s[i] = floor(2 * s[i]); /* ties */
        }
        s[n - 1] = INFINITY;
        kn_auc a;
        literal(s, abnormal, n, &auc, &se);
        assert_ok(ctx, kn_auc_of(ctx, s, abnormal, n, &a));
        assert_close(a.auc, auc, 1e-13);
        assert_close(a.se, se, 1e-12);
        assert_close(a.low, fmax(auc - 1.959963984540054 * se, 0), 1e-12);
        assert_close(a.high, fmin(auc + 1.959963984540054 * se, 1), 1e-12);
        assert_int_equal(a.degenerate, se < 1e-12);
    }
}

static void degenerate_variances_are_reported(void **state)
{
    (void)state;
    double apart[6] = {1, 2, 3, 4, 5, 6}, equal[6] = {2, 2, 2, 2, 2, 2};
    bool half[6] = {false, false, false, true, true, true};
    bool one[6] = {false, false, true, false, false, false};
    kn_auc a;
    assert_ok(ctx, kn_auc_of(ctx, apart, half, 6, &a));
    assert_true(a.auc == 1 && a.low == 1 && a.high == 1 && a.degenerate);
    assert_ok(ctx, kn_auc_of(ctx, equal, half, 6, &a));
    assert_true(a.auc == 0.5 && a.low == 0.5 && a.high == 0.5 && a.degenerate);
    assert_ok(ctx, kn_auc_of(ctx, apart, one, 6, &a));
    assert_close(a.auc, 0.4, 1e-15);
    assert_true(isnan(a.se) && isnan(a.low) && isnan(a.high) && !a.degenerate);
}

static void missing_scores_are_left_out_and_one_class_is_refused(void **state)
{
    (void)state;
    double s[5] = {1, NAN, 3, 2, NAN};
    bool abnormal[5] = {false, false, true, false, true}, nobody[5] = {false};
    kn_auc a;
    assert_ok(ctx, kn_auc_of(ctx, s, abnormal, 5, &a));
    assert_true(a.n_abnormal == 1 && a.n_normal == 2 && a.auc == 1);
    assert_refused(ctx, kn_auc_of(ctx, s, nobody, 5, &a), KN_ERR_DATA,
                   "0 abnormal and 3 normal ones");
    s[2] = NAN;
    assert_refused(ctx, kn_auc_of(ctx, s, abnormal, 5, &a), KN_ERR_DATA,
                   "needs participants of both classes");
    assert_refused(ctx, kn_auc_of(ctx, s, abnormal, 0, &a), KN_ERR_DATA,
                   "needs participants of both classes");
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_auc_of(ctx, s, abnormal, 5, &a), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
}

TEST_PROGRAM(stats_auc)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 31, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auc_matches_golden),
        cmocka_unit_test(auc_and_interval_match_all_pairs),
        cmocka_unit_test(degenerate_variances_are_reported),
        cmocka_unit_test(missing_scores_are_left_out_and_one_class_is_refused),
    };
    int failed = cmocka_run_group_tests_name("auc", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
