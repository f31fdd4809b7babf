/* Exact sums of a build with -ffast-math, which base/sum/exact_sum.c is compiled with here. */
#include "support/test.h"

#include "base/sum/exact_sum.h"

static void a_build_that_does_not_round_is_refused(void **state)
{
    (void)state;
    static const double bounds[] = {0, 1e-200, 0.7, 1, 1e10, 1e300};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
        for (int limbs = 1; limbs <= 2; limbs++) {
            kn_exact_sum s;
            assert_refused(
                ctx, kn_exact_sum_new(ctx, 3, bounds[k], limbs, &s), KN_ERR_NUMERIC,
                "this build does not round as IEEE 754 requires; build it without -ffast-math");
            assert_null(s.limb[0]);
        }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(base_sums_fast_math)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_that_does_not_round_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
