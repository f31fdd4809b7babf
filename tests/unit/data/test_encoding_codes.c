/* Recipes with a code for each level: a covariate is one column, whatever it is. */
#include "support/encodings.h"

#include "data/table/column_role.h"

static void assert_column(kn_mat X, ptrdiff_t f, const double *expected)
{
    for (ptrdiff_t i = 0; i < X.rows; i++)
        if (!(kn_at(X, i, f) == expected[i] || (isnan(expected[i]) && isnan(kn_at(X, i, f)))))
            fail_msg("row %td of column %td is %g, expected %g", i, f, kn_at(X, i, f), expected[i]);
}

static void with_codes_a_covariate_is_one_column(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.id_col = 0;
    kn_encoding r = learned(ctx, COHORT, &o);
    int levels[3], values[3];
    assert_true(r.codes);
    assert_int_equal(kn_encoding_width(&r), 3);
    assert_x_names(ctx, &r, "age sex site");
    kn_encoding_levels(&r, levels);
    kn_encoding_values(&r, values);
    assert_true(levels[0] == 0 && levels[1] == 2 && levels[2] == 3);
    assert_true(values[0] == KN_VALUES_COUNTED && values[1] == 0 && values[2] == 0);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    for (ptrdiff_t i = 0; i < 15; i++) {
        assert_true(kn_at(X, i, 0) == 20 + (double)i);
        assert_true(kn_at(X, i, 1) == (i % 3 == 1 ? 0 : 1));
        assert_true(kn_at(X, i, 2) == (i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 2));
    }
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

/* Numbers of a site are names; of other few whole numbers it is unknown. */
static void sites_are_categories_by_their_name(void **state)
{
    (void)state;
    static const char *const heads[] = {"site", " Scanner_ID", "BATCH", "centre", "center_id"};
    static const char *const others[] = {"sites", "weight", "age", "scan_age"};
    char text[1024];
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.use = "*";
    for (size_t h = 0; h < 9; h++) {
        const char *head = h < 5 ? heads[h] : others[h - 5];
        snprintf(text, sizeof text, "%s\tx\n", head);
        for (int i = 0; i < 25; i++)
            snprintf(text + strlen(text), 32, "%d\t%d.5\n", 1 + i % 4, i);
        log = (logged){0};
        kn_set_log(ctx, logged_take, &log);
        kn_encoding r = learned(ctx, text, &o);
        assert_int_equal(r.column[0].kind, h < 5 ? KN_COVARIATE_CATEGORY : KN_COVARIATE_NUMERIC);
        assert_int_equal(log.lines, h < 7); /* an age is not doubted */
        if (h >= 5 && h < 7)
            assert_int_equal(log.level, KN_LOG_WARNING);
        kn_encoding_clear(&r);
        o.numeric = head;
        log = (logged){0};
        r = learned(ctx, text, &o);
        assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && log.lines == 0);
        kn_encoding_clear(&r);
        o.numeric = NULL;
    }
    /* never a slope: more levels than the rows support are refused */
    snprintf(text, sizeof text, "site\n");
    for (int i = 0; i < 25; i++)
        snprintf(text + strlen(text), 32, "%d\n", 1 + i % 6);
    refuse_learn(ctx, text, o, KN_ERR_DATA,
                 "participants.tsv: category site has at least 6 levels in 25 rows, but at most "
                 "2000 and one per 5 rows are allowed; merge levels, or omit it from {use}");
    kn_ctx_free(ctx);
}

/* Learns 25 rows with a column `head` of the numbers first, ..., first + values - 1, and age. */
static kn_covariate_kind kind_of_numbers(kn_ctx *ctx, const char *head, int first, int values,
                                         bool *batch)
{
    char text[1024];
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.use = "*";
    o.batch = "auto";
    snprintf(text, sizeof text, "%s\tage\n", head);
    for (int i = 0; i < 25; i++)
        snprintf(text + strlen(text), 32, "%d\t%d.5\n", first + i % values, i);
    kn_encoding r = learned(ctx, text, &o);
    kn_covariate_kind kind = r.column[0].kind;
    *batch = r.column[0].batch;
    kn_encoding_clear(&r);
    return kind;
}

