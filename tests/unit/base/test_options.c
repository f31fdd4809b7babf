/* The table of options: what is set comes back, what is wrong is a sentence, and nothing is said
 * twice. */
#include "support/calls.h"
#include "support/failing.h"

#include "base/options/options.h"
#include "base/suggest.h"

static kn_ctx *ctx;

static const char *const COMMANDS[] = {"fit", "predict", "score", "simulate", "reproduce", "info"};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void every_default_is_what_its_row_takes(void **state)
{
    (void)state;
    kn_settings s, again;
    kn_settings_init(&s);
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const kn_option_row *r = &kn_option_rows[i];
        kn_settings_init(&again);
        if (r->text && !kn_option_parse(r, r->text, &again))
            fail_msg("%s does not take its default '%s'", r->key, r->text);
        if (!r->in_range(&s))
            fail_msg("the default of %s is out of range", r->key);
    }
    assert_ok(ctx, kn_settings_check_ranges(ctx, &s));
}

static void a_key_and_a_letter_mean_one_thing_in_a_command(void **state)
{
    (void)state;
    kn_option_info a = {.size = sizeof a}, b = {.size = sizeof b};
    for (int c = 0; c < N_COMMANDS; c++) {
        int n = kn_options_count(COMMANDS[c]);
        assert_true(n >= 1);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) {
                assert_ok(ctx, kn_option_at(ctx, COMMANDS[c], i, &a));
                assert_ok(ctx, kn_option_at(ctx, COMMANDS[c], j, &b));
                if (strcmp(a.key, b.key) == 0 || (a.letter && a.letter == b.letter))
                    fail_msg("%s: %s and %s", COMMANDS[c], a.key, b.key);
            }
    }
    assert_int_equal(kn_options_count("knit"), 0);
    assert_refused(ctx, kn_option_at(ctx, "fit", 1000, &a), KN_ERR_ARGUMENT, "option 1000");
}

static void an_older_caller_gets_the_fields_of_its_struct(void **state)
{
    (void)state;
    kn_option_info whole = {.size = sizeof whole};
    unsigned char bytes[sizeof whole];
    assert_ok(ctx, kn_option_at(ctx, "fit", 11, &whole));
    for (size_t size = sizeof(size_t); size <= sizeof whole; size++) {
        memset(bytes, 0xA5, sizeof bytes);
        memcpy(bytes, &size, sizeof size);
        assert_ok(ctx, kn_option_at(ctx, "fit", 11, (kn_option_info *)(void *)bytes));
        assert_memory_equal(bytes, &size, sizeof size);
        assert_memory_equal(bytes + sizeof size, (char *)&whole + sizeof size, size - sizeof size);
        for (size_t i = size; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], 0xA5);
    }
    /* a newer one has room for more than there is, and keeps it */
    struct {
        kn_option_info info;
        char more[32];
    } newer;
    memset(&newer, 0x5A, sizeof newer);
    newer.info.size = sizeof newer;
    assert_ok(ctx, kn_option_at(ctx, "fit", 11, &newer.info));
    assert_string_equal(newer.info.key, whole.key);
    assert_int_equal(newer.info.size, sizeof newer);
    assert_int_equal(newer.more[0], 0x5A);
    whole.size = 0;
    assert_refused(ctx, kn_option_at(ctx, "fit", 11, &whole), KN_ERR_ARGUMENT, "info has no size");
}

