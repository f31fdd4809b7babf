/* Laws and two groups of the page, against slow versions and numbers of scipy. */
#include "test.h"

#include "base/rng.h"
#include "report/laws.h"
#include "report/two_samples.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- laws ---------------------------------------------------------------------------------------
 */

static void students_tails_are_scipys(void **state)
{
    (void)state;
    static const double CASE[][3] = {
        {0.5, 3.2, 0.6494501780131947},      {2.1, 17.7, 0.05034069445738841},
        {-6.5, 41.3, 8.151614803586635e-08}, {0.001, 8, 0.9992266021030893},
        {25, 5, 1.9106777843954255e-06},     {3, 1e4, 0.0027064481899976636},
        {40, 60, 5.755480486627368e-45},
    };
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++)
        assert_close(kn_laws_student_both(CASE[k][0], CASE[k][1]) / CASE[k][2], 1, 1e-11);
    assert_close(kn_laws_student_both(0, 5), 1, 0);
    assert_true(isnan(kn_laws_student_both(NAN, 5)) && isnan(kn_laws_student_both(1, 0)));
}

static void extreme_values_and_binomials_are_scipys(void **state)
{
    (void)state;
    static const double GEV[][5] = {{0.156, 1.87, .356, .05, 3.2150188000721975},
                                    {-.3, 2, .5, .001, 3.456814276081425},
                                    {0, 2, .5, .01, 4.30007461338829}};
    static const double RANGE[][4] = {
        {24, .04, 0, 3}, {100, .05, 1, 10}, {1, .05, 0, 1}, {500, .05, 16, 35}, {3, .5, 0, 3}};
    double low, high;
    for (int k = 0; k < 3; k++)
        assert_close(kn_laws_gev_beyond(GEV[k], GEV[k][3]), GEV[k][4], 1e-12);
    for (int k = 0; k < 5; k++) {
        kn_laws_binomial_range((ptrdiff_t)RANGE[k][0], RANGE[k][1], &low, &high);
        assert_close(low, RANGE[k][2], 0);
        assert_close(high, RANGE[k][3], 0);
    }
    kn_laws_binomial_range(0, .05, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* ---- two groups ---------------------------------------------------------------------------------
 */

/* Every way to deal the values among the groups. */
static double slow_rank_p(const double *x, int n, int all)
{
    double u0 = 0, below = 0, above = 0, total = 0;
    for (unsigned set = 0; set < 1u << all; set++) {
        double u = 0;
        if (__builtin_popcount(set) != n)
            continue;
        for (int i = 0; i < all; i++)
            for (int j = 0; j < all; j++)
                if ((set >> i & 1) && !(set >> j & 1))
                    u += (x[i] > x[j]) + (x[i] == x[j]) / 2.0;
        if (set == (1u << n) - 1)
            u0 = u;
    }
    for (unsigned set = 0; set < 1u << all; set++) {
        double u = 0;
        if (__builtin_popcount(set) != n)
            continue;
        for (int i = 0; i < all; i++)
            for (int j = 0; j < all; j++)
                if ((set >> i & 1) && !(set >> j & 1))
                    u += (x[i] > x[j]) + (x[i] == x[j]) / 2.0;
        below += u <= u0;
        above += u >= u0;
        total++;
    }
    return fmin(1, 2 * fmin(below, above) / total);
}

static void ranks_of_few_count_every_way(void **state)
{
    (void)state;
    static const double A[] = {1.1, 2.2, 3.3, 0.4, 5.5}, B[] = {2.5, 3.6, 4.7, 6.8, 7.9, 8.1, 9.3};
    kn_rank_test t;
    assert_ok(ctx, kn_rank_test_of(ctx, A, 5, B, 7, &t));
    assert_true(t.exact);
    assert_close(t.p, 0.030303030303030304, 1e-15);
    assert_close(t.U, 4, 0);
    for (int round = 0; round < repeat(40, 10); round++) {
        double x[9];
        int all = 4 + round % 6, n = 1 + round % 3;
        for (int i = 0; i < all; i++)
            x[i] = floor(4 * kn_rng_uniform(&rng)); /* with ties */
        assert_ok(ctx, kn_rank_test_of(ctx, x, n, x + n, all - n, &t));
        assert_close(t.p, slow_rank_p(x, n, all), 1e-14);
    }
    assert_ok(ctx, kn_rank_test_of(ctx, A, 5, B, 0, &t));
    assert_true(isnan(t.p));
}

static void ranks_of_many_are_scipys(void **state)
{
    (void)state;
    static const double A[] = {-0.8, -1.3, -0.2, 0.4,  1.1,  0.1,  -0.6, -0.8, 0.7,  1.6,
                               0.3,  -1.2, -1.0, 1.6,  0.2,  -1.7, -0.1, -1.2, -0.6, -0.5,
                               -0.7, 0.6,  -0.1, -0.6, 0.4,  0.8,  -1.6, -0.3, -1.0, -0.2,
                               -1.3, 0.0,  -0.0, -0.3, -1.0, -0.4, -1.1, -1.4, 0.2,  -1.1};
    static const double B[] = {1.5, 1.0,  -1.7, 0.6,  -0.8, 0.3,  0.3, -1.7, 0.1, 0.0,
                               1.3, -0.9, 1.0,  -0.8, -0.0, -0.5, 1.7, 0.9,  2.7, 0.9,
                               1.1, 1.1,  -0.3, 0.2,  1.7,  -0.1, 0.5, 0.3,  0.9, -0.1};
    kn_rank_test t;
    assert_ok(ctx, kn_rank_test_of(ctx, A, 40, B, 30, &t));
    assert_false(t.exact);
    assert_close(t.U, 340, 0);
    assert_close(t.p, 0.0020573298530899018, 1e-14);
}

static kn_sums sums_of(const double *x, int n)
{
    kn_sums s = {n, 0, 0};
    for (int i = 0; i < n; i++) {
        s.sum += x[i];
        s.sum2 += x[i] * x[i];
    }
    return s;
}

static void welch_and_false_discoveries_are_scipys(void **state)
{
    (void)state;
    static const double A[] = {0.3, 1.2, -0.5, 2.2, 0.9},
                        B[] = {1.5, -1.25, 0.75, 3.0, 2.5, 1.0, 0.25};
    static const double SAME[] = {0.1, 0.1, 0.1};
    static const double P[] = {.04, .001, NAN, .03, .2};
    double q[5], median;
    kn_welch w = kn_welch_of(sums_of(A, 5), sums_of(B, 7));
    assert_close(w.t, -0.40950879687072206, 1e-13);
    assert_close(w.p, 0.6908068264479126, 1e-12);
    assert_true(isnan(kn_welch_of(sums_of(SAME, 3), sums_of(SAME, 3)).t));
    assert_true(isnan(kn_welch_of(sums_of(A, 1), sums_of(B, 7)).p));
    assert_ok(ctx, kn_adjusted(ctx, P, 5, q));
    assert_close(q[0], .16 / 3, 1e-15);
    assert_close(q[1], .004, 1e-15);
    assert_close(q[3], .16 / 3, 1e-15);
    assert_close(q[4], .2, 1e-15);
    assert_true(isnan(q[2]));
    assert_ok(ctx, kn_median_of(ctx, P, 5, &median));
    assert_close(median, .035, 1e-15);
}

TEST_PROGRAM(report_laws)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_tails_are_scipys),
        cmocka_unit_test(extreme_values_and_binomials_are_scipys),
        cmocka_unit_test(ranks_of_few_count_every_way),
        cmocka_unit_test(ranks_of_many_are_scipys),
        cmocka_unit_test(welch_and_false_discoveries_are_scipys),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 0);
    int failed = cmocka_run_group_tests_name("report_laws", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
