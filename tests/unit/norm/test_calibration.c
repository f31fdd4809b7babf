#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "norm/calibration/calibration_check.h"
#include "stats/normal.h"

static kn_ctx *ctx;
static kn_rng rng;

/* Definitions at their word, over one list; the distance by trying both sides of every value. */
static void literal(const double *z, ptrdiff_t n, double out[KN_N_CALIBRATION])
{
    static const double Q[4] = {0.6744897501960817, 1.6448536269514722, 1.959963984540054,
                                2.5758293035489004};
    double mean = 0, m2 = 0, m4 = 0;
    memset(out, 0, KN_N_CALIBRATION * sizeof *out);
    for (ptrdiff_t i = 0; i < n; i++)
        mean += z[i] / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        m2 += pow(z[i] - mean, 2) / (double)n;
        m4 += pow(z[i] - mean, 4) / (double)n;
        out[KN_CALIBRATION_Z2] += z[i] * z[i] / (double)n;
        for (int c = 0; c < 4; c++)
            out[KN_CALIBRATION_COVERAGE50 + c] += (fabs(z[i]) <= Q[c]) / (double)n;
        double below = 0, up_to = 0, p = kn_normal_cdf(z[i]);
        for (ptrdiff_t k = 0; k < n; k++) {
            below += (z[k] < z[i]) / (double)n;
            up_to += (z[k] <= z[i]) / (double)n;
        }
        double d = fmax(fabs(p - below), fabs(p - up_to));
        out[KN_CALIBRATION_KS] = fmax(out[KN_CALIBRATION_KS], d);
    }
    out[KN_CALIBRATION_KURTOSIS] = m4 / (m2 * m2);
}

/* Blocks of uneven width, missing z, samples not used; shifted so that the moments must not
 * cancel. */
static void calibration_matches_definitions_overall_and_per_response(void **state)
{
    (void)state;
    enum { N = 25, T = 130 };
    for (int round = 0; round < 3; round++) {
        kn_mat z = ref_new(N, T), per = ref_new(T, KN_N_CALIBRATION);
        double *kept = calloc(N * T, sizeof *kept), one[N], e[KN_N_CALIBRATION];
        double out[KN_N_CALIBRATION];
        bool use[N];
        ptrdiff_t n = 0;
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < N; i++) {
                use[i] = i != 4;
                double v = kn_rng_normal(&rng) * (round == 1 ? 6 : 1) + (round == 2 ? 3000 : 0);
                kn_col(z, j)[i] = kn_rng_uniform(&rng) < 0.1 ? NAN : v;
                if (use[i] && isfinite(kn_at(z, i, j)))
                    kept[n++] = kn_at(z, i, j);
            }
        kn_calibrator c;
        assert_ok(ctx, kn_calibrator_init(ctx, &c));
        assert_ok(ctx, kn_calibrator_add(ctx, &c, kn_cols(z, 0, 7), use,
                                         kn_sub(per, 0, 0, 7, KN_N_CALIBRATION)));
        assert_ok(ctx, kn_calibrator_add(ctx, &c, kn_cols(z, 7, 80), use,
                                         kn_sub(per, 7, 0, 80, KN_N_CALIBRATION)));
        assert_ok(ctx, kn_calibrator_add(ctx, &c, kn_cols(z, 87, T - 87), use,
                                         kn_sub(per, 87, 0, T - 87, KN_N_CALIBRATION)));
        kn_calibrator_result(&c, out);
        literal(kept, n, e);
        for (int k = 0; k < KN_N_CALIBRATION; k++)
            assert_close(out[k], e[k], k == KN_CALIBRATION_KS ? 1e-4 : 1e-11);
        assert_true(out[KN_CALIBRATION_KS] <= e[KN_CALIBRATION_KS] + 1e-15);
        for (ptrdiff_t j = 0; j < T; j++) {
            ptrdiff_t m = 0;
            for (ptrdiff_t i = 0; i < N; i++)
                if (use[i] && isfinite(kn_at(z, i, j)))
                    one[m++] = kn_at(z, i, j);
            literal(one, m, e);
            for (int k = 0; k < KN_N_CALIBRATION; k++)
                assert_close(kn_at(per, j, k), e[k], 1e-10);
        }
        kn_calibrator_clear(&c);
        free(z.data), free(per.data), free(kept);
    }
    assert_string_equal(kn_calibration_name[KN_CALIBRATION_KS], "ks");
}