static void codes_of_sites_and_sex_are_categories(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        int first, values;
        kn_covariate_kind kind;
        bool batch;
    } cases[] = {
        {"scan-site", 1, 4, KN_COVARIATE_CATEGORY, true},
        {"acquisitionSite", 7, 1, KN_COVARIATE_CATEGORY, true},
        {"MRIScanner2", 0, 2, KN_COVARIATE_CATEGORY, true},
        {"website", 0, 4, KN_COVARIATE_NUMERIC, false},
        {"Sex", 0, 3, KN_COVARIATE_CATEGORY, false},
        {"gender_code", 0, 4, KN_COVARIATE_CATEGORY, false},
        {"sexage", 0, 4, KN_COVARIATE_NUMERIC, false},
    };
    kn_ctx *ctx = kn_ctx_new();
    bool batch;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        assert_int_equal(kind_of_numbers(ctx, cases[k].head, cases[k].first, cases[k].values,
                                         &batch),
                         cases[k].kind);
        assert_true(batch == cases[k].batch);
    }
    kn_ctx_free(ctx);
}

/* The names of a table from a file decide: no other column is a covariate without being named. */
static void columns_are_covariates_by_default_only_by_usual_names(void **state)
{
    (void)state;
    static const char *const used[] = {"age",     "Age (years)", "scan_age", "AgeAtScan",
                                       "SEX",     "gender",      "sex_bin",  "site",
                                       "SITE_ID", "scanner.2",   "eTIV",     "mean_FD",
                                       "bmi",     "FIQ_iq",      "Education"};
    static const char *const unused[] = {
        "asd",    "case",    "hc",       "dx_bin",  "patient",         "status", "age_onset",
        "dosage", "website", "group",    "visit",   "cortisol",        "Sexton", "batches",
        "ageing", "weight",  "parasite", "centres", "age at diagnosis"};
    for (size_t k = 0; k < sizeof used / sizeof used[0]; k++)
        if (!kn_column_is_usual(used[k]))
            fail_msg("%s is not usual", used[k]);
    for (size_t k = 0; k < sizeof unused / sizeof unused[0]; k++)
        if (kn_column_is_usual(unused[k]))
            fail_msg("%s is usual", unused[k]);
}

static const char DIAGNOSED[] = "age\tasd\tsex\tgroup\n30\t0\tF\tx\n31\t1\tM\tx\n40\t0\tF\tx\n"
                                "20\t1\tM\tx\n25\t0\tF\tx\n";

static void assert_covariates(kn_ctx *ctx, const kn_table *t, const kn_encoding_options *o,
                              const char *expected)
{
    const char **names;
    ptrdiff_t n;
    char all[128] = "";
    assert_ok(ctx, kn_encoding_names(ctx, t, o, &names, &n));
    for (ptrdiff_t k = 0; k < n; k++)
        strcat(strcat(all, k ? " " : ""), names[k]);
    assert_string_equal(all, expected);
    kn_free(names);
}

static void a_diagnosis_under_any_name_is_no_covariate_by_default(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_table *t = table_of(ctx, DIAGNOSED);
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    assert_covariates(ctx, t, &o, "age sex");
    kn_set_log(ctx, logged_take, &log);
    kn_encoding_log_names(ctx, t, &o);
    assert_int_equal(log.level, KN_LOG_WARNING);
    assert_string_equal(log.text, "participants.tsv: the covariates are age, sex; not used: asd, "
                                  "group (to use them: {use=age,sex,...})");
    o.categorical = "asd"; /* named, so it is meant */
    assert_covariates(ctx, t, &o, "age asd sex");
    o.categorical = NULL;
    o.use = "*";
    assert_covariates(ctx, t, &o, "age asd sex group");
    o.use = "usual";
    assert_covariates(ctx, t, &o, "age sex");
    kn_table_free(t);
    o.use = NULL;
    refuse_learn(ctx, "asd\tkids\n1\t2\n0\t3\n", o, KN_ERR_DATA,
                 "participants.tsv: no column has the name of a usual covariate, such as age, sex "
                 "or site; name the covariates in {use} (the columns are asd, kids)");
    kn_ctx_free(ctx);
}

