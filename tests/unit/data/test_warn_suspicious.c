/* Isolated values of a column: what is called an error, and what is a healthy tail. */
#include "data/table/warn_suspicious.h"

#include "support/test.h"

#include "base/random.h"

static kn_rng rng;

enum { MAX_COUNT = 2000 };

/* How many of x are isolated; x is not changed. */
static ptrdiff_t isolated(const double *x, ptrdiff_t n)
{
    double copy[MAX_COUNT];
    ptrdiff_t found = 0;
    memcpy(copy, x, (size_t)n * sizeof *x);
    kn_plausible_range range = kn_plausible_range_of(copy, n);
    for (ptrdiff_t i = 0; i < n; i++)
        found += kn_is_isolated(&range, x[i]);
    return found;
}

/* Mostly students, and some who are up to 80: not one is an error. */
static void a_skewed_cohort_has_no_isolated_value(void **state)
{
    (void)state;
    double age[MAX_COUNT];
    for (int draw = 0; draw < 50; draw++) {
        ptrdiff_t n = 20 + (ptrdiff_t)(500 * kn_rng_uniform(&rng));
        for (ptrdiff_t i = 0; i < n; i++)
            age[i] =
                floor(i % 11 == 0 ? 40 + 40 * kn_rng_uniform(&rng) : 18 + 8 * kn_rng_uniform(&rng));
        assert_int_equal(isolated(age, n), 0);
    }
}

static void planted_values_and_codes_are_isolated(void **state)
{
    (void)state;
    static const double WRONG[] = {-999, 999, 9999, -9999, 4000, -300};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++)
        for (ptrdiff_t n = 20; n < 400; n += 41) {
            double age[MAX_COUNT];
            for (ptrdiff_t i = 0; i < n; i++)
                age[i] = 20 + 60 * kn_rng_uniform(&rng);
            age[n / 3] = WRONG[k];
            assert_int_equal(isolated(age, n), 1);
        }
}

static void zero_among_thousands_is_isolated_and_zero_among_counts_is_not(void **state)
{
    (void)state;
    enum { N = 300 };
    double volume[N], counts[N];
    for (int i = 0; i < N; i++) {
        volume[i] = 1.2e6 + 4e5 * kn_rng_uniform(&rng);
        counts[i] = floor(4000 * kn_rng_uniform(&rng) * kn_rng_uniform(&rng));
    }
    assert_int_equal(isolated(counts, N), 0);
    volume[7] = volume[99] = 0;
    assert_int_equal(isolated(volume, N), 2);
    for (int i = 0; i < 20; i++) /* more than 1 %: a group, not an error */
        volume[i] = 0;
    assert_int_equal(isolated(volume, N), 0);
}

/* Codes are told however many there are. */
static void a_code_may_stand_in_many_rows(void **state)
{
    (void)state;
    enum { N = 100 };
    double age[N];
    for (int i = 0; i < N; i++)
        age[i] = i % 10 == 0 ? -999 : 20 + 60 * kn_rng_uniform(&rng);
    assert_int_equal(isolated(age, N), 10);
}

static void values_that_may_be_right_are_not_isolated(void **state)
{
    (void)state;
    enum { N = 200 };
    double few[19], rare[N], wide[N], scores[N];
    for (int i = 0; i < 19; i++)
        few[i] = i == 3 ? -999 : 20 + i; /* too few rows */
    for (int i = 0; i < N; i++) {
        rare[i] = i == 5;                              /* a yes that is rare */
        wide[i] = 2000 * (kn_rng_uniform(&rng) - 0.5); /* contains -999 */
        scores[i] = floor(1000 * kn_rng_uniform(&rng));
    }
    wide[3] = -999, scores[3] = 999, scores[4] = 998;
    assert_int_equal(isolated(few, 19), 0);
    assert_int_equal(isolated(rare, N), 0);
    assert_int_equal(isolated(wide, N), 0);
    assert_int_equal(isolated(scores, N), 0);
}

static int open_fixture(void **state)
{
    (void)state;
    ref_rng_init(&rng, 8, 0);
    return 0;
}

TEST_PROGRAM(data_warn_suspicious)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skewed_cohort_has_no_isolated_value),
        cmocka_unit_test(planted_values_and_codes_are_isolated),
        cmocka_unit_test(zero_among_thousands_is_isolated_and_zero_among_counts_is_not),
        cmocka_unit_test(a_code_may_stand_in_many_rows),
        cmocka_unit_test(values_that_may_be_right_are_not_isolated),
    };
    return cmocka_run_group_tests_name("warn_suspicious", tests, open_fixture, NULL);
}
