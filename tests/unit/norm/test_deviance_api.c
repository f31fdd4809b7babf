/* Deviances that are the model's own distribution, by the public calls: the same from a file, by
 * one thread or two, for training participants those of their folds, at a site of its own by what
 * is known of it; failing allocations; how rare healthy participants are who were not in training.
 */
#include "support/crowds.h"
#include "support/sites.h"

#include "commands/common/maps_api.h"
#include "gp/predict/map_density.h"
#include "model/file/file.h"
#include "model/model.h"
#include "norm/deviance/deviance.h"

static kn_ctx *ctx;

static const char *const METHODS[] = {
    "noise=whitened",
    "method=kronsum",
    "method=mtgpr",
    "method=mtgpr noise_rank=2 ppca=yes",
};
enum { N_METHODS = sizeof METHODS / sizeof *METHODS };

static crowd healthy(kn_rng *rng, ptrdiff_t n, ptrdiff_t T, double phase)
{
    return crowd_healthy(rng, n, (crowd_patterns){T, 3, 0.5, 0.3, phase});
}

static const char *const COLUMNS[] = {"deviance", "deviance_noise", "deviance_p",
                                      "deviance_noise_p"};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

static void assert_same_scores(const kn_scores *a, const kn_scores *b, ptrdiff_t n)
{
    for (int k = 0; k < N_COLUMNS; k++)
        assert_memory_equal(kn_scores_participants(a, COLUMNS[k]),
                            kn_scores_participants(b, COLUMNS[k]), (size_t)n * sizeof(double));
    assert_true(kn_scores_number(a, "metrics.joint_density") ==
                kn_scores_number(b, "metrics.joint_density"));
}

/* A participant lacks a third of the responses, another three quarters. */
static void lose_some(crowd *c)
{
    for (ptrdiff_t j = 0; j < c->Y.cols; j++) {
        kn_col(c->Y, j)[1] = j % 3 == 0 ? NAN : kn_at(c->Y, 1, j);
        kn_col(c->Y, j)[2] = j % 4 == 0 ? kn_at(c->Y, 2, j) : NAN;
    }
}

static void a_file_and_threads_change_nothing(void **state)
{
    (void)state;
    enum { N = 50, FRESH = 40, T = 11 };
    for (int k = 0; k < N_METHODS; k++) {
        kn_rng rng;
        ref_rng_init(&rng, 5, (uint64_t)k);
        crowd train = healthy(&rng, N, T, 1), fresh = healthy(&rng, FRESH, T, 1);
        char text[128];
        kn_model *back;
        void *bytes;
        ptrdiff_t n;
        lose_some(&fresh);
        snprintf(text, sizeof text, "%s folds=4", METHODS[k]);
        kn_set_threads(ctx, 2);
        kn_model *m = crowd_fit(ctx, &train, text);
        assert_true(m->reference.own_deviance);
        assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes, &n));
        assert_ok(ctx, kn_model_parse(ctx, "own", bytes, n, &back));
        kn_scores *a = crowd_score(ctx, m, &fresh, ""), *b = crowd_score(ctx, back, &fresh, "");
        kn_set_threads(ctx, 1);
        kn_scores *single = crowd_score(ctx, back, &fresh, "");
        assert_same_scores(a, b, FRESH);
        assert_same_scores(a, single, FRESH);
        const double *dev = kn_scores_participants(a, "deviance"),
                     *p = kn_scores_participants(a, "deviance_p");
        assert_true(isfinite(dev[1]) && isnan(dev[2]) && isnan(p[2])); /* half must be there */
        assert_close(p[0], kn_deviance_p(&m->reference.deviance, dev[0]), 1e-12);
        kn_scores_free(a), kn_scores_free(b), kn_scores_free(single);
        kn_free(bytes);
        kn_model_free(m), kn_model_free(back);
        crowd_free(&train), crowd_free(&fresh);
    }
}

/* Participants who have ids: without them no participant is recognised. */
static kn_data *named(const crowd *c)
{
    kn_data *d = crowd_data(ctx, c);
    char text[64][24];
    const char *ids[64];
    for (ptrdiff_t i = 0; i < c->n; i++) {
        snprintf(text[i], sizeof text[i], "s%td", i);
        ids[i] = text[i];
    }
    assert_ok(ctx, kn_data_ids(ctx, d, ids));
    return d;
}

