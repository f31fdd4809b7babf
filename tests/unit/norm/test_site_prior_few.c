/* Three or four controls of a new site: what their variances may say of its noise. */
#include "support/test.h"

#include "base/random.h"
#include "norm/sites/adapt_site.h"
#include "ref/ref.h"

enum { T = 60, SITES = 20 };

static kn_ctx *ctx;
static kn_rng rng;

/* Normal residuals of variance 1, responses independent, sites much alike. */
static kn_sites usual_sites(void)
{
    kn_sites p;
    assert_ok(ctx, kn_sites_new(ctx, T, &p));
    p.S = SITES, p.S1 = SITES - 1, p.between = true;
    p.kurt = 2, p.T_eff_offset = p.T_eff_scale = T;
    p.v_a = 0.05, p.v_b = 0.015;
    for (ptrdiff_t j = 0; j < T; j++) {
        p.mu[j] = 0;
        p.tau2[j] = 0.3;
        p.w[j] = p.w_scale[j] = 1;
    }
    return p;
}

static kn_site_adapted adapted_to(const kn_sites *p, kn_mat r, ptrdiff_t n)
{
    kn_site_adapted a;
    assert_ok(ctx, kn_site_adapted_new(ctx, T, &a));
    for (ptrdiff_t j = 0; j < T; j++)
        kn_site_adapted_add(&a, j, (kn_site_controls){n, NULL}, kn_col(r, j), kn_col(r, j));
    kn_site_adapted_finish(p, &a);
    return a;
}

/* Of sixty responses one or the other has three controls that are all but equal.
 *
 * ln V of n = 3 normal values has mean -.58 and variance 1.64, so that L has mean -.08, and L_7 is
 * about -13: a = -.08 - 13/60 = -.30 with a standard error of sqrt(1.64/60) = .17. With k_a = .75
 * and k_b = .015, ln scale_j is -.21 +- .12, with -.2 more for response 7; n = 4 is closer to 0. */
static void a_response_is_not_quiet_because_three_controls_agree(void **state)
{
    (void)state;
    kn_sites p = usual_sites();
    double loss[5] = {0}; /* of new participants, beyond that of the true variance */
    for (int s = 0; s < SITES; s++) {
        kn_mat r = ref_normal(&rng, 4, T);
        for (ptrdiff_t i = 1; i < 4; i++)
            kn_col(r, 7)[i] = kn_at(r, 0, 7) + 1e-3 * (double)i;
        for (ptrdiff_t n = 3; n <= 4; n++) {
            kn_site_adapted a = adapted_to(&p, r, n);
            double others = 0; /* mean ln scale */
            for (ptrdiff_t j = 0; j < T; j++) {
                assert_true(a.scale[j] > 0.3 && a.scale[j] < 2); /* 6 standard errors */
                loss[n] += 0.5 * (log(a.scale[j]) + 1 / a.scale[j] - 1) / (T * SITES);
                others += j == 7 ? 0 : log(a.scale[j]) / (T - 1);
            }
            /* k_b (L_7 - a) is -.19 with 3 controls and -.29 with 4, nearly the same in any site.
             */
            assert_true(log(a.scale[7]) > others - 0.35);
            kn_site_adapted_clear(&a);
        }
        free(r.data);
    }
    /* About .25 (.21^2 + .12^2) = .015; the mean of 20 sites has a standard error of .0035. */
    assert_true(loss[3] < 0.05 && loss[4] < 0.05);
    kn_sites_clear(&p);
}

/* Every other response has 16 times the noise. */
static void five_controls_reveal_the_noisy_responses(void **state)
{
    (void)state;
    kn_sites p = usual_sites();
    double ratio[10] = {0};
    for (int s = 0; s < SITES; s++) {
        kn_mat r = ref_normal(&rng, 5, T);
        for (ptrdiff_t j = 0; j < T; j += 2)
            for (ptrdiff_t i = 0; i < 5; i++)
                kn_col(r, j)[i] *= 4;
        for (ptrdiff_t n = 4; n <= 5; n++) {
            kn_site_adapted a = adapted_to(&p, r, n);
            for (ptrdiff_t j = 0; j < T; j++)
                ratio[n] += (j % 2 ? -1 : 1) * log(a.scale[j]) / (T / 2 * SITES);
            kn_site_adapted_clear(&a);
        }
        free(r.data);
    }
    assert_true(ratio[5] > log(4) && ratio[4] > 0 && ratio[4] < log(2));
    kn_sites_clear(&p);
}

/* Half of the responses with three controls: the others say how much responses differ. */
static void responses_of_few_controls_leave_the_spread_to_the_others(void **state)
{
    (void)state;
    kn_sites p = usual_sites();
    kn_mat r = ref_normal(&rng, 12, T);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < 12; i++)
            kn_col(r, j)[i] = j % 2 && i >= 3 ? NAN : kn_at(r, i, j) * (j % 4 == 0 ? 4 : 1);
    kn_site_adapted a = adapted_to(&p, r, 12);
    double limit = 0, lowest = INFINITY;
    for (ptrdiff_t j = 1; j < T; j += 2) { /* v is large: what their own three say counts */
        assert_true(a.n[j] == 3 && a.n[j - 1] == 12);
        limit = fmax(limit, a.scale[j]);
        lowest = fmin(lowest, a.scale[j]);
    }
    assert_true(limit > 2 * lowest);
    kn_site_adapted_clear(&a);
    kn_sites_clear(&p);
    free(r.data);
}

TEST_PROGRAM(norm_site_prior_few)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 29, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_is_not_quiet_because_three_controls_agree),
        cmocka_unit_test(five_controls_reveal_the_noisy_responses),
        cmocka_unit_test(responses_of_few_controls_leave_the_spread_to_the_others),
    };
    int failed = cmocka_run_group_tests_name("sites_few", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