static void a_wrong_value_is_a_sentence_that_marks_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *command, *key, *value, *sentence;
    } c[] = {
        {"fit", "noise", "white", "{noise} is 'white', but must be structured|iso"},
        {"fit", "method", "magic", "{method} is 'magic', but must be smtgpr|stgpr|kronprod"},
        {"fit", "folds", "ten", "{folds} is 'ten', but must be a whole number"},
        {"fit", "folds", "3000000000", "{folds} is '3000000000', but must be a whole number"},
        {"fit", "seed", "-1", "{seed} is '-1', but must be a whole number"},
        {"fit", "top", "5%", "{top} is '5%', but must be a number"},
        {"fit", "memory", "8 apples", "{memory} is '8 apples', but must be a size such as 8G"},
        {"fit", "components", "0", "{components} is '0', but must be a number from 1 or auto"},
        {"fit", "components", "many",
         "{components} is 'many', but must be a number from 1 or auto"},
        {"fit", "rank", "-1", "{rank} is '-1', but must be auto, full or a number from 1"},
        {"fit", "threads", "-2", "{threads} is -2; it must be 0 or more"},
        {"fit", "theta", "1,,2", "{theta} is '1,,2', but must be numbers with commas"},
        {"fit", "strip_ids", "maybe", "{strip_ids} is 'maybe', but must be yes or no"},
        {"fit", "sample_kernel", "linear+rbf",
         "{sample_kernel} is 'linear+rbf', but must be additive, or a sum"},
        {"fit", "preset", "best", "{preset} is 'best', but must be paper"},
        {"fit", "knots", "3", "unknown option 'knots' of fit"},
        {"fit", "label", "a=b", "unknown option 'label' of fit"},
        {"fit", "noise", NULL, "{noise} needs a value: structured|iso"},
        {"score", "write", "z,w",
         "{write} is 'z,w', but must be some of z,yhat,ys2_model,fdr,ys2,metrics"},
        {"reproduce", "methods", "",
         "{methods} contains '', but its parts must be smtgpr, stgpr, kronprod, "},
        {"reproduce", "components", "5,0", "{components} is '5,0', but must be up to 64 numbers"},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        kn_options *o;
        assert_ok(ctx, kn_options_new(ctx, c[i].command, &o));
        const char *before = kn_options_get(o, c[i].key);
        assert_refused(ctx, kn_options_set(ctx, o, c[i].key, c[i].value), KN_ERR_ARGUMENT,
                       c[i].sentence);
        assert_ptr_equal(kn_options_get(o, c[i].key), before); /* and nothing has changed */
        kn_options_free(o);
    }
    kn_options *o = (kn_options *)&ctx;
    assert_refused(ctx, kn_options_new(ctx, "knit", &o), KN_ERR_ARGUMENT, "unknown command 'knit'");
    assert_null(o);
}

static void what_is_set_comes_back_typed_and_the_last_word_counts(void **state)
{
    (void)state;
    kn_options *o =
        options_of(ctx, "fit",
                   "noise=iso components=7 rank=full memory=1.5GiB seed=18446744073709551615 "
                   "top=0.1 theta=1,-2.5 standardise=no plain=1 components=auto use=a,b");
    kn_settings s;
    assert_ok(ctx, kn_options_set(ctx, o, "strip_ids", NULL));
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    assert_int_equal(s.noise, KN_NOISE_ISO);
    assert_int_equal(s.components, KN_COMPONENTS_AUTO);
    assert_int_equal(s.rank, KN_RANK_FULL);
    assert_true(s.memory == 1.5 * 1024 * 1024 * 1024);
    assert_true(s.seed == UINT64_MAX);
    assert_true(s.top == 0.1);
    assert_int_equal(s.n_theta_start, 2);
    assert_true(s.theta_start[1] == -2.5);
    assert_false(s.standardise);
    assert_true(s.plain && s.strip_ids);
    assert_string_equal(s.use, "a,b");
    assert_string_equal(kn_options_get(o, "components"), "auto");
    assert_string_equal(kn_options_get(o, "folds"), "10");
    assert_null(kn_options_get(o, "mask"));
    assert_null(kn_options_get(o, "nothing"));
    assert_refused(ctx, kn_settings_of(ctx, o, "score", &s), KN_ERR_ARGUMENT,
                   "options of fit were given, expected those of score");
    kn_options_free(o);
    kn_options_free(NULL);
}

static void a_preset_sets_what_was_not_given(void **state)
{
    (void)state;
    kn_options *o = options_of(ctx, "fit", "optimiser=lbfgs preset=paper");
    kn_settings s;
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    assert_int_equal(s.noise, KN_NOISE_ISO);
    assert_int_equal(s.likelihood, KN_PAPER);
    assert_int_equal(s.optimiser, KN_LBFGS);
    assert_string_equal(s.task_kernel, "linear+se+iso");
    assert_string_equal(s.sample_kernel, "linear+se+iso");
    assert_ok(ctx, kn_options_check(ctx, o));
    kn_options_free(o);
}