static kn_scores *score_named(const kn_model *m, const crowd *c, const char *text)
{
    kn_data *d = named(c);
    kn_options *o = options_of(ctx, "score", text);
    kn_scores *s;
    assert_ok(ctx, kn_score(ctx, m, d, o, &s));
    kn_options_free(o);
    kn_data_free(d);
    return s;
}

static void training_participants_have_the_deviances_of_their_folds(void **state)
{
    (void)state;
    enum { N = 50, T = 11 };
    for (int k = 0; k < N_METHODS; k++)
        for (int holes = 0; holes < 2; holes++) {
            kn_rng rng;
            ref_rng_init(&rng, 6, (uint64_t)k);
            crowd train = healthy(&rng, N, T, 1);
            char text[128];
            for (ptrdiff_t i = 0; holes && i < N; i += 4)
                kn_col(train.Y, i % T)[i] = NAN;
            snprintf(text, sizeof text, "%s folds=4", METHODS[k]);
            kn_data *d = named(&train);
            kn_options *o = options_of(ctx, "fit", text);
            kn_model *m;
            assert_ok(ctx, kn_fit(ctx, d, o, &m));
            const kn_reference *r = &m->reference;
            kn_scores *s = score_named(m, &train, "");
            kn_scores *anew = score_named(m, &train, "training_rows=plain");
            const double *dev = kn_scores_participants(s, "deviance");
            const double *noise = kn_scores_participants(s, "deviance_noise");
            double folds = 0, plain = 0;
            for (ptrdiff_t i = 0; i < N; i++) {
                assert_true(dev[i] == r->deviance.ref[i]);
                assert_true(noise[i] == r->deviance_noise.ref[i]);
                folds += dev[i];
                plain += kn_scores_participants(anew, "deviance")[i];
            }
            assert_true(plain < folds); /* who helped to learn the covariance fits it better */
            kn_scores_free(s), kn_scores_free(anew);
            kn_model_free(m);
            kn_options_free(o);
            kn_data_free(d);
            crowd_free(&train);
        }
}

/* ---- sites ---- */

/* What METHOD 8j says of an adapted site, or of any that training did not have. */
static kn_map_density_shift place_of(const void *self, ptrdiff_t i, ptrdiff_t j)
{
    const kn_model *m = self;
    bool adapted = m->adapted.offset.data != NULL;
    double offset = adapted ? kn_at(m->adapted.offset, j, 0) : m->sites.mu[j];
    double var = adapted ? kn_at(m->adapted.offset_var, j, 0) : m->sites.tau2[j];
    double scale = adapted ? kn_at(m->adapted.scale, j, 0) : 1;
    (void)i;
    return (kn_map_density_shift){offset, sqrt(scale + var / m->gp.noise[j])};
}

static void assert_density_at_site(const kn_model *m, const visitors *v, const char *options)
{
    bool without_site[64];
    kn_mat raw = ref_new(v->n, 3);
    kn_maps *maps;
    kn_scores *s;
    double joint = 0;
    memset(without_site, 1, sizeof without_site);
    for (ptrdiff_t i = 0; i < v->n; i++) {
        raw.data[i] = v->age.data[i];
        kn_col(raw, 1)[i] = v->sex[i][0] == 'm';
        kn_col(raw, 2)[i] = (double)m->encoding.column[2].levels.n;
    }
    assert_ok(ctx,
              kn_maps_predict_known(ctx, m, kn_view_cols(raw.data, v->n, 3),
                                    (kn_predict_context){.without_site = without_site}, &maps));
    kn_responses Y = kn_responses_of(kn_view_cols(v->Y.data, v->n, v->Y.cols), &m->y);
    kn_map_density_state w = {.job = {&maps->maps, &m->y, place_of, m, 0}};
    kn_visitor visitor = kn_map_density_visitor(&w);
    assert_ok(ctx,
              kn_block_loop_run(ctx, &(kn_block_loop){.Y = Y, .maps = &maps->maps}, &visitor, 1));
    assert_ok(ctx, visitors_score(ctx, m, v, options, &s));
    for (ptrdiff_t i = 0; i < v->n; i++) {
        assert_close(kn_scores_participants(s, "deviance")[i], w.dev[i], 1e-10);
        assert_close(kn_scores_participants(s, "deviance_noise")[i], w.dev_noise[i], 1e-10);
        joint += (w.log_p[i] - w.log_null[i]) / (double)v->n;
    }
    assert_close(kn_scores_number(s, "metrics.joint_density"), joint, 1e-10);
    kn_scores_free(s);
    kn_map_density_state_clear(&w);
    kn_maps_free(maps);
    free(raw.data);
}

