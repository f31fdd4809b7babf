/* Signed burden and false discovery rate, against their definitions. */
#include "support/test.h"

#include "base/random.h"
#include "norm/metrics/burden.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

static kn_ctx *ctx;
static kn_rng rng;

static void adjusted_p_match_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/expected", "");
    kn_mat p = golden_column(j, "bh.p"), expected = golden_column(j, "bh.adjusted");
    double out[8], back[8], turned[8];
    assert_ok(ctx, kn_fdr_adjust(ctx, 8, p.data, out));
    for (int i = 0; i < 8; i++) {
        assert_close(out[i], expected.data[i], 1e-15);
        turned[i] = p.data[(i * 3 + 2) % 8];
    }
    assert_ok(ctx, kn_fdr_adjust(ctx, 8, turned, back));
    for (int i = 0; i < 8; i++)
        assert_close(back[i], out[(i * 3 + 2) % 8], 0);
    assert_ok(ctx, kn_fdr_adjust(ctx, 0, NULL, NULL));
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_fdr_adjust(ctx, 8, p.data, out), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
    free(p.data), free(expected.data);
    json_decref(j);
}

/* z of a map: noise, and a share that deviates by `shift`; some missing. */
static ptrdiff_t make(float *z, ptrdiff_t T, double share, double shift)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        double v = kn_rng_normal(&rng) + (kn_rng_uniform(&rng) < share ? shift : 0);
        z[j] = (float)(kn_rng_uniform(&rng) < 0.05 ? NAN : v);
        n += !isnan(z[j]);
    }
    return n;
}

static void rejections_are_those_of_adjusted_p(void **state)
{
    (void)state;
    enum { MAX_COUNT = 700 };
    static const ptrdiff_t SIZE[] = {1, 2, 5, 60, MAX_COUNT};
    float z[MAX_COUNT];
    double work[MAX_COUNT], p[MAX_COUNT], adjusted[MAX_COUNT];
    ptrdiff_t findings = 0;
    for (int round = 0; round < 200; round++) {
        ptrdiff_t T = SIZE[round % 5], n = 0, negative = 0, positive = 0;
        double q = round % 3 ? 0.05 : 0.3, lowest = INFINITY;
        make(z, T, 0.1 * (round % 4), round % 2 ? -3 : 4);
        for (ptrdiff_t j = 0; j < T; j++) {
            if (!isnan(z[j]))
                p[n++] = 2 * kn_normal_upper(fabs((double)z[j]));
        }
        assert_ok(ctx, kn_fdr_adjust(ctx, n, p, adjusted));
        for (ptrdiff_t j = 0, k = 0; j < T; j++)
            if (!isnan(z[j]) && adjusted[k++] <= q) {
                negative += z[j] < 0;
                positive += z[j] > 0;
                lowest = fmin(lowest, fabs((double)z[j]));
            }
        kn_fdr r = kn_fdr_row(z, T, q, work);
        assert_int_equal(r.n, n);
        assert_int_equal(r.negative, negative);
        assert_int_equal(r.positive, positive);
        assert_true(r.bar == lowest);
        findings += negative + positive;
    }
    assert_true(findings > 1000);
    float none[2] = {NAN, INFINITY};
    kn_fdr r = kn_fdr_row(none, 2, 0.05, work);
    assert_true(r.n == 0 && r.negative == 0 && r.positive == 0 && r.bar == INFINITY);
}

/* At its word: sort, take k, drop d at each end. */
static double literal_top(const float *z, ptrdiff_t T, double sign)
{
    double a[1000], sum = 0;
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (!isnan(z[j]))
            a[n++] = sign * (double)z[j];
    kn_sort(a, n);
    ptrdiff_t k = (ptrdiff_t)floor(0.05 * (double)n + 0.5), d;
    k = k < 1 ? 1 : k;
    d = k / 20;
    for (ptrdiff_t i = n - k + d; i < n - d; i++)
        sum += a[i];
    return sign * sum / (double)(k - 2 * d);
}

static void burden_of_a_row_is_its_definition(void **state)
{
    (void)state;
    enum { MAX_COUNT = 1000 };
    static const ptrdiff_t SIZE[] = {1, 2, 5, 19, 40, MAX_COUNT};
    float z[MAX_COUNT];
    double work[MAX_COUNT];
    for (int round = 0; round < 60; round++) {
        ptrdiff_t T = SIZE[round % 6], n = make(z, T, 0.1, -3);
        double sum = 0, below = 0, above = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            if (!isnan(z[j])) {
                sum += z[j];
                below += (double)z[j] < -1.5;
                above += (double)z[j] > 1.5;
            }
        }
        kn_burden b = kn_burden_row(z, T, 1.5, KN_TOP_FRACTION, work);
        assert_int_equal(b.n, n);
        if (n == 0)
            continue;
        assert_close(b.mean_z, sum / (double)n, 1e-14);
        assert_true(n < 20 ? isnan(b.negative) && isnan(b.positive)
                           : b.negative == below && b.positive == above);
        assert_close(b.extreme_z_low, literal_top(z, T, -1), 1e-14);
        assert_close(b.extreme_z_high, literal_top(z, T, 1), 1e-14);
        assert_true(b.extreme_z_low <= b.mean_z && b.extreme_z_high >= b.mean_z);
    }
    float none[1] = {NAN};
    kn_burden b = kn_burden_row(none, 1, 1.96, KN_TOP_FRACTION, work);
    assert_true(b.n == 0 && isnan(b.mean_z) && isnan(b.extreme_z_low) && isnan(b.negative));
}