static void standard_normal_z_are_called_calibrated(void **state)
{
    (void)state;
    kn_mat z = ref_new(500, 400);
    double out[KN_N_CALIBRATION], serial[KN_N_CALIBRATION];
    for (ptrdiff_t i = 0; i < 500 * 400; i++)
        z.data[i] = kn_rng_normal(&rng);
    for (int threads = 1; threads <= 2; threads++) {
        kn_calibrator c;
        kn_set_threads(ctx, threads);
        assert_ok(ctx, kn_calibrator_init(ctx, &c));
        assert_ok(ctx, kn_calibrator_add(ctx, &c, z, NULL, kn_mat_none()));
        kn_calibrator_result(&c, threads == 1 ? serial : out);
        kn_calibrator_clear(&c);
    }
    kn_set_threads(ctx, 0);
    assert_memory_equal(out, serial, sizeof out);
    /* Five standard errors of n values; of KS the bound that 2 exp(-2 x^2) = 1e-6 gives. */
    const double n = 500 * 400;
    static const double COVERAGE[4] = {0.5, 0.9, 0.95, 0.99};
    assert_true(fabs(out[KN_CALIBRATION_Z2] - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(out[KN_CALIBRATION_KURTOSIS] - 3) < 5 * sqrt(24 / n));
    for (int k = 0; k < 4; k++)
        assert_true(fabs(out[KN_CALIBRATION_COVERAGE50 + k] - COVERAGE[k]) <
                    5 * sqrt(COVERAGE[k] * (1 - COVERAGE[k]) / n));
    assert_true(out[KN_CALIBRATION_KS] < sqrt(log(2e6) / 2 / n));
    free(z.data);
}

static void without_values_every_statistic_is_nan(void **state)
{
    (void)state;
    double z[4] = {NAN, NAN, 1, 1}, per[2 * KN_N_CALIBRATION], out[KN_N_CALIBRATION];
    kn_calibrator c;
    assert_ok(ctx, kn_calibrator_init(ctx, &c));
    kn_calibrator_result(&c, out);
    for (int k = 0; k < KN_N_CALIBRATION; k++)
        assert_true(isnan(out[k]));
    assert_ok(ctx, kn_calibrator_add(ctx, &c, kn_mat_cols(z, 2, 2), NULL,
                                     kn_mat_cols(per, 2, KN_N_CALIBRATION)));
    kn_calibrator_result(&c, out);
    for (int k = 0; k < KN_N_CALIBRATION; k++) {
        assert_true(isnan(per[2 * k]));
        assert_int_equal(isnan(out[k]) != 0, k == KN_CALIBRATION_KURTOSIS);
    }
    kn_calibrator_clear(&c);
}

/* To the bit, although edges between values are passed over. */
static void the_distance_is_the_largest_of_all_edges(void **state)
{
    (void)state;
    enum { BINS = 1 << 16, PER_UNIT = BINS / 16, MAX_COUNT = 3000 };
    static const struct {
        ptrdiff_t n;
        double shift, scale;
    } cases[] = {{1, 0, 1},         {2, 0, 1},      {5, 2, 0.1}, {60, 0, 3},  {500, -1, 1},
                 {MAX_COUNT, 0, 1}, {1, 7.9999, 0}, {1, -8, 0},  {3, 0, 100}, {4, -7.99, 0.001}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double z[MAX_COUNT], out[KN_N_CALIBRATION], seen = 0, ks = 0;
        ptrdiff_t n = cases[k].n;
        kn_calibrator c;
        for (ptrdiff_t i = 0; i < n; i++)
            z[i] = cases[k].shift + cases[k].scale * kn_rng_normal(&rng);
        assert_ok(ctx, kn_calibrator_init(ctx, &c));
        assert_ok(ctx, kn_calibrator_add(ctx, &c, kn_mat_cols(z, n, 1), NULL, kn_mat_none()));
        kn_calibrator_result(&c, out);
        for (ptrdiff_t b = 0; b < BINS - 1; b++) {
            seen += (double)c.bins[b];
            ks = fmax(ks, fabs(seen / (double)n - kn_normal_cdf((double)(b + 1) / PER_UNIT - 8)));
        }
        assert_true(out[KN_CALIBRATION_KS] == ks);
        kn_calibrator_clear(&c);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 51, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_calibrator, open_fixture, close_fixture)
{
    double z[4] = {NAN, NAN, 1, 1};
    kn_calibrator c;
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_calibrator_init(ctx, &c), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
    assert_ok(ctx, kn_calibrator_init(ctx, &c));
    for (long k = 1; k <= 2; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_calibrator_add(ctx, &c, kn_mat_cols(z, 2, 2), NULL, kn_mat_none()),
                         KN_ERR_MEMORY);
    }
    kn_fail_allocation(ctx, 0);
    kn_calibrator_clear(&c);
}

TEST_PROGRAM(norm_calibration)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calibration_matches_definitions_overall_and_per_response),
        cmocka_unit_test(the_distance_is_the_largest_of_all_edges),
        cmocka_unit_test(standard_normal_z_are_called_calibrated),
        cmocka_unit_test(without_values_every_statistic_is_nan),
    };
    return cmocka_run_group_tests_name("calibration", tests, open_fixture, close_fixture);
}
