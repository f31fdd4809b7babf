/* Adapting at its limits: one, two, three controls, one site of training, missing responses, two
 * columns, an adapted model, its file, memory and threads [METHOD 8e]. */
#include "support/failing.h"
#include "support/scratch.h"
#include "support/sites.h"

#include "model/file/file.h"
#include "norm/sites/adapt_site.h"

static kn_ctx *ctx;

enum { T = 8, SITES = 4, EACH = 15 };

typedef struct study {
    world w;
    place known[SITES], new[3];
    visitors train;
    kn_model *m;
} study;

static study make_participants(uint64_t seed, int sites)
{
    study s = {.w = world_new(seed, T)};
    for (int k = 0; k < sites; k++)
        s.known[k] = place_new(&s.w, (char[]){(char)('A' + k), '\0'});
    for (int k = 0; k < 3; k++)
        s.new[k] = place_new(&s.w, (char[]){'n', (char)('1' + k), '\0'});
    return s;
}

static void fit(study *s, int sites, const char *options)
{
    s->train = visitors_of(&s->w, s->known, sites, EACH);
    s->m = visitors_fit(ctx, &s->train, options);
}

static void study_free(study *s)
{
    kn_model_free(s->m);
    visitors_free(&s->train);
}

static void *bytes_of(const kn_model *m, ptrdiff_t *n)
{
    void *bytes;
    assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes, n));
    return bytes;
}

static void assert_same_bytes(const kn_model *a, const kn_model *b)
{
    ptrdiff_t n, m;
    void *x = bytes_of(a, &n), *y = bytes_of(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, (size_t)n);
    kn_free(x), kn_free(y);
}

/* Whether a warning is among those that are logged: a site may also be warned of as far off. */
typedef struct sought {
    char text[128];
    int found;
} sought;

static void look_for(void *user, kn_log_level level, const char *message)
{
    sought *s = user;
    s->found += level == KN_LOG_WARNING && strcmp(message, s->text) == 0;
}

static void a_few_controls_move_the_estimate_a_little(void **state)
{
    (void)state;
    study s = make_participants(2, SITES);
    fit(&s, SITES, "folds=5");
    for (int n = 1; n <= 3; n++) {
        visitors controls = visitors_of(&s.w, s.new, 1, n), v = visitors_of(&s.w, s.new, 1, 3);
        sought warning = {.found = 0};
        snprintf(warning.text, sizeof warning.text,
                 "n1 has %d control%s; with fewer than 5, the site effect is uncertain and "
                 "z-scores are less sensitive",
                 n, n == 1 ? "" : "s");
        kn_set_log(ctx, look_for, &warning);
        kn_model *a = adapted_to(ctx, s.m, &controls);
        kn_set_log(ctx, NULL, NULL);
        assert_int_equal(warning.found, 1);
        kn_mat z = visitors_z(ctx, a, &v, "write=z");
        for (ptrdiff_t i = 0; i < v.n * T; i++)
            assert_true(isfinite(z.data[i]));
        for (int j = 0; j < T; j++) {
            double var = a->adapted.offset_var.data[j];
            assert_true(var > 0 && var <= s.m->sites.w[j] / n);
            assert_true((a->adapted.scale.data[j] == 1) == (n < 3));
        }
        free(z.data);
        kn_model_free(a);
        visitors_free(&controls), visitors_free(&v);
    }
    study_free(&s);
}

static void one_site_of_training_has_no_prior_but_can_be_adapted(void **state)
{
    (void)state;
    study s = make_participants(3, 1);
    kn_scores *scores;
    fit(&s, 1, "folds=5");
    assert_true(s.m->sites.T == T && !s.m->sites.between && s.m->sites.S1 == 5);
    visitors controls = visitors_of(&s.w, s.new, 1, 6), v = visitors_of(&s.w, s.new, 1, 3);
    assert_sentence(
        ctx, visitors_score(ctx, s.m, &v, "unseen=prior", &scores), KN_ERR_DATA,
        "covariates: 3 participants are from a site that is not in the training data (n1), "
        "and the model has only one site, so between-site variance is unknown; use "
        "'kronorm adapt' with at least 5 healthy controls from there");
    assert_sentence(
        ctx, visitors_score(ctx, s.m, &v, "seed=1", &scores), KN_ERR_DATA,
        "covariates: 3 participants are from a site that is not in the training data (n1); "
        "use 'kronorm adapt' with at least 5 healthy controls from there");
    kn_model *a = adapted_to(ctx, s.m, &controls);
    for (int j = 0; j < T; j++) {
        assert_close(s.m->sites.tau2[j], 0.42 * s.m->sites.w[j], 1e-12);
        assert_true(a->adapted.offset.data[j] != 0);
    }
    kn_mat z = visitors_z(ctx, a, &v, "write=z");
    assert_true(isfinite(z.data[0]));
    free(z.data);
    kn_model_free(a);
    visitors_free(&controls), visitors_free(&v);
    study_free(&s);
}