static void ties_count_against_the_participant_and_a_member_meets_the_others(void **state)
{
    (void)state;
    const double mean_z[] = {0.1, 0.2, 0.3, 0.4}, negative[] = {1, 3, 3};
    assert_close(kn_rank_p(mean_z, 4, 0.2, false), 4.0 / 5, 1e-15);
    assert_close(kn_rank_p(negative, 3, 3, false), 3.0 / 4, 1e-15);
    assert_close(kn_rank_p(negative, 3, 6, false), 1.0 / 4, 1e-15);
    assert_close(kn_rank_p(mean_z, 4, 0.2, true), 3.0 / 4, 1e-15); /* .3, .4 of the three others */
    assert_close(kn_rank_p(negative, 3, 3, true), 2.0 / 3, 1e-15);
    assert_true(isnan(kn_rank_p(negative, 3, NAN, true)));
}

/* What a cohort of n can say of a participant. */
static void no_p_is_smaller_than_a_cohort_can_tell(void **state)
{
    (void)state;
    double sorted[100];
    for (int i = 0; i < 100; i++)
        sorted[i] = 2 + 0.01 * i;
    kn_tail_p_reference distribution = {sorted, 100, 100, true, {0, 2.4, 0.2}};
    kn_tail_p far = kn_tail_p_of(&distribution, 50, false);
    assert_close(far.p, 1.0 / 202, 1e-15);
    assert_int_equal(far.note, KN_TAIL_P_BOUND);
    assert_int_equal(kn_tail_p_of(&distribution, 2.5, false).note, KN_TAIL_P_PLAIN);
    distribution.units = 40; /* groups of participants */
    kn_tail_p rough = kn_tail_p_of(&distribution, 3.2, false);
    assert_true(rough.p > 1.0 / 82 && rough.p < 0.02);
    assert_int_equal(rough.note, KN_TAIL_P_ROUGH);
    distribution.has_gev = false;
    assert_close(kn_tail_p_of(&distribution, 50, false).p, 1.0 / 82, 1e-15);
    distribution.n = 1;
    assert_true(isnan(kn_tail_p_of(&distribution, 2, true).p)); /* nobody else */
    distribution.n = 0;
    assert_true(isnan(kn_tail_p_of(&distribution, 2, false).p));
}

/* A site that is not known is one of S + 1, and so is what it does to a map. */
static void no_p_at_an_unknown_site_is_smaller_than_sites_can_tell(void **state)
{
    (void)state;
    double lowest = kn_tail_p_min_unseen(3);
    kn_tail_p rough = {0.01, KN_TAIL_P_ROUGH}, usual = {0.6, KN_TAIL_P_PLAIN};
    assert_close(lowest, 0.25, 1e-15);
    assert_close(kn_tail_p_bounded(rough, lowest).p, lowest, 1e-15);
    assert_int_equal(kn_tail_p_bounded(rough, lowest).note, KN_TAIL_P_BOUND);
    assert_close(kn_tail_p_bounded(usual, lowest).p, 0.6, 1e-15);
    assert_int_equal(kn_tail_p_bounded(usual, lowest).note, KN_TAIL_P_PLAIN);
    assert_int_equal(kn_tail_p_bounded(rough, 0).note, KN_TAIL_P_ROUGH);
    assert_true(isnan(kn_tail_p_bounded((kn_tail_p){NAN, KN_TAIL_P_PLAIN}, lowest).p));
}

TEST_PROGRAM(norm_burden)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 55, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjusted_p_match_golden),
        cmocka_unit_test(rejections_are_those_of_adjusted_p),
        cmocka_unit_test(burden_of_a_row_is_its_definition),
        cmocka_unit_test(ties_count_against_the_participant_and_a_member_meets_the_others),
        cmocka_unit_test(no_p_is_smaller_than_a_cohort_can_tell),
        cmocka_unit_test(no_p_at_an_unknown_site_is_smaller_than_sites_can_tell),
    };
    int failed = cmocka_run_group_tests_name("burden", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
