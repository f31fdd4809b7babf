/* Healthy people who are new: of every p that is printed, one in twenty is below .05 or little
 * more, however small the cohort was. */
#include "support/crowds.h"

static kn_ctx *ctx;

static crowd healthy(kn_rng *rng, ptrdiff_t n, double phase)
{
    return crowd_healthy(rng, n, (crowd_patterns){60, 4, 0.35, 0.05, phase});
}

static const char *const PS[] = {"p_upper",  "deviance_p", "deviance_noise_p",
                                 "mean_z_p", "negative_p", "positive_p"};
enum { N_PS = sizeof PS / sizeof *PS };

/* Shares of p <= .05 among new people, over some cohorts of n. */
static void shares(ptrdiff_t n, int cohorts, double share[N_PS])
{
    enum { FRESH = 400 };
    for (int k = 0; k < N_PS; k++)
        share[k] = 0;
    for (int cohort = 0; cohort < cohorts; cohort++) {
        kn_rng rng;
        ref_rng_init(&rng, 1000 + (uint64_t)cohort, (uint64_t)n);
        double phase = 6.28 * kn_rng_uniform(&rng);
        crowd train = healthy(&rng, n, phase), fresh = healthy(&rng, FRESH, phase);
        kn_model *m = crowd_fit(ctx, &train, "");
        kn_scores *s = crowd_score(ctx, m, &fresh, "");
        for (int k = 0; k < N_PS; k++) {
            const double *p = kn_scores_people(s, PS[k]);
            for (ptrdiff_t i = 0; i < FRESH; i++) {
                assert_true(p[i] > 0 && p[i] <= 1); /* never 0 */
                share[k] += (p[i] <= 0.05) / (double)(FRESH * cohorts);
            }
        }
        kn_scores_free(s);
        kn_model_free(m);
        crowd_free(&train), crowd_free(&fresh);
    }
}

static void one_healthy_person_in_twenty_is_rare(void **state)
{
    (void)state;
    static const ptrdiff_t SIZES[] = {20, 40, 80};
    enum { N_SIZES = sizeof SIZES / sizeof *SIZES };
    double mean = 0;
    bool wrong = false;
    for (int k = 0; k < N_SIZES; k++) {
        double share[N_PS];
        shares(SIZES[k], 12, share);
        for (int p = 0; p < N_PS; p++) {
            wrong = wrong || share[p] > 0.10;
            mean += share[p] / (N_SIZES * N_PS);
            print_message("# N %td: %s <= .05 for %.3f\n", SIZES[k], PS[p], share[p]);
        }
    }
    print_message("# mean %.3f\n", mean);
    assert_false(wrong);
    assert_true(mean <= 0.07 && mean >= 0.02);
}

TEST_PROGRAM(norm_p_value_rates)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_healthy_person_in_twenty_is_rare),
    };
    int failed = cmocka_run_group_tests_name("healthy", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
