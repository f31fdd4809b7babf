/* Healthy participants who are new: of every p that is printed, one in twenty is below .05 or
 * little more, however small the cohort was. */
#include "support/crowds.h"

static kn_ctx *ctx;

static crowd healthy(kn_rng *rng, ptrdiff_t n, double phase)
{
    return crowd_healthy(rng, n, (crowd_patterns){60, 4, 0.35, 0.05, phase});
}

static const char *const PS[] = {"extreme_z_p", "deviance_p", "deviance_noise_p",
                                 "mean_z_p",    "n_low_p",    "n_high_p"};
enum { N_PS = sizeof PS / sizeof *PS };

/* Shares of p <= .05 among new participants, over some cohorts of n. */
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
            const double *p = kn_scores_participants(s, PS[k]);
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

static void one_healthy_participant_in_twenty_is_rare(void **state)
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

/* The participants with `present` of their responses, missing at random or as a block. */
static crowd incomplete(kn_rng *rng, const crowd *c, ptrdiff_t present, bool block)
{
    crowd some = {c->n, ref_new(c->n, 1), calloc((size_t)c->n, sizeof *c->sex),
                  ref_new(c->n, c->Y.cols)};
    ptrdiff_t T = c->Y.cols, *order = calloc((size_t)T, sizeof *order);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        some.age.data[i] = c->age.data[i];
        some.sex[i] = c->sex[i];
        ptrdiff_t first = kn_rng_below(rng, T);
        kn_rng_permutation(rng, T, order);
        for (ptrdiff_t k = 0; k < T; k++) {
            ptrdiff_t j = block ? (first + k) % T : order[k];
            kn_col(some.Y, j)[i] = k < present ? kn_at(c->Y, i, j) : NAN;
        }
    }
    free(order);
    return some;
}

static void add_shares(const kn_model *m, const crowd *fresh, double weight, double share[N_PS])
{
    kn_scores *s = crowd_score(ctx, m, fresh, "");
    for (int k = 0; k < N_PS; k++) {
        const double *p = kn_scores_participants(s, PS[k]);
        for (ptrdiff_t i = 0; i < fresh->n; i++) {
            assert_true(p[i] > 0 && p[i] <= 1);
            share[k] += weight * (p[i] <= 0.05);
        }
    }
    kn_scores_free(s);
}

/* Those of complete participants and of the same ones with missing responses. The share of one
 * reference of N varies by (.05 .95/N)^1/2 and that of the participants by as much over their
 * number; if the two were independent, their difference over the cohorts would have
 *
 *     se = (2 .05 .95 (1/N + 1/FRESH)/COHORTS)^1/2 = .0100
 *
 * of which the bound is four (there are 36 differences). Compared with the reference over all
 * responses, mean_z_p of half of them is .11 off, and the counts are never rare. */
static void missing_responses_are_no_finding(void **state)
{
    (void)state;
    enum { N = 100, FRESH = 200, COHORTS = 14, T = 60, CONDITIONS = 6 };
    static const ptrdiff_t PRESENT[] = {54, 45, 30}; /* 90, 75 and exactly 50 % */
    double all[N_PS] = {0}, some[CONDITIONS][N_PS] = {{0}};
    double weight = 1.0 / (FRESH * COHORTS);
    double se = sqrt(2 * 0.05 * 0.95 * (1.0 / N + 1.0 / FRESH) / COHORTS);
    for (int cohort = 0; cohort < COHORTS; cohort++) {
        kn_rng rng;
        ref_rng_init(&rng, 2000 + (uint64_t)cohort, N);
        double phase = 6.28 * kn_rng_uniform(&rng);
        crowd train = healthy(&rng, N, phase), fresh = healthy(&rng, FRESH, phase);
        kn_model *m = crowd_fit(ctx, &train, "");
        add_shares(m, &fresh, weight, all);
        for (int c = 0; c < CONDITIONS; c++) {
            crowd less = incomplete(&rng, &fresh, PRESENT[c / 2], c % 2);
            add_shares(m, &less, weight, some[c]);
            crowd_free(&less);
        }
        kn_model_free(m);
        crowd_free(&train), crowd_free(&fresh);
    }
    for (int c = 0; c < CONDITIONS; c++)
        for (int k = 0; k < N_PS; k++) {
            print_message("# %td of %d: %s <= .05 for %.3f, complete %.3f\n", PRESENT[c / 2], T,
                          PS[k], some[c][k], all[k]);
            assert_close(some[c][k], all[k], 4 * se);
            assert_true(some[c][k] > 0);
        }
}

TEST_PROGRAM(norm_p_value_rates)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_healthy_participant_in_twenty_is_rare),
        cmocka_unit_test(missing_responses_are_no_finding),
    };
    int failed = cmocka_run_group_tests_name("healthy", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
