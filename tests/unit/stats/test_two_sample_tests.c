/* Tests between two groups, against slow versions and numbers of scipy. */
#include "support/test.h"

#include "base/random.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"
#include "stats/two_sample_tests.h"

static kn_ctx *ctx;
static kn_rng rng;

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
    assert_ok(ctx, kn_fdr_adjust(ctx, 5, P, q));
    assert_close(q[0], .16 / 3, 1e-15);
    assert_close(q[1], .004, 1e-15);
    assert_close(q[3], .16 / 3, 1e-15);
    assert_close(q[4], .2, 1e-15);
    assert_true(isnan(q[2]));
    double in_place[] = {.04, .001, NAN, .03, .2};
    assert_ok(ctx, kn_fdr_adjust(ctx, 5, in_place, in_place));
    for (int i = 0; i < 5; i++)
        assert_true(in_place[i] == q[i] || (isnan(in_place[i]) && isnan(q[i])));
    assert_ok(ctx, kn_median_of(ctx, P, 5, &median));
    assert_close(median, .035, 1e-15);
}

TEST_PROGRAM(stats_two_sample_tests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_few_count_every_way),
        cmocka_unit_test(ranks_of_many_are_scipys),
        cmocka_unit_test(welch_and_false_discoveries_are_scipys),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 0);
    int failed = cmocka_run_group_tests_name("two_samples", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