static void a_new_site_moves_the_density(void **state)
{
    (void)state;
    for (int k = 0; k < N_METHODS; k++) {
        world w = world_new(40 + (uint64_t)k, 12);
        place known[4], new = place_new(&w, "new");
        char text[128];
        for (int q = 0; q < 4; q++)
            known[q] = place_new(&w, (char[]){(char)('A' + q), '\0'});
        visitors train = visitors_of(&w, known, 4, 16), controls = visitors_of(&w, &new, 1, 6);
        visitors v = visitors_of(&w, &new, 1, 8);
        snprintf(text, sizeof text, "%s folds=4", METHODS[k]);
        kn_model *m = visitors_fit(ctx, &train, text), *a = adapted_to(ctx, m, &controls);
        assert_true(m->sites.tau2[0] > 0 && m->reference.own_deviance);
        assert_density_at_site(m, &v, "unseen=prior");
        assert_density_at_site(a, &v, "");
        kn_model_free(m), kn_model_free(a);
        visitors_free(&train), visitors_free(&controls), visitors_free(&v);
    }
}

/* ---- joint density ---- */

/* Training participants, who have stored numbers, are not in it. */
static void joint_density_is_that_of_new_participants(void **state)
{
    (void)state;
    enum { N = 40, FRESH = 12, T = 9 };
    for (int k = 0; k < N_METHODS; k++) {
        kn_rng rng;
        ref_rng_init(&rng, 8, (uint64_t)k);
        crowd all = healthy(&rng, N + FRESH, T, 1), train = healthy(&rng, N, T, 1);
        crowd fresh = crowd_new(&rng, FRESH, T);
        char text[128];
        for (ptrdiff_t i = 0; i < N + FRESH; i++) {
            crowd *to = i < N ? &train : &fresh;
            ptrdiff_t at = i < N ? i : i - N;
            to->age.data[at] = all.age.data[i];
            to->sex[at] = all.sex[i];
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(to->Y, j)[at] = kn_at(all.Y, i, j);
        }
        snprintf(text, sizeof text, "%s folds=4", METHODS[k]);
        kn_data *d = named(&train);
        kn_options *o = options_of(ctx, "fit", text);
        kn_model *m;
        assert_ok(ctx, kn_fit(ctx, d, o, &m));
        kn_scores *s = score_named(m, &all, ""), *single = crowd_score(ctx, m, &fresh, "");
        kn_scores *seen = score_named(m, &train, "");
        assert_close(kn_scores_number(s, "metrics.joint_density"),
                     kn_scores_number(single, "metrics.joint_density"), 1e-12);
        assert_true(isnan(kn_scores_number(seen, "metrics.joint_density")));
        kn_scores_free(s), kn_scores_free(single), kn_scores_free(seen);
        kn_model_free(m);
        kn_options_free(o);
        kn_data_free(d);
        crowd_free(&all), crowd_free(&train), crowd_free(&fresh);
    }
}

static kn_status score_of(const kn_model *m, const crowd *c)
{
    kn_options *o = options_of(ctx, "score", "");
    kn_status status;
    size_t before = kn_memory_now(ctx);
    long k = 0;
    do {
        kn_data *d = crowd_data(ctx, c);
        kn_scores *s;
        kn_fail_allocation(ctx, ++k);
        status = kn_score(ctx, m, d, o, &s);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || !s);
        kn_scores_free(s);
        kn_data_free(d);
        assert_true(kn_memory_now(ctx) == before);
    } while (status == KN_ERR_MEMORY && k < 20000);
    assert_true(k > 50);
    kn_options_free(o);
    return status;
}

static void scoring_leaks_nothing_where_an_allocation_fails(void **state)
{
    (void)state;
    for (int k = 0; k < N_METHODS; k++) {
        kn_rng rng;
        ref_rng_init(&rng, 7, (uint64_t)k);
        crowd train = healthy(&rng, 30, 7, 1), fresh = healthy(&rng, 8, 7, 1);
        char text[128];
        lose_some(&fresh);
        snprintf(text, sizeof text, "%s folds=3 max_evals=3", METHODS[k]);
        kn_model *m = crowd_fit(ctx, &train, text);
        assert_ok(ctx, score_of(m, &fresh));
        kn_model_free(m);
        crowd_free(&train), crowd_free(&fresh);
    }
}

