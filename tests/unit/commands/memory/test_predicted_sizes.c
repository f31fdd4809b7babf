/* The need of a fit as its sizes change. */
#include "support/needs.h"

#include "commands/common/check_arguments.h"

#include "gp/method.h"

static void z_beyond_a_gigabyte_are_not_kept(void **state)
{
    (void)state;
    kn_problem_size s = PLAIN;
    kn_need need;
    s.T = 500000; /* 1.2 GB of z */
    kn_need_predict(&s, &need);
    assert_true(need.reference < 4.0 * 600 * 500000 + 2.5 * 8 * 500000 * 128);
}

static void more_of_anything_never_needs_less(void **state)
{
    (void)state;
    for (int method = 0; method < kn_method_count(); method++)
        for (int folds = 0; folds <= 10; folds += 10) {
            kn_problem_size s = PLAIN;
            s.method = kn_method_at(method);
            s.iso = s.method->identity;
            s.folds = folds;
            s.T = 1000;
            double before = total(s);
            s.T = 2000;
            assert_true(total(s) > before);
            before = total(s);
            s.N = s.M = 1200;
            assert_true(total(s) > before);
            before = total(s);
            s.threads = 8;
            assert_true(total(s) > before);
        }
}

static void a_low_rank_with_a_range_finder_has_no_square_of_samples(void **state)
{
    (void)state;
    kn_problem_size s = PLAIN, twice;
    s.N = 50000;
    s.M = s.range = 100;
    s.T = 10;
    s.folds = 0;
    twice = s;
    twice.N = 100000;
    assert_true(total(twice) < 2.01 * total(s));
    s.M = s.N;
    assert_true(total(s) > 5 * 8.0 * 50000 * 50000); /* pairs twice, U, H, and dsyevr's */
}

static void auto_allows_for_the_top_of_its_ladder(void **state)
{
    (void)state;
    kn_problem_size s = PLAIN, top = PLAIN;
    s.P = 0;
    top.P = 280; /* the last below 600/2 */
    assert_true(total(s) >= total(top));
}

static void
sixty_thousand_participants_with_few_responses_need_less_than_four_gigabytes(void **state)
{
    (void)state;
    kn_problem_size s = PLAIN;
    s.N = 60000;
    s.T = 150;
    s.F = 16;
    s.P = 0;
    s.M = kn_auto_rank(s.N, true, 0);
    assert_true(total(s) < 4e9);
    assert_int_equal(kn_auto_rank(4000, true, 0), 1000);
    assert_int_equal(kn_auto_rank(3000, false, 0), 1000);
    assert_int_equal(kn_auto_rank(1000000, true, 0), 300);
    assert_int_equal(kn_auto_rank(1000000, true, 2001), 2301); /* a site with 2000 levels fits */
    assert_int_equal(kn_auto_rank(4000, true, 501), 1000);
}

TEST_PROGRAM(memory_predicted_sizes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(z_beyond_a_gigabyte_are_not_kept),
        cmocka_unit_test(more_of_anything_never_needs_less),
        cmocka_unit_test(a_low_rank_with_a_range_finder_has_no_square_of_samples),
        cmocka_unit_test(auto_allows_for_the_top_of_its_ladder),
        cmocka_unit_test(
            sixty_thousand_participants_with_few_responses_need_less_than_four_gigabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