/* The columns of data in memory were chosen by the caller; two values may still be a diagnosis. */
static void all_columns_of_data_in_memory_are_covariates(void **state)
{
    (void)state;
    char *age[] = {"30", "31", "40", "20"}, *asd[] = {"0", "1", "0", "1"};
    kn_table_column columns[] = {{"age", age, false}, {"asd", asd, false}};
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_table *t;
    kn_encoding r;
    assert_ok(ctx, kn_table_make(ctx, "covariates", columns, 2, 4, &t));
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    kn_set_log(ctx, logged_take, &log);
    assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &r));
    assert_x_names(ctx, &r, "age asd");
    assert_true(log.lines == 1 && log.level == KN_LOG_WARNING);
    assert_string_equal(log.text,
                        "covariates: used as covariates with two values each: asd; if one "
                        "distinguishes patients from controls, omit it from {use}");
    kn_encoding_clear(&r);
    o.use = "age,asd";
    log = (logged){0};
    assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &r));
    assert_int_equal(log.lines, 0);
    kn_encoding_clear(&r);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_category_of_many_levels_may_be_a_site(void **state)
{
    (void)state;
    char text[1024] = "place\n";
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.use = "*";
    for (int i = 0; i < 35; i++)
        snprintf(text + strlen(text), 32, "p%d\n", i % 6);
    kn_set_log(ctx, logged_take, &log);
    kn_encoding r = learned(ctx, text, &o);
    assert_int_equal(log.level, KN_LOG_WARNING);
    assert_string_equal(log.text,
                        "participants.tsv: category place has 6 levels; if it is a site or "
                        "a scanner, name it in {batch}");
    kn_encoding_clear(&r);
    o.batch = "place";
    log = (logged){0};
    r = learned(ctx, text, &o);
    assert_true(r.column[0].batch && log.lines == 0);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void some_columns_are_covariates_only_where_they_are_named(void **state)
{
    (void)state;
    static const char text[] = "id\tage\tGroup\tdx\tVisit\trun\twave\tpatients\n"
                               "a\t1.5\tx\tx\t1\t1\t1.5\t2.5\n";
    static const struct {
        const char *use, *session, *names;
    } cases[] = {
        {NULL, NULL, "age"},
        {NULL, "WAVE", "age"},
        {"age,group", NULL, "age Group"},
        {"*a*,AGE", NULL, "age wave patients"},
        {"d?,age,*e", NULL, "dx age wave"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_encoding_options o = with_id(KN_MISSING_ERROR);
        const char **names;
        ptrdiff_t n;
        char all[128] = "";
        o.use = cases[i].use;
        o.session = cases[i].session;
        assert_ok(ctx, kn_encoding_names(ctx, t, &o, &names, &n));
        for (ptrdiff_t k = 0; k < n; k++)
            strcat(strcat(all, k ? " " : ""), names[k]);
        assert_string_equal(all, cases[i].names);
        kn_free(names);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* Sex as 1 and 2 is a category, unless a participant says otherwise. */
static void two_numbers_are_a_category(void **state)
{
    (void)state;
    static const char sexes[] = "sex\tage\tone\n2.0\t30\t4\n1\t31\t4\n2\t32\t4\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.use = "*";
    kn_encoding r = learned(ctx, sexes, &o); /* three rows are enough */
    assert_int_equal(r.n, 3);
    assert_true(r.column[0].kind == KN_COVARIATE_CATEGORY && r.column[0].two_valued);
    assert_true(r.column[0].levels.numbers);
    assert_int_equal(r.column[1].kind, KN_COVARIATE_NUMERIC);
    assert_true(r.column[2].kind == KN_COVARIATE_NUMERIC && r.column[2].values == 1);
    kn_mat X = applied(ctx, &r, sexes, NULL);
    assert_column(X, 0, (const double[]){1, 0, 1});
    kn_mat_clear(&X);
    refuse_apply(
        ctx, &r, "sex\tage\tone\n1\t30\t4\n1.5\t30\t4\n",
        "new.tsv line 3: sex is '1.5', which is not a level of the training sample (levels: 1, "
        "2); fit with {numeric=sex} if it is a number");
    refuse_apply(ctx, &r, "sex\tage\tone\nn/a\t30\t4\n",
                 "new.tsv line 2: sex is 'n/a', a missing value; use {missing=drop} to exclude "
                 "such participants, or {missing=mean} to impute");
    kn_encoding_clear(&r);

    o.numeric = "sex";
    r = learned(ctx, sexes, &o);
    assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && r.column[0].values == 2);
    kn_encoding_clear(&r);
    o.numeric = NULL;
    o.codes = false;
    r = learned(ctx, sexes, &o);
    assert_int_equal(r.column[0].kind, KN_COVARIATE_NUMERIC);
    kn_encoding_clear(&r);

    /* A slip is still a slip, and a missing value is no value. */
    o.codes = true;
    refuse_learn(ctx, "sex\n1\n2\nF\n1\n2\n", o, KN_ERR_DATA,
                 "participants.tsv line 4: sex is 'F', but most rows contain a number; if the "
                 "column contains codes, name it in {categorical}");
    refuse_learn(ctx, "sex\n1\n2\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 4: sex is 'n/a', a missing value; use {missing=drop} to "
                 "exclude such participants, or {missing=mean} to impute");

    /* Codes too long for a double are numbers or named categories. */
    r = learned(ctx, "c\n123456789012345678\n123456789012345679\n900000000000000000\n", &o);
    assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && r.column[0].values == 2);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void many_columns_of_two_numbers_stay_numbers(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    for (int pixels = 6; pixels <= 7; pixels++)
        for (int named = 0; named < 2; named++) {
            char text[512] = "age\tblank";
            for (int j = 0; j < pixels; j++)
                sprintf(text + strlen(text), "\tp%d", j);
            for (int i = 0; i < 4; i++) {
                sprintf(text + strlen(text), "\n%d\t0", i);
                for (int j = 0; j < pixels; j++)
                    sprintf(text + strlen(text), "\t%d", (i + j) % 2);
            }
            strcat(text, "\n");
            o.numeric = named ? "p1" : NULL;
            kn_encoding r = learned(ctx, text, &o);
            for (ptrdiff_t k = 0; k < r.n; k++)
                assert_int_equal(r.column[k].kind == KN_COVARIATE_CATEGORY,
                                 pixels == 6 && k >= 2 && !(named && k == 3));
            kn_encoding_clear(&r);
        }
    kn_ctx_free(ctx);
}

static void numeric_is_checked_like_categorical(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int codes = 0; codes < 2; codes++) {
        kn_encoding_options o = with_id(KN_MISSING_ERROR);
        o.codes = codes;
        o.numeric = "ages";
        refuse_learn(
            ctx, COHORT, o, KN_ERR_DATA,
            "participants.tsv has no column 'ages' (named in {numeric}); did you mean age?");
        o.numeric = "age";
        o.use = "sex,site";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "participants.tsv: {numeric=age} is not one of the covariates");
        o.use = NULL;
        o.categorical = "sex,age";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "{categorical} and {numeric} both name 'age'; name it in only one of them");
        o.categorical = NULL;
        o.numeric = "sex";
        refuse_learn(ctx, COHORT, o, KN_ERR_DATA,
                     "participants.tsv line 2: sex is 'M', but {numeric} requires a number");
        o.numeric = NULL;
        o.group = "site";
        kn_encoding r = learned(ctx, COHORT, &o);
        assert_int_equal(r.n, 2);
        kn_encoding_clear(&r);
        o.use = "age,site";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "participants.tsv: site cannot be a covariate, because it is the column of "
                     "{group}; omit it from {use}");
    }
    kn_ctx_free(ctx);
}