static void what_a_method_implies_comes_before_what_follows_from_it(void **state)
{
    (void)state;
    kn_options *o = options_of(ctx, "fit", "method=kronprod");
    kn_settings s;
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    assert_int_equal(s.noise, KN_NOISE_ISO);
    assert_string_equal(s.sample_kernel, "linear+se+iso");
    assert_string_equal(s.task_kernel, "linear+iso");
    kn_options_free(o);
    o = options_of(ctx, "fit", "");
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    assert_string_equal(s.sample_kernel, "additive");
    assert_null(s.task_kernel);
    kn_options_free(o);
}

static void what_does_not_go_together_is_refused_before_anything_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *command, *options, *sentence;
    } c[] = {
        {"fit", "method=stgpr components=auto",
         "{method=stgpr} fits each response separately, so {components} does not apply"},
        {"fit", "method=kronprod noise=structured",
         "{method=kronprod} has iso noise and no basis, so {noise=structured} does not apply"},
        {"fit", "likelihood=paper", "{likelihood=paper} requires {noise=iso}"},
        {"fit", "folds=1", "{folds} is 1; it must be 0 or at least 2"},
        {"fit", "top=2", "{top} is 2; it must be above 0 and up to 1"},
        {"fit", "sample_kernel=iso", "so covariates would have no effect"},
        {"predict", "write=yhat,z", "z maps need responses; use 'kronorm score'"},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        kn_options *o = options_of(ctx, c[i].command, c[i].options);
        assert_refused(ctx, kn_options_check(ctx, o), KN_ERR_ARGUMENT, c[i].sentence);
        kn_options_free(o);
    }
    kn_options *o = options_of(ctx, "fit", "method=kronprod noise=iso");
    assert_ok(ctx, kn_options_check(ctx, o));
    kn_options_free(o);
}

/* A value that no row has as its default. */
static const char *another(const kn_option_row *r)
{
    switch (r->type) {
    case KN_ROW_FLAG: return strcmp(r->text, "yes") == 0 ? "no" : "yes";
    case KN_ROW_WORD: return "stgpr";
    case KN_ROW_CHOICE: return strrchr(r->words, '|') + 1;
    case KN_ROW_LIST: return r->words ? strrchr(r->words, '|') + 1 : "a,b";
    case KN_ROW_NUMBER: return "0.25";
    case KN_ROW_SUM: return "linear";
    case KN_ROW_SIZE: return "1G";
    default: return "7";
    }
}

/* Job parts are joined where this hash is equal: results depend on every option of the command but
 * on paths, on the part itself and on the resources it may use. */
static void the_hash_of_results_covers_every_option_that_changes_them(void **state)
{
    (void)state;
    static const char unrelated[] = " model covariates responses output part join memory scratch "
                                    "threads seed force ";
    kn_settings s, changed;
    unsigned score = 1;
    int hashed = 0;
    for (int k = 0; strcmp(kn_option_commands[k], "score") != 0; k++)
        score <<= 1;
    kn_settings_init(&s);
    uint64_t h = kn_settings_hash_results(&s, "score");
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const kn_option_row *r = &kn_option_rows[i];
        char word[64];
        if (!(r->commands & score))
            continue;
        changed = s;
        if (!kn_option_parse(r, another(r), &changed))
            fail_msg("%s is not another value of %s", another(r), r->key);
        snprintf(word, sizeof word, " %s ", r->key);
        bool same = kn_settings_hash_results(&changed, "score") == h;
        if (same != (strstr(unrelated, word) != NULL))
            fail_msg("%s: the hash is %s", r->key, same ? "the same" : "another");
        hashed += !same;
    }
    assert_true(hashed >= 10);
}

static void a_model_remembers_what_was_given_but_no_default_and_no_path(void **state)
{
    (void)state;
    kn_options *o = options_of(ctx, "fit",
                               "seed=1 folds=5 output=m covariates=a.csv basis=b.npy threads=3 "
                               "memory=1G noise=structured use=age");
    const char *key, *value;
    assert_true(kn_options_remembered(o, 0, &key, &value));
    assert_string_equal(key, "use");
    assert_string_equal(value, "age");
    assert_true(kn_options_remembered(o, 1, &key, &value));
    assert_string_equal(key, "folds");
    assert_string_equal(value, "5");
    assert_false(kn_options_remembered(o, 2, &key, &value));
    assert_false(kn_options_remembered(NULL, 0, &key, &value));
    kn_options_free(o);
}

