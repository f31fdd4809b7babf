/* Distributions against numbers of scipy. */
#include "support/test.h"

#include "stats/distributions.h"
#include "stats/gev.h"
#include "stats/normal.h"
#include "stats/student_t.h"

/* By scipy.stats 1.10: chi2.ppf at .025, .5, .975, and t at .975 from betaincinv(nu/2, 1/2, .05):
 * t.ppf has 1e-10. */
static void quantiles_are_those_of_scipy(void **state)
{
    static const double expected[][5] = {
        {1, 0.00098206911717525552, 0.454936423119572, 5.0238861873148881, 12.706204736174707},
        {2, 0.050635615968579753, 1.386294361119891, 7.3777589082278707, 4.3026527297494637},
        {3.7, 0.39457687534151664, 3.0588893590418631, 10.618055248352459, 2.867520707191189},
        {25.6, 13.553578519423299, 24.936508311217469, 41.413150716942155, 2.0570937309039476},
        {128, 98.5755970924709, 127.33395414332766, 161.20873457378099, 1.9786708498378349},
        {1000, 914.25715379925896, 999.33341240338098, 1089.5309127749135, 1.9623390808262446}};
    for (int k = 0; k < 6; k++) {
        const double *e = expected[k];
        assert_true(fabs(kn_quantile_chi2(0.025, e[0]) / e[1] - 1) < 1e-11);
        assert_true(fabs(kn_quantile_chi2(0.5, e[0]) / e[2] - 1) < 1e-11);
        assert_true(fabs(kn_quantile_chi2(0.975, e[0]) / e[3] - 1) < 1e-11);
        assert_true(fabs(kn_student_quantile(0.975, e[0]) / e[4] - 1) < 1e-11);
        assert_close(kn_student_quantile(0.025, e[0]), -kn_student_quantile(0.975, e[0]), 1e-12);
    }
    assert_close(kn_normal_quantile(0.975), 1.959963984540054, 1e-14);
    assert_close(kn_normal_quantile(0.001), -3.0902323061678132, 1e-13);
    assert_close(kn_normal_quantile(1e-12), -7.0344838253011313, 1e-12);
    for (double x = 0.125; x < 40; x *= 2) { /* closed forms of a = 1 and a = 1/2 */
        assert_true(fabs(kn_gamma_cdf(1, x) + expm1(-x)) < 1e-14);
        assert_true(fabs(kn_gamma_cdf(0.5, x) - erf(sqrt(x))) < 1e-14);
    }
    assert_true(kn_gamma_cdf(2, 0) == 0 && isnan(kn_gamma_cdf(0, 1)) && isnan(kn_gamma_cdf(1, -1)));
    assert_true(isnan(kn_quantile_chi2(0.5, 0)) && isnan(kn_student_quantile(2, 3)));
    (void)state;
}

/* The last by quadrature of the density: there scipy has 4e-11. */
static void students_tails_are_scipys(void **state)
{
    (void)state;
    static const double CASE[][3] = {
        {0.5, 3.2, 0.6494501780131947},      {2.1, 17.7, 0.05034069445738841},
        {-6.5, 41.3, 8.151614803586635e-08}, {0.001, 8, 0.9992266021030893},
        {25, 5, 1.9106777843954255e-06},     {3, 1e4, 0.0027064481899976636},
        {40, 60, 5.755480486627368e-45},     {3, 1e5, 0.0027004608840647216},
    };
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++)
        assert_close(2 * kn_student_upper(fabs(CASE[k][0]), CASE[k][1]) / CASE[k][2], 1, 1e-11);
    assert_close(2 * kn_student_upper(0, 5), 1, 0);
    assert_true(isnan(kn_student_upper(NAN, 5)));
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
    for (int k = 0; k < 3; k++) {
        kn_gev gev = {GEV[k][0], GEV[k][1], GEV[k][2]};
        assert_close(kn_gev_quantile_upper(gev, GEV[k][3]), GEV[k][4], 1e-12);
    }
    for (int k = 0; k < 5; k++) {
        kn_binomial_range((ptrdiff_t)RANGE[k][0], RANGE[k][1], &low, &high);
        assert_close(low, RANGE[k][2], 0);
        assert_close(high, RANGE[k][3], 0);
    }
    kn_binomial_range(0, .05, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

TEST_PROGRAM(stats_distributions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_scipy),
        cmocka_unit_test(students_tails_are_scipys),
        cmocka_unit_test(extreme_values_and_binomials_are_scipys),
    };
    return cmocka_run_group_tests_name("distributions", tests, NULL, NULL);
}