static void responses_that_controls_lack_are_left_to_the_prior(void **state)
{
    (void)state;
    study s = make_participants(4, SITES);
    fit(&s, SITES, "folds=5");
    visitors controls = visitors_of(&s.w, s.new, 1, 8);
    for (ptrdiff_t i = 0; i < 8; i++) {
        kn_col(controls.Y, 3)[i] = NAN;              /* no participant has it */
        kn_col(controls.Y, 5)[i] *= i < 6 ? NAN : 1; /* two have */
    }
    kn_model *a = adapted_to(ctx, s.m, &controls);
    const kn_sites *p = &s.m->sites;
    double kappa = a->adapted.site[0].kappa, error = p->w[5] / 2;
    assert_close(a->adapted.offset.data[3], p->mu[3], 1e-12);
    assert_close(a->adapted.offset_var.data[3], kappa * p->tau2[3], 1e-12);
    double b = kappa * p->tau2[5] / (kappa * p->tau2[5] + error);
    assert_close(a->adapted.offset_var.data[5], b * error, 1e-12);
    for (int j = 0; j < T; j++)
        assert_true(a->adapted.scale.data[j] > 0 && a->adapted.scale.data[j] != 1);
    assert_close(a->adapted.scale.data[3], a->adapted.scale.data[5], 1e-12);
    kn_model_free(a);
    for (ptrdiff_t i = 0; i < 8 * T; i++)
        controls.Y.data[i] = NAN;
    assert_sentence(ctx, visitors_adapt(ctx, s.m, &controls, &a), KN_ERR_DATA,
                    "responses: the controls of n1 have no finite response; check IDs and columns");
    assert_null(a);
    visitors_free(&controls);
    study_free(&s);
}

/* Some cells of training are missing: what is known of sites is nearly what all cells say. */
static void missing_responses_of_training_change_little(void **state)
{
    (void)state;
    static const char *const HOW[] = {"folds=5", "folds=5 method=stgpr"};
    for (int k = 0; k < 2; k++) {
        study s = make_participants(5, SITES);
        double apart = 0;
        fit(&s, SITES, HOW[k]);
        for (ptrdiff_t i = 0; i < s.train.n * T; i += 31)
            s.train.Y.data[i] = NAN;
        kn_model *gaps = visitors_fit(ctx, &s.train, HOW[k]);
        visitors controls = visitors_of(&s.w, s.new, 1, 6);
        kn_model *a = adapted_to(ctx, s.m, &controls), *b = adapted_to(ctx, gaps, &controls);
        for (int j = 0; j < T; j++) {
            assert_true(fabs(log(gaps->sites.w[j] / s.m->sites.w[j])) < 0.3);
            assert_true(fabs(log(gaps->sites.tau2[j] / s.m->sites.tau2[j])) < 0.7);
            apart += fabs(a->adapted.offset.data[j] - b->adapted.offset.data[j]) / T;
        }
        assert_true(apart > 0 && apart < 0.15);
        kn_model_free(a), kn_model_free(b), kn_model_free(gaps);
        visitors_free(&controls);
        study_free(&s);
    }
}