static void threads_and_memory_hold_for_one_call(void **state)
{
    (void)state;
    kn_settings s;
    kn_settings_init(&s);
    kn_set_threads(ctx, 2);
    kn_set_memory(ctx, 12345);
    s.threads = 5;
    kn_resources before = kn_settings_resources(ctx, &s);
    assert_int_equal(kn_threads(ctx), 5);
    assert_int_equal(kn_memory(ctx), 12345);
    kn_resources_restore(ctx, before);
    assert_int_equal(kn_threads(ctx), 2);
    kn_set_threads(ctx, 0);
    kn_set_memory(ctx, 0);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(base_options, open_fixture, close_fixture)
{
    kn_status status = KN_ERR_MEMORY;
    for (long k = 1; status == KN_ERR_MEMORY && k < 100; k++) {
        kn_options *o = NULL;
        kn_fail_allocation(ctx, k);
        status = kn_options_new(ctx, "fit", &o);
        if (status == KN_OK)
            status = kn_options_set(ctx, o, "use", "age");
        if (status == KN_OK)
            status = kn_options_set(ctx, o, "use", "age,sex");
        kn_fail_allocation(ctx, 0);
        kn_options_free(o);
    }
    assert_int_equal(status, KN_OK);
}

static void only_close_names_are_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *given, *words, *expected;
    } CASES[] = {{"uze", "use|where|session", "; did you mean --use?"},
                 {"covariate", "covariates|id", "; did you mean --covariates?"},
                 {"cov", "covariates|id", "; did you mean --covariates?"},
                 {"grp", "group|sex", "; did you mean --group?"},
                 {"fti", "fit|cv", "; did you mean --fit?"},
                 {"xyzzy", "use|where|session", ""},
                 {"x", "a|b", ""},
                 {"lh_*_thicknes", "lh_a_thickness=1|lh_b_thickness=2|age",
                  "; did you mean --lh_a_thickness, --lh_b_thickness?"},
                 {"a1", "a2|a3|a4|a5", "; did you mean --a2, --a3, --a4?"},
                 {"rh_a", "lh_a", ""},
                 {"rh_insula", "lh_insula|rh_insulla", "; did you mean --rh_insulla?"},
                 {"Right-Accumbens-area", "Left-Accumbens-area", ""},
                 {"RightHippocampus", "lefthippocampus", ""},
                 {"insula_L", "insula_R|insula.L", "; did you mean --insula.L?"},
                 {"cortex_volume_right", "cortex_volume_left", ""},
                 {"lh_*_thickness", "rh_a_thickness", ""},
                 {"group_a", "group_b", "; did you mean --group_b?"},
                 {"ruler_1", "luler_1", "; did you mean --luler_1?"}};
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        kn_suggestions near = {.given = CASES[k].given};
        char text[KN_SUGGESTION_TEXT];
        kn_suggest_words(&near, CASES[k].words);
        assert_string_equal(kn_did_you_mean(&near, "--", text), CASES[k].expected);
    }
    assert_int_equal(kn_edit_distance("structred", "structured"), 1);
    assert_int_equal(kn_edit_distance("l*s", "labels"), 0);
}

TEST_PROGRAM(base_options)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_is_what_its_row_takes),
        cmocka_unit_test(a_key_and_a_letter_mean_one_thing_in_a_command),
        cmocka_unit_test(an_older_caller_gets_the_fields_of_its_struct),
        cmocka_unit_test(a_wrong_value_is_a_sentence_that_marks_the_key),
        cmocka_unit_test(what_is_set_comes_back_typed_and_the_last_word_counts),
        cmocka_unit_test(a_preset_sets_what_was_not_given),
        cmocka_unit_test(what_a_method_implies_comes_before_what_follows_from_it),
        cmocka_unit_test(what_does_not_go_together_is_refused_before_anything_is_read),
        cmocka_unit_test(the_hash_of_results_covers_every_option_that_changes_them),
        cmocka_unit_test(a_model_remembers_what_was_given_but_no_default_and_no_path),
        cmocka_unit_test(threads_and_memory_hold_for_one_call),
        cmocka_unit_test(only_close_names_are_suggested),
    };
    return cmocka_run_group_tests_name("options", tests, open_fixture, close_fixture);
}
