#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "gp/zscore.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"

static kn_ctx *ctx;
static kn_rng rng;

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Sorts everything and takes the definition at its word. */
static double literal(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction)
{
    double *a = calloc((size_t)T + 1, sizeof *a), sum = 0;
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j * stride]))
            a[n++] = fabs(z[j * stride]);
    qsort(a, (size_t)n, sizeof *a, descending);
    ptrdiff_t k = (ptrdiff_t)floor(fraction * (double)n + 0.5), d;
    k = k < 1 ? 1 : k;
    d = k / 20;
    for (ptrdiff_t i = d; i < k - d; i++)
        sum += a[i];
    free(a);
    return n ? sum / (double)(k - 2 * d) : NAN;
}

static void npm_matches_golden(void **state)
{
    (void)state;
    kn_mat y = golden_matrix("normative/npm", "y"), mean = golden_matrix("normative/npm", "mean");
    kn_mat v = golden_matrix("normative/npm", "var"),
           noise = golden_matrix("normative/npm", "noise");
    kn_mat expected = golden_matrix("normative/npm", "expected"), z = ref_new(8, 12);
    kn_zscores(y, mean, v, noise.data, z);
    assert_same(z, expected, 1e-12);
    kn_zscores(y, mean, kn_mat_none(), noise.data, z);
    for (ptrdiff_t j = 0; j < 12; j++)
        assert_close(kn_at(z, 3, j), (kn_at(y, 3, j) - kn_at(mean, 3, j)) / sqrt(noise.data[j]),
                     1e-14);
    free(y.data), free(mean.data), free(v.data), free(noise.data), free(expected.data);
    free(z.data);
}

static void npm_is_nan_only_where_something_is_missing(void **state)
{
    (void)state;
    kn_mat y = ref_new(3, 4), mean = ref_new(3, 4), v = ref_new(3, 4), z = ref_new(3, 4);
    double noise[4] = {1, 1, NAN, 0};
    kn_col(y, 0)[1] = NAN;
    kn_col(y, 1)[2] = INFINITY;
    kn_col(v, 3)[0] = 2;
    kn_zscores(y, mean, v, noise, z);
    for (ptrdiff_t j = 0; j < 4; j++)
        for (ptrdiff_t i = 0; i < 3; i++) {
            bool missing = (i == 1 && j == 0) || (i == 2 && j == 1) || j == 2 || (j == 3 && i > 0);
            assert_int_equal(isnan(kn_at(z, i, j)) != 0, missing);
        }
    free(y.data), free(mean.data), free(v.data), free(z.data);
}

static void statistic_matches_golden(void **state)
{
    (void)state;
    kn_mat map = golden_matrix("normative/map", "map");
    json_t *all = golden_json("normative/map", "expected"), *each;
    double work[200];
    const char *key;
    json_object_foreach(json_object_get(all, "stat"), key, each)
    {
        double fraction = golden_number(each, "perc");
        kn_mat value = golden_column(each, "value");
        assert_int_equal(kn_extreme_count(200, fraction), golden_number(each, "k"));
        for (ptrdiff_t i = 0; i < 80; i++)
            assert_close(kn_extreme(map.data + i, map.ld, 200, fraction, work), value.data[i],
                         1e-12);
        free(value.data);
    }
    json_decref(all);
    free(map.data);
}

static void statistic_matches_a_full_sort(void **state)
{
    (void)state;
    static const ptrdiff_t SIZES[] = {1, 2, 3, 5, 19, 20, 30, 399, 400, 1000};
    static const double FRACTIONS[] = {0.01, 0.05, 0.5, 1};
    for (int s = 0; s < 10; s++)
        for (int f = 0; f < 4; f++)
            for (int kind = 0; kind < 4; kind++) {
                ptrdiff_t T = SIZES[s];
                double z[2000], work[1000];
                float zf[1000];
                for (ptrdiff_t j = 0; j < T; j++) {
                    double v = kind == 0   ? kn_rng_normal(&rng)
                               : kind == 1 ? (double)kn_rng_below(&rng, 4) - 1 /* ties */
                               : kind == 2 ? (double)j                         /* sorted */
                                           : 1;
                    if (kind < 2 && kn_rng_uniform(&rng) < 0.2)
                        v = NAN;
                    zf[j] = (float)v;
                    z[2 * j] = (double)zf[j];
                }
                double e = literal(z, 2, T, FRACTIONS[f]);
                double a = kn_extreme(z, 2, T, FRACTIONS[f], work);
                double b = kn_extreme_f(zf, 1, T, FRACTIONS[f], work);
                if (isnan(e)) {
                    assert_true(isnan(a) && isnan(b));
                } else {
                    assert_close(a, e, 1e-13);
                    assert_true(a == b);
                }
            }
}

static void a_sample_without_finite_values_has_no_statistic(void **state)
{
    (void)state;
    double z[3] = {NAN, INFINITY, NAN}, work[3];
    assert_true(isnan(kn_extreme(z, 1, 3, 0.05, work)));
    assert_true(isnan(kn_extreme(z, 1, 0, 0.05, work)));
}

