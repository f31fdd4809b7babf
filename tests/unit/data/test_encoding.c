/* A table of covariates becomes numbers and indicators, and what does not fit is named. */
#include "support/encodings.h"
#include "support/failing.h"

#include "data/table/text_list.h"

static void a_table_becomes_numbers_and_indicators(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    kn_encoding r = learned(ctx, COHORT, &o);
    assert_int_equal(kn_encoding_width(&r), 5);
    assert_x_names(ctx, &r, "age sex=M site=A site=B site=C");
    assert_close(r.column[0].mean, 27, 1e-15);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    static const double first[2][5] = {{20, 1, 0, 1, 0}, {21, 0, 1, 0, 0}};
    for (ptrdiff_t i = 0; i < 2; i++)
        for (ptrdiff_t f = 0; f < 5; f++)
            assert_true(kn_at(X, i, f) == first[i][f]);
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

/* What the three indicators are for: the squared distance of any two sites is 2. */
static void levels_are_equally_far_apart(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    o.use = "site";
    kn_encoding r = learned(ctx, COHORT, &o);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    for (ptrdiff_t i = 0; i < 3; i++)
        for (ptrdiff_t j = 0; j < i; j++) {
            double d = 0;
            for (ptrdiff_t f = 0; f < 3; f++)
                d += pow(kn_at(X, i, f) - kn_at(X, j, f), 2);
            assert_true(d == 2);
        }
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void the_order_of_columns_and_rows_changes_nothing(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    static const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    kn_encoding r = learned(ctx, COHORT, &o);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    kn_table *t = table_of(ctx, COHORT);
    for (int p = 0; p < 4; p++) {
        char text[2048] = "";
        for (ptrdiff_t i = -1; i < kn_table_rows(t); i++)
            for (int j = 0; j < 4; j++) {
                strcat(text,
                       i < 0 ? kn_table_name(t, orders[p][j]) : kn_table_cell(t, i, orders[p][j]));
                strcat(text, j < 3 ? "\t" : "\t9\n"); /* and a column that is not used */
            }
        memcpy(strstr(text, "\t9\n"), "\t \n", 3); /* whose header is blank */
        kn_mat X1 = applied(ctx, &r, text, NULL);
        assert_same(X1, X, 0);
        kn_mat_clear(&X1);
    }
    /* Rows from last to first give the same encoding but for the rounding of the mean. */
    ptrdiff_t rows[15];
    for (ptrdiff_t i = 0; i < 15; i++)
        rows[i] = 14 - i;
    kn_encoding back;
    o.rows = rows;
    o.n_rows = 15;
    assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &back));
    assert_x_names(ctx, &back, "age sex=M site=A site=B site=C");
    kn_mat X2;
    assert_ok(ctx, kn_mat_new(ctx, 15, 5, &X2));
    assert_ok(ctx, kn_encoding_apply(ctx, &back, t, rows, X2, NULL));
    for (ptrdiff_t i = 0; i < 15; i++)
        for (ptrdiff_t f = 0; f < 5; f++)
            assert_true(kn_at(X2, i, f) == kn_at(X, 14 - i, f));
    kn_mat_clear(&X2);
    kn_mat_clear(&X);
    kn_encoding_clear(&back);
    kn_encoding_clear(&r);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* A spreadsheet writes 1 where another writes 1.0; ten comes after nine. */
static void numeric_levels_are_numbers(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = DEFAULTS;
    o.categorical = "site";
    kn_encoding r =
        learned(ctx,
                "site\n10\n9\n1.0\n10\n9\n1\n10\n9\n1\n10\n9\n1\n10\n9\n1.00\n10\n9\n-0\n"
                "0\n0\n",
                &o);
    assert_x_names(ctx, &r, "site=0 site=1 site=9 site=10");
    kn_mat X = applied(ctx, &r, "site\n10.0\n 1 \n", NULL);
    assert_true(kn_at(X, 0, 3) == 1 && kn_at(X, 1, 1) == 1);
    kn_mat_clear(&X);
    refuse_apply(ctx, &r, "site\n9\n11\n",
                 "new.tsv line 3: site is '11', which is not a level of the training sample "
                 "(levels: 0, 1, 9, 10)");
    kn_encoding_clear(&r);

    /* Beyond 2^53 two codes may be one double, and are still two codes. */
    r = learned(ctx,
                "site\n123456789012345678\n123456789012345679\n123456789012345678\n"
                "123456789012345679\n123456789012345678\n123456789012345679\n"
                "123456789012345678\n123456789012345679\n123456789012345678\n"
                "123456789012345679\n",
                &o);
    assert_x_names(ctx, &r, "site=123456789012345679");
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void options_choose_the_columns(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    const char *const responses[] = {"age"};
    o.use = " site , age";
    kn_encoding r = learned(ctx, COHORT, &o);
    assert_x_names(ctx, &r, "site=A site=B site=C age");
    kn_encoding_clear(&r);
    o.use = NULL;
    o.responses = responses;
    o.n_responses = 1;
    r = learned(ctx, COHORT, &o);
    assert_x_names(ctx, &r, "sex=M site=A site=B site=C");
    kn_encoding_clear(&r);

    /* Blank headers are ignored, spaces around a header are not part of it. */
    r = learned(ctx, "\t age \t\n1\t2\t3\n4\t5\t6\n", &DEFAULTS);
    assert_x_names(ctx, &r, "age");
    kn_mat X = applied(ctx, &r, "age\n7\n", NULL);
    assert_true(kn_at(X, 0, 0) == 7);
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void a_wrong_choice_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    const char *const responses[] = {"age"};
    static const struct {
        const char *use, *categorical, *sentence;
    } cases[] = {
        {"agee", NULL, "participants.tsv has no column 'agee' (named in {use}); did you mean age?"},
        {"SITES", NULL,
         "participants.tsv has no column 'SITES' (named in {use}); did you mean site?"},
        {"age,,sex", NULL, "{use} 'age,,sex': name 2 is empty; separate names with single commas"},
        {"", NULL, "{use} '': name 1 is empty; separate names with single commas"},
        {"age,sex,", NULL, "{use} 'age,sex,': name 3 is empty; separate names with single commas"},
        {"age,sex,age", NULL, "{use} names 'age' twice"},
        {"participant_id", NULL,
         "participants.tsv: participant_id cannot be a covariate, because it is the ID column; "
         "omit it from {use}"},
        {NULL, "sites",
         "participants.tsv has no column 'sites' (named in {categorical}); did you mean site?"},
        {"age", "site", "participants.tsv: {categorical=site} is not one of the covariates"},
        {"age", ",", "{categorical} ',': name 1 is empty; separate names with single commas"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.use = cases[i].use;
        o.categorical = cases[i].categorical;
        bool unknown = strstr(cases[i].sentence, "no column");
        refuse_learn(ctx, COHORT, o, unknown ? KN_ERR_DATA : KN_ERR_ARGUMENT, cases[i].sentence);
    }
    o = with_id(KN_MISSING_ERROR);
    o.responses = responses;
    o.n_responses = 1;
    o.use = "age";
    refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                 "participants.tsv: age cannot be a covariate, because it is a response; omit it "
                 "from {use}");
    o = with_id(KN_MISSING_ERROR);
    o.one_file = true;
    refuse_learn(
        ctx, COHORT, o, KN_ERR_ARGUMENT,
        "participants.tsv contains both covariates and responses; name the covariates in {use}");
    refuse_learn(ctx, "participant_id\ns1\n", with_id(KN_MISSING_ERROR), KN_ERR_DATA,
                 "participants.tsv has no column left for a covariate");
    kn_ctx_free(ctx);
}

static void cells_that_do_not_fit_are_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = DEFAULTS;
    refuse_learn(ctx, "age\n1\n2\n\n3O\n4\n", o, KN_ERR_DATA,
                 "participants.tsv line 5: age is '3O', but most rows contain a number; if it "
                 "means a missing value, name it in {na}");
    refuse_learn(ctx, "age\n1\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: age is 'n/a', a missing value; use {missing=drop} to "
                 "exclude such participants, or {missing=mean} to impute");
    refuse_learn(ctx, "site\nA\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', a missing value; use {missing=drop} to "
                 "exclude such participants, or {missing=mean} to impute");
    refuse_learn(ctx, "site\nA\nB\nA\nB\nC\nA\nB\nA\nB\nC\n", o, KN_ERR_DATA,
                 "participants.tsv: category site has at least 3 levels in 10 rows, but at most "
                 "2000 and one per 5 rows are allowed; merge levels, or omit it from {use}");
    refuse_learn(ctx, "site\nZ\xfcrich\nA\n", o, KN_ERR_DATA,
                 "participants.tsv line 2: 'Z\xfcrich' is not UTF-8 text");
    o.use = "*";
    refuse_learn(ctx, "gr\xf6sse\n1\n2\n", o, KN_ERR_DATA,
                 "participants.tsv line 1: 'gr\xf6sse' is not UTF-8 text");
    o.use = NULL;
    refuse_learn(ctx, "age\t age\n1\t2\n2\t1\n", o, KN_ERR_FORMAT,
                 "participants.tsv: two covariates are named 'age'");
    refuse_learn(ctx, "site\nA\nA\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate has the same value in all rows, but at least "
                 "one must vary");
    o.missing = KN_MISSING_MEAN;
    refuse_learn(ctx, "age\nn/a\n\"\"\n", o, KN_ERR_DATA, "participants.tsv: age has no values");
    refuse_learn(ctx, "site\nA\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', a missing value; use {missing=drop} to "
                 "exclude such participants, or {missing=mean} to impute");
    o.missing = KN_MISSING_DROP;
    o.use = "*";
    refuse_learn(ctx, "a\tb\n1\tn/a\nn/a\t2\n", o, KN_ERR_DATA,
                 "participants.tsv: no row has a value for every covariate");

    kn_ctx_free(ctx);
}

static void a_new_table_that_does_not_fit_is_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_id(KN_MISSING_ERROR);
    kn_encoding r = learned(ctx, COHORT, &o);
    refuse_apply(
        ctx, &r, "age\tsex\tplace\n20\tM\tA\n",
        "new.tsv has no column 'site' (a covariate of the model); its columns are age, sex, place");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\t20\tM\nLeeds\t20\tM\n",
                 "new.tsv line 3: site is 'Leeds', which is not a level of the training sample "
                 "(levels: A, B, C)");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\told\tM\n",
                 "new.tsv line 2: age is 'old', but must be a number");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\tn/a\tM\n",
                 "new.tsv line 2: age is 'n/a', a missing value; use {missing=drop} to exclude "
                 "such participants, or {missing=mean} to impute");
    refuse_apply(ctx, &r, "site\tage\tsex\n\t20\tM\n",
                 "new.tsv line 2: site is '', a missing value; use {missing=drop} to exclude such "
                 "participants, or {missing=mean} to impute");
    refuse_apply(ctx, &r, "site\tage\tsex\n\"A\n\tb\"\t20\tM\n",
                 "new.tsv line 2: site is 'A??b', which is not a level of the training sample "
                 "(levels: A, B, C)");
    r.missing = KN_MISSING_MEAN;
    refuse_apply(ctx, &r, "site\tage\tsex\nn/a\t20\tM\n",
                 "new.tsv line 2: site is 'n/a', a missing value; use {missing=drop} to exclude "
                 "such participants, or {missing=mean} to impute");
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void missing_values_drop_the_row_or_become_the_mean(void **state)
{
    (void)state;
    static const char gaps[] = "age\tsite\n10\tA\n20\tB\nn/a\tQ\n30\t\n40\tA\n50\tB\n60\tA\n70\tB\n"
                               "80\tA\n90\tB\n20\tA\n30\tB\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = DEFAULTS;
    logged log = {0};
    bool dropped[12];
    kn_set_log(ctx, logged_take, &log);

    /* A value of a dropped row is no level and counts in no mean. */
    o.missing = KN_MISSING_DROP;
    kn_encoding r = learned(ctx, gaps, &o);
    assert_x_names(ctx, &r, "age site=B");
    assert_close(r.column[0].mean, 47, 1e-15);
    kn_mat X = applied(ctx, &r, gaps, dropped);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: rows that lack a covariate are excluded, 2 of 12");
    for (ptrdiff_t i = 0; i < 12; i++) {
        assert_int_equal(dropped[i], i == 2 || i == 3);
        assert_int_equal(isnan(kn_at(X, i, 0)), dropped[i]);
        assert_int_equal(isnan(kn_at(X, i, 1)), dropped[i]);
    }
    kn_mat_clear(&X);
    kn_encoding_clear(&r);

    o.missing = KN_MISSING_MEAN;
    o.use = "age";
    r = learned(ctx, "age\n1\nn/a\n3\n8\n", &o);
    assert_close(r.column[0].mean, 4, 1e-15);
    X = applied(ctx, &r, "age\nNA\n7\n", dropped);
    assert_logged(log, KN_LOG_INFO,
                  "participants.tsv: 1 missing values of age are replaced by the training mean, 4");
    assert_true(kn_at(X, 0, 0) == r.column[0].mean && kn_at(X, 1, 0) == 7);
    assert_false(dropped[0] || dropped[1]);
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void a_category_of_one_level_is_left_out(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_encoding r = learned(ctx, "site\tage\nOxford\t1\nOxford\t2\n", &DEFAULTS);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site is 'Oxford' in every row, so it is left out");
    assert_x_names(ctx, &r, "age");
    kn_mat X = applied(ctx, &r, "age\n5\n", NULL);
    kn_mat_clear(&X);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

static void sentences_stay_short_and_on_one_line(void **state)
{
    (void)state;
    kn_listing list = {.limit = 2}, many = {0};
    assert_string_equal(kn_clipped("a\nb\tc").text, "a?b?c");
    char text[200];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    kn_clip clip = kn_clipped(text);
    assert_int_equal(strlen(clip.text), sizeof clip.text - 1);
    assert_string_equal(clip.text + sizeof clip.text - 5, "x...");
    memcpy(text + sizeof clip.text - 5, "\xc3\xbc", 2); /* the cut would be inside the letter */
    assert_string_equal(kn_clipped(text).text + sizeof clip.text - 6, "x...");
    for (int i = 0; i < 4; i++)
        kn_listing_add(&list, "a");
    assert_string_equal(list.text, "a, a, ...");
    for (int i = 0; i < 100; i++)
        kn_listing_add(&many, text);
    assert_true(many.closed && strlen(many.text) < sizeof many.text);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Returns a table of one column with this many levels, in turn over the rows. The caller frees it.
 */
static char *table_of_levels(int levels, int rows)
{
    char *text = malloc(8 * (size_t)rows + 8), *at = text;
    assert_non_null(text);
    at += sprintf(at, "site\n");
    for (int i = 0; i < rows; i++)
        at += sprintf(at, "s%d\n", i % levels);
    return text;
}

static void many_levels_are_taken_with_a_warning_and_too_many_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = DEFAULTS;
    logged log = {0};
    o.codes = true;
    o.batch = "site";
    kn_set_log(ctx, logged_take, &log);
    for (int levels = 49; levels <= 60; levels += levels == 49 ? 1 : 10) {
        char *text = table_of_levels(levels, 303);
        log = (logged){0};
        kn_encoding r = learned(ctx, text, &o);
        assert_int_equal(r.column[0].levels.n, levels);
        assert_int_equal(log.lines, levels >= 50);
        kn_encoding_clear(&r);
        free(text);
    }
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: category site has 60 levels, 0 of them with fewer than 5 "
                  "participants; effects of small levels are uncertain and are shrunk towards the "
                  "average");

    char *text = table_of_levels(61, 304);
    refuse_learn(ctx, text, o, KN_ERR_DATA,
                 "participants.tsv: category site has at least 61 levels in 304 rows, but at most "
                 "2000 and one per 5 rows are allowed; merge levels, or omit it from {use}");
    log = (logged){0};
    o.checked = true; /* a fold may have fewer rows per level */
    kn_encoding r = learned(ctx, text, &o);
    assert_int_equal(r.column[0].levels.n, 61);
    assert_int_equal(log.lines, 0);
    kn_encoding_clear(&r);
    free(text);

    o.checked = false;
    for (int levels = 2000; levels <= 2001; levels++) {
        text = table_of_levels(levels, 10010);
        if (levels > 2000) {
            refuse_learn(ctx, text, o, KN_ERR_DATA,
                         "participants.tsv: category site has at least 2001 levels in 10010 rows, "
                         "but at most 2000 and one per 5 rows are allowed; merge levels, or omit "
                         "it from {use}");
        } else {
            r = learned(ctx, text, &o);
            assert_int_equal(r.column[0].levels.n, 2000);
            kn_encoding_clear(&r);
        }
        free(text);
    }
    kn_ctx_free(ctx);
}

FAILING_CASE(data_encoding, NULL, NULL)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, COHORT);
    kn_encoding_options o = with_id(KN_MISSING_DROP);
    o.use = "age,sex,site";
    o.categorical = "site";
    o.numeric = "age";
    for (int codes = 0; codes < 2; codes++)
        for (long k = 1;; k++) {
            o.codes = codes;
            kn_encoding r, back = {0};
            kn_mat X = {0};
            json_t *json = NULL;
            char *name = NULL;
            bool dropped[15];
            kn_fail_allocation(ctx, k);
            kn_status s = kn_encoding_learn(ctx, t, &o, &r);
            if (s == KN_OK)
                s = kn_mat_new(ctx, 15, kn_encoding_width(&r), &X);
            if (s == KN_OK)
                s = kn_encoding_apply(ctx, &r, t, NULL, X, dropped);
            if (s == KN_OK)
                s = kn_encoding_x_name(ctx, &r, codes ? 2 : 4, &name);
            if (s == KN_OK)
                s = kn_encoding_from_json(ctx, "m", json = kn_encoding_to_json(&r), &back);
            kn_fail_allocation(ctx, 0);
            kn_encoding_clear(&r);
            kn_encoding_clear(&back);
            kn_mat_clear(&X);
            kn_free(name);
            json_decref(json);
            if (s == KN_OK) {
                assert_true(k > 20);
                break;
            }
            assert_int_equal(s, KN_ERR_MEMORY);
        }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_encoding)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_becomes_numbers_and_indicators),
        cmocka_unit_test(levels_are_equally_far_apart),
        cmocka_unit_test(the_order_of_columns_and_rows_changes_nothing),
        cmocka_unit_test(numeric_levels_are_numbers),
        cmocka_unit_test(options_choose_the_columns),
        cmocka_unit_test(a_wrong_choice_is_a_sentence),
        cmocka_unit_test(cells_that_do_not_fit_are_named),
        cmocka_unit_test(a_new_table_that_does_not_fit_is_named),
        cmocka_unit_test(missing_values_drop_the_row_or_become_the_mean),
        cmocka_unit_test(a_category_of_one_level_is_left_out),
        cmocka_unit_test(sentences_stay_short_and_on_one_line),
        cmocka_unit_test(many_levels_are_taken_with_a_warning_and_too_many_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
