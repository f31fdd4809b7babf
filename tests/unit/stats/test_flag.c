/* The rule of flags: its constants agree, who counts, and how many healthy participants are
 * expected. */
#include <math.h>
#include <stdlib.h>

#include "stats/flag.h"
#include "support/test.h"

static void the_text_of_the_limit_is_the_limit(void **state)
{
    (void)state;
    assert_true(strtod(KN_FLAG_P_TEXT, NULL) == KN_FLAG_P);
    assert_string_equal(KN_FLAG_COLUMN, KN_FLAG_STATISTIC "_p");
    assert_true(kn_is_flagged(KN_FLAG_P) && !kn_is_flagged(nextafter(KN_FLAG_P, 1)));
    assert_false(kn_is_flagged(NAN));
}

static void who_is_known_or_without_a_p_has_no_flag(void **state)
{
    (void)state;
    kn_flag_counts counts[2] = {{0, 0}, {0, 0}};
    for (int k = 0; k < 16; k++) {
        const bool none = k & 1, training = k & 2, unknown = k & 4, is_case = k & 8;
        const kn_flag_row row = {none ? NAN : 0.01, is_case, training, unknown};
        kn_flag_count(&row, counts);
        assert_true(isnan(kn_flag_of(&row)) == (none || training || unknown));
    }
    for (int is_case = 0; is_case < 2; is_case++)
        assert_true(counts[is_case].n == 1 && counts[is_case].flagged == 1);
}

static void the_expected_share_is_that_of_the_ranks(void **state)
{
    (void)state;
    for (int n = 1; n < 500; n++) {
        int small = 0; /* ranks whose p is at most the limit */
        for (int rank = 1; rank <= n + 1; rank++)
            small += rank * 20 <= n + 1;
        assert_close(kn_flag_rate(n), (double)small / (n + 1), 1e-15);
    }
}

TEST_PROGRAM(stats_flag)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_of_the_limit_is_the_limit),
        cmocka_unit_test(who_is_known_or_without_a_p_has_no_flag),
        cmocka_unit_test(the_expected_share_is_that_of_the_ranks),
    };
    return cmocka_run_group_tests_name("flag", tests, NULL, NULL);
}