static void stream_over_blocks_matches_whole_rows(void **state)
{
    (void)state;
    enum { N = 37, T = 500 };
    kn_mat z = ref_new(N, T);
    double m[N], work[T];
    for (ptrdiff_t i = 0; i < N * T; i++)
        z.data[i] = kn_rng_normal(&rng);
    for (ptrdiff_t j = 0; j < T; j++) {
        kn_col(z, j)[3] = NAN;               /* all missing */
        kn_col(z, j)[4] = j < 450 ? NAN : 1; /* mostly */
        kn_col(z, j)[5] = (double)j;         /* every value enters the store */
        kn_col(z, j)[6] = (double)(j / 100); /* ties */
        kn_col(z, j)[7] = -2;                /* all alike */
        kn_col(z, j)[8] = j % 3 ? (double)j : j % 2 ? INFINITY : -INFINITY;
    }
    for (int f = 0; f < 3; f++) {
        double fraction = f == 0 ? 0.05 : f == 1 ? 0.25 : 1;
        kn_extreme_stream s;
        assert_ok(ctx, kn_extreme_stream_init(ctx, N, T, fraction, &s));
        for (ptrdiff_t j = 0; j < T;) {
            ptrdiff_t count = 1 + kn_rng_below(&rng, 90);
            count = j + count < T ? count : T - j;
            kn_extreme_stream_add(ctx, &s, kn_cols(z, j, count));
            j += count;
        }
        kn_extreme_stream_result(&s, m);
        for (ptrdiff_t i = 0; i < N; i++) {
            double e = kn_extreme(z.data + i, z.ld, T, fraction, work);
            if (i == 3)
                assert_true(isnan(m[i]));
            else
                assert_true(m[i] == e); /* added up in the same order */
        }
        kn_extreme_stream_clear(&s);
    }
    free(z.data);
}

static void a_stream_that_cannot_be_is_refused(void **state)
{
    (void)state;
    kn_extreme_stream s;
    assert_refused(ctx, kn_extreme_stream_init(ctx, 3, 10, 0, &s), KN_ERR_ARGUMENT,
                   "top fraction is 0");
    assert_refused(ctx, kn_extreme_stream_init(ctx, 3, 10, 1.5, &s), KN_ERR_ARGUMENT, "at most 1");
}

static void selection_keeps_the_largest_in_front(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        double x[64], y[64];
        ptrdiff_t n = 1 + kn_rng_below(&rng, 64), k = kn_rng_below(&rng, n + 1);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = y[i] = round % 2 ? kn_rng_normal(&rng) : (double)kn_rng_below(&rng, 5);
        kn_select_largest(x, n, k);
        kn_sort(y, n);
        kn_sort(x, k);
        kn_sort(x + k, n - k);
        for (ptrdiff_t i = 0; i < n; i++)
            assert_true(x[i] == (i < k ? y[n - k + i] : y[i - k]));
        assert_int_equal(kn_count_below(y, n, y[0], 0), 0);
        assert_int_equal(kn_count_below(y, n, y[n - 1], 1), n);
    }
}

/* Random values, few different ones, ascending, descending, and an ascent followed by a descent. */
static void sorting_keeps_every_value(void **state)
{
    (void)state;
    enum { MOST = 3000, KINDS = 5 };
    static double x[MOST];
    for (int round = 0; round < 20 * KINDS; round++) {
        ptrdiff_t n = 1 + kn_rng_below(&rng, MOST);
        double sum = 0, square = 0, sorted = 0, sorted_square = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double of[KINDS] = {rint(1e6 * kn_rng_normal(&rng)), (double)kn_rng_below(&rng, 5),
                                (double)i, (double)(n - i), (double)(i < n / 2 ? i : n - i)};
            x[i] = of[round % KINDS];
            sum += x[i];
            square += x[i] * x[i];
        }
        kn_sort(x, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            assert_true(i == 0 || x[i - 1] <= x[i]);
            sorted += x[i];
            sorted_square += x[i] * x[i];
        }
        assert_true(sorted == sum); /* whole numbers below 2^53 */
        assert_close(sorted_square / (1 + square), square / (1 + square), 1e-12);
    }
}

static void normal_distribution_keeps_its_tails(void **state)
{
    (void)state; /* values by 50-digit arithmetic */
    assert_close(kn_normal_cdf(1.959963984540054), 0.975, 1e-15);
    assert_close(kn_normal_cdf(-10) / 7.6198530241605261e-24, 1, 1e-13);
    assert_close(kn_normal_upper(10) / 7.6198530241605261e-24, 1, 1e-13);
    double z[4] = {1, -1, 0, 0.5}; /* F_n just before 0 is 1/4, Phi(0) = 1/2 */
    assert_close(kn_ks_normal(z, 4), 0.25, 1e-15);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 8, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_extreme_stream, open_fixture, close_fixture)
{
    kn_extreme_stream s;
    for (long k = 1; k <= 4; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_extreme_stream_init(ctx, 3, 10, 0.05, &s), KN_ERR_MEMORY);
        assert_null(s.best.data);
    }
    kn_fail_allocation(ctx, 0);
}

TEST_PROGRAM(norm_extreme_statistic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npm_matches_golden),
        cmocka_unit_test(npm_is_nan_only_where_something_is_missing),
        cmocka_unit_test(statistic_matches_golden),
        cmocka_unit_test(statistic_matches_a_full_sort),
        cmocka_unit_test(a_sample_without_finite_values_has_no_statistic),
        cmocka_unit_test(stream_over_blocks_matches_whole_rows),
        cmocka_unit_test(a_stream_that_cannot_be_is_refused),
        cmocka_unit_test(selection_keeps_the_largest_in_front),
        cmocka_unit_test(sorting_keeps_every_value),
        cmocka_unit_test(normal_distribution_keeps_its_tails),
    };
    return cmocka_run_group_tests_name("top", tests, open_fixture, close_fixture);
}