/* Of very many participants some are held out once, and they are at other places of the table. */
static void of_many_participants_the_held_out_ones_determine_site_noise(void **state)
{
    (void)state;
    enum { MANY = 1280, CONTROLS = 400 };
    study s = make_participants(12, SITES);
    double offset[T], mean = 0, error = 0;
    for (int j = 0; j < T; j++) /* two components may miss a part of it, which would be in w */
        s.w.age[j] = 0;
    s.train = visitors_of(&s.w, s.known, SITES, MANY);
    s.m = visitors_fit(ctx, &s.train, "components=2 max_evals=4");
    assert_true(s.m->reference.sample && s.m->sites.T == T && s.m->sites.S == SITES);
    assert_int_equal(s.m->reference.n, 2000);
    for (int j = 0; j < T; j++) {
        double within = 0, between = 0, sd2 = s.m->y.sd[j] * s.m->y.sd[j], load = 1;
        for (int f = 0; f < VISITOR_FACTORS; f++)
            load += s.w.load[f][j] * s.w.load[f][j];
        mean = 0;
        for (int k = 0; k < SITES; k++) {
            within += load * s.known[k].sd * s.known[k].sd / SITES;
            mean += s.known[k].offset[j] / SITES;
        }
        for (int k = 0; k < SITES; k++)
            between += pow(s.known[k].offset[j] - mean, 2) / (SITES - 1);
        offset[j] = mean;
        error += load * s.new[0].sd *s.new[0].sd / (CONTROLS * T);
        /* The relative variance is 2/2000, or 2.1/2000 with sites whose noise differs: 5.5 standard
         * errors. */
        assert_true(fabs(log(s.m->sites.w[j] * sd2 / within)) < 5.5 * sqrt(2.1 / 2000));
        assert_true(s.m->sites.tau2[j] * sd2 > 0.2 * between); /* and drawn to the others' */
    }
    visitors controls = visitors_of(&s.w, s.new, 1, CONTROLS);
    kn_model *a = adapted_to(ctx, s.m, &controls);
    double off = 0;
    for (int j = 0; j < T; j++)
        off +=
            pow(a->adapted.offset.data[j] * s.m->y.sd[j] - s.new[0].offset[j] + offset[j], 2) / T;
    /* The means of 400 controls have this error, .07 or so of .6 between sites. Responses share
     * factors, so that the bound is the one of a single response: 5 standard errors. */
    assert_true(sqrt(off) < 5 * sqrt(error));
    kn_model_free(a);
    visitors_free(&controls);
    study_free(&s);
}

static void a_site_of_two_columns_is_a_pair_of_levels(void **state)
{
    (void)state;
    study s = make_participants(6, 2);
    kn_model *a;
    s.train = visitors_of(&s.w, s.known, 2, 2 * EACH);
    s.train.scanner = calloc((size_t)s.train.n, sizeof(char *));
    for (ptrdiff_t i = 0; i < s.train.n; i++) /* A has both, B x alone */
        s.train.scanner[i] = i % 2 == 0 && i % 4 == 0 ? "y" : "x";
    s.m = visitors_fit(ctx, &s.train, "folds=5 batch=site,scanner");
    assert_int_equal(s.m->batch.S, 3);
    visitors v = visitors_of(&s.w, &s.known[1], 1, 6);
    v.scanner = calloc(6, sizeof(char *));
    for (int i = 0; i < 6; i++)
        v.scanner[i] = "y"; /* both levels are known, the pair is not */
    kn_scores *scores;
    assert_ok(ctx, visitors_score(ctx, s.m, &v, "seed=1", &scores));
    assert_true(isnan(kn_scores_participants(scores, "site_adapted")[0]));
    kn_scores_free(scores);
    a = adapted_to(ctx, s.m, &v);
    assert_string_equal(a->adapted.level[0], "B");
    assert_string_equal(a->adapted.level[1], "y");
    assert_ok(ctx, visitors_score(ctx, a, &v, "seed=1", &scores));
    assert_true(kn_scores_participants(scores, "site_adapted")[0] == 1);
    kn_scores_free(scores);
    kn_model_free(a);
    v.scanner[2] = "x";
    assert_sentence(ctx, visitors_adapt(ctx, s.m, &v, &a), KN_ERR_DATA,
                    "covariates: 1 of 6 participants are from a site that is already in the model "
                    "(B x), but only new sites can be added; exclude them with {where}");
    visitors_free(&v);
    study_free(&s);
}

static void adapting_twice_is_adapting_at_once(void **state)
{
    (void)state;
    study s = make_participants(7, SITES);
    kn_model *none;
    fit(&s, SITES, "folds=5");
    visitors one = visitors_of(&s.w, s.new, 1, 6), two = visitors_of(&s.w, &s.new[1], 1, 7);
    visitors both = visitors_new(13, T);
    for (ptrdiff_t i = 0; i < 13; i++) {
        const visitors *from = i < 6 ? &one : &two;
        ptrdiff_t at = i < 6 ? i : i - 6;
        both.age.data[i] = from->age.data[at];
        both.sex[i] = from->sex[at];
        both.site[i] = from->site[at];
        for (int j = 0; j < T; j++)
            kn_col(both.Y, j)[i] = kn_at(from->Y, at, j);
    }
    kn_model *a = adapted_to(ctx, s.m, &one), *b = adapted_to(ctx, a, &two);
    kn_model *c = adapted_to(ctx, s.m, &both);
    assert_true(b->adapted.n == 2 && b->adapted.site[1].controls == 7);
    for (ptrdiff_t j = 0; j < 2 * T; j++) { /* products of 6 and of 13 rows round apart */
        assert_close(b->adapted.offset.data[j], c->adapted.offset.data[j], 1e-12);
        assert_close(b->adapted.scale.data[j], c->adapted.scale.data[j], 1e-12);
    }
    assert_sentence(ctx, visitors_adapt(ctx, b, &both, &none), KN_ERR_DATA,
                    "covariates: 13 of 13 participants are from a site that is already in the "
                    "model (n1, n2); use 'kronorm score' for them without adapting");
    kn_model_free(a), kn_model_free(b), kn_model_free(c);
    visitors_free(&one), visitors_free(&two), visitors_free(&both);
    study_free(&s);
}

