/* Student's t distribution by tails: against 90-digit arithmetic, and its two inverses against it.
 */
#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "stats/normal.h"
#include "stats/student_t.h"

static kn_ctx *ctx;
static kn_rng rng;

/* relative, without the floor of assert_close */
#define assert_near(a, b, tol)                                                                     \
    do {                                                                                           \
        double a_ = (a), b_ = (b), t_ = (tol);                                                     \
        if (!(fabs(a_ - b_) <= t_ * fabs(b_)))                                                     \
            fail_msg("%s = %.17g, expected %.17g, off by %.3g of %.3g allowed", #a, a_, b_,        \
                     fabs(a_ - b_) / fabs(b_), t_);                                                \
    } while (0)

static void tails_step_and_density_match_exact_arithmetic(void **state)
{
    (void)state;
    kn_mat t = golden_matrix("norms/student", "table"); /* nu, z, ln S, zt, ln density */
    assert_int_equal(t.rows, 110);
    for (ptrdiff_t r = 0; r < t.rows; r++) {
        double nu = kn_at(t, r, 0), z = kn_at(t, r, 1), zt = kn_at(t, r, 3);
        assert_near(kn_student_log_upper(z, nu), kn_at(t, r, 2), 1e-13);
        assert_near(kn_student_to_normal(z, nu), zt, 1e-13);
        assert_near(kn_student_log_density(z, nu), kn_at(t, r, 4), 1e-14);
        assert_near(kn_normal_to_student(zt, nu), z, 1e-11);
        assert_true(kn_student_to_normal(-z, nu) == -kn_student_to_normal(z, nu));
        assert_true(kn_normal_to_student(-zt, nu) == -kn_normal_to_student(zt, nu));
        if (kn_at(t, r, 2) > -700)
            assert_near(kn_student_upper(-z, nu) + kn_student_upper(z, nu), 1, 1e-15);
    }
    free(t.data);
}

static void student_step_matches_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/chain", ""), *all = json_object_get(j, "student"), *one;
    size_t k;
    assert_int_equal(json_array_size(all), 5);
    json_array_foreach(all, k, one)
    {
        double nu = golden_number(one, "nu");
        kn_mat z = golden_column(one, "z"), out = golden_column(one, "out");
        kn_mat density = golden_column(one, "ln_t_density");
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            assert_close(kn_student_to_normal(z.data[i], nu), out.data[i], 1e-10);
            assert_close(kn_student_log_density(z.data[i], nu), density.data[i], 1e-10);
        }
        free(z.data), free(out.data), free(density.data);
    }
    json_decref(j);
}

static void normal_quantiles_invert_tails_of_any_depth(void **state)
{
    (void)state;
    for (double x = -38; x < 3000; x += x < 40 ? 0.037 : 17) {
        double log_p = kn_normal_log_upper(x);
        assert_true(isfinite(log_p));
        if (x > -5) /* further left 1 - p has lost what x needs */
            assert_close(kn_normal_upper_quantile_log(log_p), x, x < -2 ? 1e-9 : 1e-13);
        if (x > -37 && x < 5)
            assert_close(kn_normal_quantile(kn_normal_cdf(x)), x, x > 2 ? 1e-9 : 1e-13);
    }
    assert_near(kn_normal_log_upper(12), log(kn_normal_upper(12)), 1e-15);
    assert_near(kn_normal_log_upper(30), log(kn_normal_upper(30)), 1e-15);
    assert_near(kn_normal_quantile(0.975), 1.959963984540054, 1e-15);
    assert_near(kn_normal_central_quantile(1e-12), 1e-12 * sqrt(M_PI_2), 1e-14);
    assert_true(kn_normal_quantile(0) == -INFINITY && kn_normal_quantile(1) == INFINITY);
    assert_true(isnan(kn_normal_quantile(1.5)) && isnan(kn_normal_quantile(NAN)));
    assert_near(kn_student_quantile(0.975, 9), 2.2621571627982049, 1e-13);
    assert_near(kn_student_quantile(0.01, 1), -31.820515953773955, 1e-13);
}

static void step_of_finite_z_is_finite_and_monotone(void **state)
{
    (void)state;
    static const double NU[] = {0.5, 1, 2, 9, 60, 500, 9999, 10000, 10001};
    for (size_t k = 0; k < sizeof NU / sizeof *NU; k++) {
        double last = 0;
        for (double z = 1e-300; z < 1e306; z *= z < 1e-3 || z > 1e4 ? 12.5 : 1.07) {
            double zt = kn_student_to_normal(z, NU[k]);
            assert_true(isfinite(zt) && zt > last && zt <= z * (1 + 1e-14));
            last = zt;
            if (NU[k] > 10000)
                assert_true(zt == z);
        }
        assert_true(kn_student_to_normal(INFINITY, NU[k]) == INFINITY);
        assert_true(isnan(kn_student_to_normal(NAN, NU[k])));
        assert_true(kn_student_to_normal(0, NU[k]) == 0);
    }
    assert_true(kn_normal_to_student(50, 1) == INFINITY);
    assert_true(isfinite(kn_normal_to_student(50, 9)));
}

static void map_of_one_nu_is_the_step(void **state)
{
    (void)state;
    static const double NU[] = {1, 2, 9, 14, 59, 300, 2000, 10000, 20000};
    for (size_t k = 0; k < sizeof NU / sizeof *NU; k++) {
        kn_student_map *map;
        double z[2000], in[2000];
        enum { N = sizeof z / sizeof *z };
        assert_ok(ctx, kn_student_map_new(ctx, NU[k], &map));
        for (int i = 0; i < N; i++)
            in[i] = z[i] = kn_rng_normal(&rng) * (i < 100 ? 1e-3 : i < 1500 ? 2 : 12);
        in[0] = z[0] = 0, in[1] = z[1] = 16, in[2] = z[2] = -1e3, in[3] = z[3] = NAN;
        in[4] = z[4] = -INFINITY;
        kn_student_map_apply(map, N, z);
        for (int i = 0; i < N; i++)
            if (isfinite(in[i]))
                assert_near(z[i], kn_student_to_normal(in[i], NU[k]), 1e-12);
        assert_true(isnan(z[3]) && z[4] == -INFINITY);
        kn_student_map_free(map);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 52, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(stats_student_map, open_fixture, close_fixture)
{
    kn_student_map *map;
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_student_map_new(ctx, 5, &map), KN_ERR_MEMORY);
    assert_null(map);
    kn_fail_allocation(ctx, 0);
}

TEST_PROGRAM(stats_student_t)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_step_and_density_match_exact_arithmetic),
        cmocka_unit_test(student_step_matches_golden),
        cmocka_unit_test(normal_quantiles_invert_tails_of_any_depth),
        cmocka_unit_test(step_of_finite_z_is_finite_and_monotone),
        cmocka_unit_test(map_of_one_nu_is_the_step),
    };
    return cmocka_run_group_tests_name("student", tests, open_fixture, close_fixture);
}