static void one_level_is_kept_as_a_code(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_encoding r = learned(ctx, "site\tage\nOxford\t1\nOxford\t2\nOxford\t3\n", &o);
    assert_logged(
        log, KN_LOG_WARNING,
        "participants.tsv: site is 'Oxford' in every row, so it cannot predict the responses");
    assert_x_names(ctx, &r, "site age");
    refuse_apply(ctx, &r, "age\tsite\n5\tOxford\n5\tBonn\n",
                 "new.tsv line 3: site is 'Bonn', which is not a level of the training sample "
                 "(levels: Oxford)");
    kn_encoding_clear(&r);
    refuse_learn(ctx, "site\tage\nOxford\t1\nOxford\t1\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate has the same value in all rows, but at least "
                 "one must vary");
    refuse_learn(ctx, "age\n1\n1\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate has the same value in all rows, but at least "
                 "one must vary");
    kn_ctx_free(ctx);
}

static void an_unseen_level_is_a_code_where_that_is_allowed(void **state)
{
    (void)state;
    static const char new[] = "site\tage\tsex\nB\t1\tM\nLeeds\t1\tM\n Leeds\t1\tF\nBonn\t1\tF\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_ERROR);
    o.id_col = 0;
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_encoding r = learned(ctx, COHORT, &o);
    refuse_apply(ctx, &r, new,
                 "new.tsv line 3: site is 'Leeds', which is not a level of the training sample "
                 "(levels: A, B, C)");
    r.unseen = true;
    kn_mat X = applied(ctx, &r, new, NULL);
    assert_column(X, 2, (const double[]){1, 3, 3, 3});
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site of 3 participants is a level that is not in the training "
                  "sample: Leeds, Bonn");
    assert_int_equal(log.lines, 1);
    kn_mat_clear(&X);

    char many[1024] = "site\tage\tsex\n";
    for (int i = 0; i < 20; i++)
        sprintf(many + strlen(many), "s%d\t1\tM\n", i % 10);
    X = applied(ctx, &r, many, NULL);
    assert_logged(
        log, KN_LOG_WARNING,
        "participants.tsv: site of 20 participants is a level that is not in the training "
        "sample: s0, s1, s2, s3, s4, ...");
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void a_missing_category_has_no_code(void **state)
{
    (void)state;
    static const char gaps[] = "site\tsex\tage\nA\t0\t1\nn/a\t1\t2\nB\t\t3\nA\t1\tn/a\nA\t0\t5\n"
                               "A\t0\t5\nA\t0\t5\nB\t0\t5\nA\t0\t5\nA\t0\t5\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_MEAN);
    kn_encoding r = learned(ctx, gaps, &o);
    kn_mat X = applied(ctx, &r, gaps, NULL);
    assert_column(X, 0, (const double[]){0, NAN, 1, 0, 0, 0, 0, 1, 0, 0});
    assert_column(X, 1, (const double[]){0, 1, NAN, 1, 0, 0, 0, 0, 0, 0});
    assert_close(kn_at(X, 3, 2), 4, 1e-15);
    assert_int_equal(r.column[2].values, 4); /* the mean that fills is no value */
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    o.missing = KN_MISSING_ERROR;
    refuse_learn(ctx, gaps, o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', a missing value; use {missing=drop} to "
                 "exclude such participants, or {missing=mean} to impute");
    o.missing = KN_MISSING_DROP;
    o.use = "sex,age";
    r = learned(ctx, gaps, &o);
    bool dropped[10];
    X = applied(ctx, &r, gaps, dropped);
    assert_column(X, 0, (const double[]){0, 1, NAN, NAN, 0, 0, 0, 0, 0, 0});
    assert_int_equal(r.column[0].levels.n, 2);
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_encoding_codes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_codes_a_covariate_is_one_column),
        cmocka_unit_test(sites_are_categories_by_their_name),
        cmocka_unit_test(codes_of_sites_and_sex_are_categories),
        cmocka_unit_test(columns_are_covariates_by_default_only_by_usual_names),
        cmocka_unit_test(a_diagnosis_under_any_name_is_no_covariate_by_default),
        cmocka_unit_test(all_columns_of_data_in_memory_are_covariates),
        cmocka_unit_test(a_category_of_many_levels_may_be_a_site),
        cmocka_unit_test(some_columns_are_covariates_only_where_they_are_named),
        cmocka_unit_test(two_numbers_are_a_category),
        cmocka_unit_test(many_columns_of_two_numbers_stay_numbers),
        cmocka_unit_test(numeric_is_checked_like_categorical),
        cmocka_unit_test(one_level_is_kept_as_a_code),
        cmocka_unit_test(an_unseen_level_is_a_code_where_that_is_allowed),
        cmocka_unit_test(a_missing_category_has_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