static void an_adapted_model_comes_back_from_its_file(void **state)
{
    (void)state;
    study s = make_participants(8, SITES);
    kn_model *again;
    fit(&s, SITES, "folds=5");
    visitors controls = visitors_of(&s.w, s.new, 2, 6), v = visitors_of(&s.w, s.new, 2, 4);
    kn_model *a = adapted_to(ctx, s.m, &controls);
    assert_ok(ctx, kn_model_save(ctx, a, "adapted.safetensors", false));
    assert_ok(ctx, kn_model_open(ctx, "adapted.safetensors", &again));
    assert_same_bytes(a, again);
    kn_mat z = visitors_z(ctx, a, &v, "write=z"), other = visitors_z(ctx, again, &v, "write=z");
    assert_memory_equal(z.data, other.data, (size_t)(v.n * T) * sizeof(double));
    free(z.data), free(other.data);
    kn_model_free(a), kn_model_free(again);
    visitors_free(&controls), visitors_free(&v);
    study_free(&s);
}

static void threads_make_no_difference(void **state)
{
    (void)state;
    study s = make_participants(9, SITES);
    kn_model *a[3];
    fit(&s, SITES, "folds=5");
    visitors controls = visitors_of(&s.w, s.new, 3, 6);
    for (int k = 0; k < 3; k++) {
        kn_set_threads(ctx, k + 1);
        a[k] = adapted_to(ctx, s.m, &controls);
        assert_same_bytes(a[0], a[k]);
    }
    kn_set_threads(ctx, 0);
    for (int k = 0; k < 3; k++)
        kn_model_free(a[k]);
    visitors_free(&controls);
    study_free(&s);
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    return scratch_enter(state);
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_adapt, open_fixture, close_fixture)
{
    study s = make_participants(10, SITES);
    kn_status status = KN_ERR_MEMORY;
    fit(&s, SITES, "folds=5");
    visitors controls = visitors_of(&s.w, s.new, 2, 4);
    kn_options *o = options_of(ctx, "adapt", "output=short.safetensors");
    int files = scratch_count();
    for (long k = 1; status != KN_OK; k += 1 + k / repeat(1000000, 10)) {
        kn_model *a = NULL;
        size_t before = kn_meter_now(kn_ctx_meter(ctx));
        kn_data *d = visitors_data(ctx, &controls);
        kn_fail_allocation(ctx, k);
        status = kn_adapt(ctx, s.m, d, o, &a);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !a));
        kn_model_free(a);
        kn_data_free(d);
        assert_int_equal(scratch_count(), files + (status == KN_OK ? 3 : 0));
        if (kn_meter_now(kn_ctx_meter(ctx)) != before)
            fail_msg("allocation %ld: %zu bytes are left", k,
                     kn_meter_now(kn_ctx_meter(ctx)) - before);
    }
    kn_options_free(o);
    visitors_free(&controls);
    study_free(&s);
}

TEST_PROGRAM(commands_adapt_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_controls_move_the_estimate_a_little),
        cmocka_unit_test(one_site_of_training_has_no_prior_but_can_be_adapted),
        cmocka_unit_test(responses_that_controls_lack_are_left_to_the_prior),
        cmocka_unit_test(missing_responses_of_training_change_little),
        cmocka_unit_test(of_many_participants_the_held_out_ones_determine_site_noise),
        cmocka_unit_test(a_site_of_two_columns_is_a_pair_of_levels),
        cmocka_unit_test(adapting_twice_is_adapting_at_once),
        cmocka_unit_test(an_adapted_model_comes_back_from_its_file),
        cmocka_unit_test(threads_make_no_difference),
    };
    return cmocka_run_group_tests_name("adapt_limits", tests, open_fixture, close_fixture);
}
