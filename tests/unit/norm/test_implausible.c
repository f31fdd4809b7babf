/* Scored data that cannot be right [METHOD 8]. */
#include "base/random.h"
#include "norm/metrics/implausible_data.h"
#include "support/test.h"

enum { T = 40 };

static ptrdiff_t kept[T];
static double mean[T], sd[T];
static const kn_scaling training = {
    .n_all = T, .n_kept = T, .kept = kept, .mean0 = mean, .sd0 = sd};

static kn_implausible judged(const double *y)
{
    return kn_implausible_values(kn_view_rows(y, 1, T), 0, &training);
}

static void draw(kn_rng *rng, double times, double *y)
{
    for (int j = 0; j < T; j++)
        y[j] = times * (mean[j] + sd[j] * kn_rng_normal(rng));
}

static void set_training(double level)
{
    for (int j = 0; j < T; j++) {
        kept[j] = j;
        mean[j] = level * (1 + 0.1 * j);
        sd[j] = 0.2 * level + (level == 0);
    }
}

static void a_factor_of_ten_in_units_is_reported_and_unusual_participants_are_not(void **state)
{
    (void)state;
    double y[T];
    kn_rng rng;
    ref_rng_init(&rng, 1, 0);
    set_training(3);
    for (int k = 0; k < repeat(200, 20); k++) {
        draw(&rng, 1, y);
        assert_int_equal(judged(y), KN_PLAUSIBLE);
        draw(&rng, 10, y);
        assert_int_equal(judged(y), KN_IMPLAUSIBLE_LARGER);
        draw(&rng, -10, y); /* a sign is no excuse */
        assert_int_equal(judged(y), KN_IMPLAUSIBLE_LARGER);
        draw(&rng, 0.1, y);
        assert_int_equal(judged(y), KN_IMPLAUSIBLE_SMALLER);
        draw(&rng, 2, y);
        assert_int_equal(judged(y), KN_PLAUSIBLE);
    }
    set_training(0); /* what is about 0 can be too large, and never too small */
    for (int k = 0; k < repeat(200, 20); k++) {
        draw(&rng, 1, y);
        assert_int_equal(judged(y), KN_PLAUSIBLE);
        draw(&rng, 1e-3, y);
        assert_int_equal(judged(y), KN_PLAUSIBLE);
        draw(&rng, 100, y);
        assert_int_equal(judged(y), KN_IMPLAUSIBLE_LARGER);
    }
}

static void half_a_map_may_be_anything(void **state)
{
    (void)state;
    double y[T];
    kn_rng rng;
    ref_rng_init(&rng, 2, 0);
    set_training(3);
    draw(&rng, 1, y);
    for (int j = 0; j < T / 2; j++)
        y[j] = 1e6;
    assert_int_equal(judged(y), KN_PLAUSIBLE);
    y[T / 2] = 1e6;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_LARGER);
    for (int j = 0; j < T; j++)
        y[j] = j < T / 2 ? 0 : mean[j];
    assert_int_equal(judged(y), KN_PLAUSIBLE);
    y[T / 2] = 0;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_SMALLER);
    for (int j = 0; j < T - 1; j++) /* missing values are no evidence */
        y[j] = NAN;
    y[T - 1] = mean[T - 1];
    assert_int_equal(judged(y), KN_PLAUSIBLE);
}

static void one_value_all_over_is_no_map(void **state)
{
    (void)state;
    double y[T];
    set_training(3);
    for (int j = 0; j < T; j++)
        y[j] = 3.5;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_CONSTANT);
    y[3] = NAN;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_CONSTANT);
    y[4] = 3.6;
    assert_int_equal(judged(y), KN_PLAUSIBLE);
    for (int j = 0; j < T; j++)
        y[j] = 0;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_CONSTANT);
    for (int j = 0; j < T; j++)
        y[j] = NAN; /* a map without values has a message of its own */
    assert_int_equal(judged(y), KN_PLAUSIBLE);
}

/* The same by sorting. */
static kn_implausible slow(const float *z, int n)
{
    double x[T], sum = 0;
    int m = 0;
    for (int j = 0; j < n; j++)
        if (!isnan(z[j]))
            x[m++] = (double)z[j] * (double)z[j];
    for (int a = 0; a < m; a++)
        for (int b = a + 1; b < m; b++)
            if (x[b] < x[a]) {
                double swap = x[a];
                x[a] = x[b];
                x[b] = swap;
            }
    int half = m - m / 2;
    for (int j = 0; j < half; j++)
        sum += x[j];
    return m >= 8 && sum / half > 4 ? KN_IMPLAUSIBLE_Z : KN_PLAUSIBLE;
}

static void the_smaller_half_of_z_decides(void **state)
{
    (void)state;
    double work[T];
    float z[T];
    int seen[2] = {0, 0};
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    for (int k = 0; k < repeat(2000, 200); k++) {
        double wide = 1 + 7 * kn_rng_uniform(&rng);
        int n = 2 + (int)(kn_rng_uniform(&rng) * (T - 1));
        for (int j = 0; j < n; j++)
            z[j] = kn_rng_uniform(&rng) < 0.1 ? NAN : (float)(wide * kn_rng_normal(&rng));
        kn_implausible expected = slow(z, n);
        assert_int_equal(kn_implausible_z(z, n, work), expected);
        seen[expected == KN_IMPLAUSIBLE_Z]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
    for (int j = 0; j < T; j++) /* however strong, a lesion of less than half is none */
        z[j] = j < T / 2 ? 1000 : 1;
    assert_int_equal(kn_implausible_z(z, T, work), KN_PLAUSIBLE);
}

static void a_code_for_missing_is_no_measurement(void **state)
{
    (void)state;
    double y[T];
    kn_rng rng;
    ref_rng_init(&rng, 4, 0);
    set_training(3);
    draw(&rng, 1, y);
    y[7] = -999;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_CODE);
    y[7] = -9999;
    assert_int_equal(judged(y), KN_IMPLAUSIBLE_CODE);
    y[7] = 0; /* tissue that is gone */
    assert_int_equal(judged(y), KN_PLAUSIBLE);
    mean[7] = -990, sd[7] = 40; /* a measure that is there */
    y[7] = -999;
    assert_int_equal(judged(y), KN_PLAUSIBLE);
}

TEST_PROGRAM(norm_implausible)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_of_ten_in_units_is_reported_and_unusual_participants_are_not),
        cmocka_unit_test(half_a_map_may_be_anything),
        cmocka_unit_test(one_value_all_over_is_no_map),
        cmocka_unit_test(the_smaller_half_of_z_decides),
        cmocka_unit_test(a_code_for_missing_is_no_measurement),
    };
    return cmocka_run_group_tests_name("implausible", tests, NULL, NULL);
}