/* Adds one cohort to the distribution of a count: law[k] for 0 <= k <= most becomes that of the sum
 * with an independent beta-binomial count of n with parameters a and b. */
static void add_beta_binomial(double *distribution, int limit, int n, double a, double b)
{
    double *sum = calloc((size_t)limit + 1, sizeof *sum);
    for (int k = 0; k <= n; k++) {
        double p =
            exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + lgamma(k + a) +
                lgamma(n - k + b) - lgamma(n + a + b) - lgamma(a) - lgamma(b) + lgamma(a + b));
        for (int l = 0; l + k <= limit; l++)
            sum[l + k] += p * distribution[l];
    }
    memcpy(distribution, sum, ((size_t)limit + 1) * sizeof *distribution);
    free(sum);
}

/* The count that a sum over cohorts of n falls short of (upper: exceeds) with probability 1e-6. */
static int count_limit(int cohorts, int n, double a, double b, bool upper)
{
    int limit = cohorts * n, k;
    double *distribution = calloc((size_t)limit + 1, sizeof *distribution), tail = 0;
    distribution[0] = 1;
    for (int c = 0; c < cohorts; c++)
        add_beta_binomial(distribution, limit, n, a, b);
    for (k = upper ? limit : 0; k >= 0 && k <= limit; k += upper ? -1 : 1)
        if ((tail += distribution[k]) > 1e-6)
            break;
    free(distribution);
    return k;
}

/* p is a rank among N reference deviances: that of a new participant is at most .05 where it
 * exceeds the fifth largest of 100, and the share of the population above that is Beta(5, N - 4)
 * distributed over cohorts. The number among FRESH participants is beta-binomial. Folds know a
 * little less than the model does, which makes reference deviances larger and p <= .05 less
 * frequent: the lower limit is that of the third largest. */
static void one_healthy_participant_in_twenty_is_rare(void **state)
{
    (void)state;
    enum { N = 100, T = 16, FRESH = 300 };
    const int cohorts = repeat(8, 3), limit = count_limit(cohorts, FRESH, 5, N - 4, true),
              lowest = count_limit(cohorts, FRESH, 3, N - 2, false);
    for (int k = 0; k < N_METHODS; k++) {
        int rare = 0, by_noise = 0;
        for (int cohort = 0; cohort < cohorts; cohort++) {
            kn_rng rng;
            ref_rng_init(&rng, 1000 + (uint64_t)cohort, N);
            double phase = 6.28 * kn_rng_uniform(&rng);
            crowd train = healthy(&rng, N, T, phase), fresh = healthy(&rng, FRESH, T, phase);
            char text[128];
            snprintf(text, sizeof text, "%s folds=5", METHODS[k]);
            kn_model *m = crowd_fit(ctx, &train, text);
            kn_scores *s = crowd_score(ctx, m, &fresh, "");
            for (ptrdiff_t i = 0; i < FRESH; i++) {
                rare += kn_scores_participants(s, "deviance_p")[i] <= 0.05;
                by_noise += kn_scores_participants(s, "deviance_noise_p")[i] <= 0.05;
            }
            kn_scores_free(s);
            kn_model_free(m);
            crowd_free(&train), crowd_free(&fresh);
        }
        if (rare < lowest || rare > limit || by_noise < lowest || by_noise > limit)
            fail_msg("%s: deviance_p <= .05 for %d, by noise %d, of %d; %d to %d expected",
                     METHODS[k], rare, by_noise, FRESH * cohorts, lowest, limit);
    }
}

TEST_PROGRAM(norm_deviance_api)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_and_threads_change_nothing),
        cmocka_unit_test(training_participants_have_the_deviances_of_their_folds),
        cmocka_unit_test(a_new_site_moves_the_density),
        cmocka_unit_test(joint_density_is_that_of_new_participants),
        cmocka_unit_test(scoring_leaks_nothing_where_an_allocation_fails),
        cmocka_unit_test(one_healthy_participant_in_twenty_is_rare),
    };
    int failed = cmocka_run_group_tests_name("deviance_own", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
