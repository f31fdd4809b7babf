#include "data/recipe.h"

#include "data/columns.h"
#include "data/words.h"
#include "logged.h"
#include "scratch.h"

static const kn_recipe_options DEFAULTS = {.id_col = -1};

/* 15 rows: 3 sites, 2 sexes, ages 20 to 34. */
static const char COHORT[] = "participant_id\tage\tsex\tsite\n"
                             "s01\t20\tM\tB\ns02\t21\tF\tA\ns03\t22\tM\tC\n"
                             "s04\t23\tM\tB\ns05\t24\tF\tA\ns06\t25\tM\tC\n"
                             "s07\t26\tM\tB\ns08\t27\tF\tA\ns09\t28\tM\tC\n"
                             "s10\t29\tM\tB\ns11\t30\tF\tA\ns12\t31\tM\tC\n"
                             "s13\t32\tM\tB\ns14\t33\tF\tA\ns15\t34\tM\tC\n";

static kn_table *table_named(kn_ctx *ctx, const char *name, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, name, '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

static kn_table *table_of(kn_ctx *ctx, const char *text)
{
    return table_named(ctx, "participants.tsv", text);
}

static kn_recipe_options with_id(kn_missing missing)
{
    kn_recipe_options o = DEFAULTS;
    o.id_col = 0;
    o.missing = missing;
    return o;
}

static kn_recipe learned(kn_ctx *ctx, const char *text, const kn_recipe_options *o)
{
    kn_table *t = table_of(ctx, text);
    kn_recipe r;
    assert_ok(ctx, kn_recipe_learn(ctx, t, o, &r));
    kn_table_free(t);
    return r;
}

static kn_mat applied(kn_ctx *ctx, const kn_recipe *r, const char *text, bool *dropped)
{
    kn_table *t = table_of(ctx, text);
    kn_mat X;
    assert_ok(ctx, kn_mat_new(ctx, kn_table_rows(t), kn_recipe_width(r), &X));
    assert_ok(ctx, kn_recipe_apply(ctx, r, t, NULL, X, dropped));
    kn_table_free(t);
    return X;
}

static void assert_x_names(kn_ctx *ctx, const kn_recipe *r, const char *expected)
{
    char all[512] = "", *name;
    for (ptrdiff_t f = 0; f < kn_recipe_width(r); f++) {
        assert_ok(ctx, kn_recipe_x_name(ctx, r, f, &name));
        strcat(strcat(all, f ? " " : ""), name);
        kn_free(name);
    }
    assert_string_equal(all, expected);
}

static void refuse_learn(kn_ctx *ctx, const char *text, kn_recipe_options o, kn_status status,
                         const char *sentence)
{
    kn_table *t = table_of(ctx, text);
    kn_recipe r = {.n = 7};
    assert_sentence(ctx, kn_recipe_learn(ctx, t, &o, &r), status, sentence);
    assert_int_equal(r.n, 0);
    assert_null(r.column);
    kn_table_free(t);
}

static void refuse_apply(kn_ctx *ctx, const kn_recipe *r, const char *text, const char *sentence)
{
    kn_table *t = table_named(ctx, "new.tsv", text);
    kn_mat X;
    bool dropped[64];
    assert_ok(ctx, kn_mat_new(ctx, kn_table_rows(t), kn_recipe_width(r), &X));
    assert_sentence(ctx, kn_recipe_apply(ctx, r, t, NULL, X, dropped), KN_ERR_DATA, sentence);
    kn_mat_clear(&X);
    kn_table_free(t);
}

static void a_table_becomes_numbers_and_indicators(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    kn_recipe r = learned(ctx, COHORT, &o);
    assert_int_equal(kn_recipe_width(&r), 5);
    assert_x_names(ctx, &r, "age sex=M site=A site=B site=C");
    assert_close(r.column[0].mean, 27, 1e-15);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    static const double first[2][5] = {{20, 1, 0, 1, 0}, {21, 0, 1, 0, 0}};
    for (ptrdiff_t i = 0; i < 2; i++)
        for (ptrdiff_t f = 0; f < 5; f++)
            assert_true(kn_at(X, i, f) == first[i][f]);
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

/* What the three indicators are for: the squared distance of any two sites is 2. */
static void levels_are_equally_far_apart(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    o.use = "site";
    kn_recipe r = learned(ctx, COHORT, &o);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    for (ptrdiff_t i = 0; i < 3; i++)
        for (ptrdiff_t j = 0; j < i; j++) {
            double d = 0;
            for (ptrdiff_t f = 0; f < 3; f++)
                d += pow(kn_at(X, i, f) - kn_at(X, j, f), 2);
            assert_true(d == 2);
        }
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void the_order_of_columns_and_rows_changes_nothing(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    static const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    kn_recipe r = learned(ctx, COHORT, &o);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    kn_table *t = table_of(ctx, COHORT);
    for (int p = 0; p < 4; p++) {
        char text[2048] = "";
        for (ptrdiff_t i = -1; i < kn_table_rows(t); i++)
            for (int j = 0; j < 4; j++) {
                strcat(text,
                       i < 0 ? kn_table_name(t, orders[p][j]) : kn_table_cell(t, i, orders[p][j]));
                strcat(text, j < 3 ? "\t" : "\t9\n"); /* and a column nobody asked for */
            }
        memcpy(strstr(text, "\t9\n"), "\t \n", 3); /* whose header is blank */
        kn_mat X1 = applied(ctx, &r, text, NULL);
        assert_same(X1, X, 0);
        kn_mat_clear(&X1);
    }
    /* Rows from last to first teach the same recipe but for the rounding of the mean. */
    ptrdiff_t rows[15];
    for (ptrdiff_t i = 0; i < 15; i++)
        rows[i] = 14 - i;
    kn_recipe back;
    o.rows = rows;
    o.n_rows = 15;
    assert_ok(ctx, kn_recipe_learn(ctx, t, &o, &back));
    assert_x_names(ctx, &back, "age sex=M site=A site=B site=C");
    kn_mat X2;
    assert_ok(ctx, kn_mat_new(ctx, 15, 5, &X2));
    assert_ok(ctx, kn_recipe_apply(ctx, &back, t, rows, X2, NULL));
    for (ptrdiff_t i = 0; i < 15; i++)
        for (ptrdiff_t f = 0; f < 5; f++)
            assert_true(kn_at(X2, i, f) == kn_at(X, 14 - i, f));
    kn_mat_clear(&X2);
    kn_mat_clear(&X);
    kn_recipe_clear(&back);
    kn_recipe_clear(&r);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* A spreadsheet writes 1 where another writes 1.0; ten comes after nine. */
static void numeric_levels_are_numbers(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = DEFAULTS;
    o.categorical = "site";
    kn_recipe r = learned(ctx,
                          "site\n10\n9\n1.0\n10\n9\n1\n10\n9\n1\n10\n9\n1\n10\n9\n1.00\n10\n9\n-0\n"
                          "0\n0\n",
                          &o);
    assert_x_names(ctx, &r, "site=0 site=1 site=9 site=10");
    kn_mat X = applied(ctx, &r, "site\n10.0\n 1 \n", NULL);
    assert_true(kn_at(X, 0, 3) == 1 && kn_at(X, 1, 1) == 1);
    kn_mat_clear(&X);
    refuse_apply(ctx, &r, "site\n9\n11\n",
                 "new.tsv line 3: site is '11', a level that training did not have (it had 0, 1, "
                 "9, 10)");
    kn_recipe_clear(&r);

    /* Beyond 2^53 two codes may be one double, and are still two codes. */
    r = learned(ctx,
                "site\n123456789012345678\n123456789012345679\n123456789012345678\n"
                "123456789012345679\n123456789012345678\n123456789012345679\n"
                "123456789012345678\n123456789012345679\n123456789012345678\n"
                "123456789012345679\n",
                &o);
    assert_x_names(ctx, &r, "site=123456789012345679");
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void options_choose_the_columns(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    const char *const responses[] = {"age"};
    o.use = " site , age";
    kn_recipe r = learned(ctx, COHORT, &o);
    assert_x_names(ctx, &r, "site=A site=B site=C age");
    kn_recipe_clear(&r);
    o.use = NULL;
    o.responses = responses;
    o.n_responses = 1;
    r = learned(ctx, COHORT, &o);
    assert_x_names(ctx, &r, "sex=M site=A site=B site=C");
    kn_recipe_clear(&r);

    /* Blank headers are ignored, spaces around a header are not part of it. */
    r = learned(ctx, "\t age \t\n1\t2\t3\n4\t5\t6\n", &DEFAULTS);
    assert_x_names(ctx, &r, "age");
    kn_mat X = applied(ctx, &r, "age\n7\n", NULL);
    assert_true(kn_at(X, 0, 0) == 7);
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void a_wrong_choice_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    const char *const responses[] = {"age"};
    static const struct {
        const char *use, *categorical, *sentence;
    } cases[] = {
        {"agee", NULL,
         "participants.tsv: no column 'agee' as {use} asks for; the closest are age, sex, site, "
         "participant_id"},
        {"SITES", NULL,
         "participants.tsv: no column 'SITES' as {use} asks for; the closest are site, sex, age, "
         "participant_id"},
        {"age,,sex", NULL,
         "{use} 'age,,sex': name 2 is empty, expected names with a comma between them"},
        {"", NULL, "{use} '': name 1 is empty, expected names with a comma between them"},
        {"age,sex,", NULL,
         "{use} 'age,sex,': name 3 is empty, expected names with a comma between them"},
        {"age,sex,age", NULL, "{use} names 'age' twice"},
        {"participant_id", NULL,
         "participants.tsv: {use=participant_id}: it is the id column and cannot be a covariate"},
        {NULL, "sites",
         "participants.tsv: no column 'sites' as {categorical} asks for; the closest are site, "
         "sex, age, participant_id"},
        {"age", "site", "participants.tsv: {categorical=site}: it is not among the covariates"},
        {"age", ",",
         "{categorical} ',': name 1 is empty, expected names with a comma between "
         "them"},
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
                 "participants.tsv: {use=age}: it is a response and cannot be a covariate");
    o = with_id(KN_MISSING_ERROR);
    o.one_file = true;
    refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                 "participants.tsv: covariates and responses are one file, name the covariates "
                 "with {use}");
    refuse_learn(ctx, "participant_id\ns1\n", with_id(KN_MISSING_ERROR), KN_ERR_DATA,
                 "participants.tsv: no column is left to be a covariate");
    kn_ctx_free(ctx);
}

static void more_than_twenty_columns_need_use(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int cols = 20; cols <= 21; cols++) {
        char text[512] = "";
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < cols; j++)
                sprintf(text + strlen(text), "%s%d%s", i ? "" : "c", i + j,
                        j < cols - 1 ? "\t" : "\t\n"); /* and a blank one, which does not count */
        if (cols == 21)
            refuse_learn(ctx, text, DEFAULTS, KN_ERR_ARGUMENT,
                         "participants.tsv: 21 columns, more than the 20 that are covariates by "
                         "default, name the covariates with {use}");
        else {
            kn_recipe r = learned(ctx, text, &DEFAULTS);
            assert_int_equal(r.n, 20);
            kn_recipe_clear(&r);
        }
    }
    kn_ctx_free(ctx);
}

static void cells_that_do_not_fit_are_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = DEFAULTS;
    refuse_learn(ctx, "age\n1\n2\n\n3O\n4\n", o, KN_ERR_DATA,
                 "participants.tsv line 5: age is '3O', expected a number as in most rows (or "
                 "name the column in {categorical})");
    refuse_learn(ctx, "age\n1\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: age is 'n/a', expected a number (use {missing=drop})");
    refuse_learn(ctx, "site\nA\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', expected a category (use "
                 "{missing=drop})");
    refuse_learn(ctx, "site\nA\nB\nA\nB\nC\nA\nB\nA\nB\nC\n", o, KN_ERR_DATA,
                 "participants.tsv: site is a category with at least 3 levels in 10 rows, at most "
                 "50 and one for every 5 rows can be used (leave it out with {use})");
    refuse_learn(ctx, "site\nZ\xfcrich\nA\n", o, KN_ERR_DATA,
                 "participants.tsv line 2: 'Z\xfcrich' is not UTF-8 text");
    refuse_learn(ctx, "gr\xf6sse\n1\n2\n", o, KN_ERR_DATA,
                 "participants.tsv line 1: 'gr\xf6sse' is not UTF-8 text");
    refuse_learn(ctx, "age\t age\n1\t2\n2\t1\n", o, KN_ERR_FORMAT,
                 "participants.tsv: two covariates are named 'age'");
    refuse_learn(ctx, "site\nA\nA\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate is constant");
    o.missing = KN_MISSING_MEAN;
    refuse_learn(ctx, "age\nn/a\n\"\"\n", o, KN_ERR_DATA,
                 "participants.tsv: age has no value at all");
    refuse_learn(ctx, "site\nA\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', expected a category (use "
                 "{missing=drop})");
    o.missing = KN_MISSING_DROP;
    refuse_learn(ctx, "a\tb\n1\tn/a\nn/a\t2\n", o, KN_ERR_DATA,
                 "participants.tsv: no row has a value for every covariate");

    /* 300 rows: 50 levels are taken, 51 are not. */
    for (int levels = 50; levels <= 51; levels++) {
        char text[4096] = "site\n";
        for (int i = 0; i < 300; i++)
            sprintf(text + strlen(text), "s%d\n", i % levels);
        o.missing = KN_MISSING_ERROR;
        if (levels == 51)
            refuse_learn(ctx, text, o, KN_ERR_DATA,
                         "participants.tsv: site is a category with at least 51 levels in 300 "
                         "rows, at most 50 and one for every 5 rows can be used (leave it out "
                         "with {use})");
        else {
            kn_recipe r = learned(ctx, text, &o);
            assert_int_equal(kn_recipe_width(&r), 50);
            kn_recipe_clear(&r);
        }
    }
    kn_ctx_free(ctx);
}

static void a_new_table_that_does_not_fit_is_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_id(KN_MISSING_ERROR);
    kn_recipe r = learned(ctx, COHORT, &o);
    refuse_apply(ctx, &r, "age\tsex\tplace\n20\tM\tA\n",
                 "new.tsv: no column 'site' which the model was fitted with; the closest are sex, "
                 "age, place");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\t20\tM\nLeeds\t20\tM\n",
                 "new.tsv line 3: site is 'Leeds', a level that training did not have (it had A, "
                 "B, C)");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\told\tM\n",
                 "new.tsv line 2: age is 'old', expected a number");
    refuse_apply(ctx, &r, "site\tage\tsex\nA\tn/a\tM\n",
                 "new.tsv line 2: age is 'n/a', expected a number (use {missing=drop})");
    refuse_apply(ctx, &r, "site\tage\tsex\n\t20\tM\n",
                 "new.tsv line 2: site is '', expected a category (use {missing=drop})");
    refuse_apply(ctx, &r, "site\tage\tsex\n\"A\n\tb\"\t20\tM\n",
                 "new.tsv line 2: site is 'A??b', a level that training did not have (it had A, "
                 "B, C)");
    r.missing = KN_MISSING_MEAN;
    refuse_apply(ctx, &r, "site\tage\tsex\nn/a\t20\tM\n",
                 "new.tsv line 2: site is 'n/a', expected a category (use {missing=drop})");
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void missing_values_drop_the_row_or_become_the_mean(void **state)
{
    (void)state;
    static const char gaps[] = "age\tsite\n10\tA\n20\tB\nn/a\tQ\n30\t\n40\tA\n50\tB\n60\tA\n70\tB\n"
                               "80\tA\n90\tB\n20\tA\n30\tB\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = DEFAULTS;
    logged log = {0};
    bool dropped[12];
    kn_set_log(ctx, logged_take, &log);

    /* What stands in a dropped row is no level and counts in no mean. */
    o.missing = KN_MISSING_DROP;
    kn_recipe r = learned(ctx, gaps, &o);
    assert_x_names(ctx, &r, "age site=B");
    assert_close(r.column[0].mean, 47, 1e-15);
    kn_mat X = applied(ctx, &r, gaps, dropped);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: 2 of 12 rows lack a covariate and are left out");
    for (ptrdiff_t i = 0; i < 12; i++) {
        assert_int_equal(dropped[i], i == 2 || i == 3);
        assert_int_equal(isnan(kn_at(X, i, 0)), dropped[i]);
        assert_int_equal(isnan(kn_at(X, i, 1)), dropped[i]);
    }
    kn_mat_clear(&X);
    kn_recipe_clear(&r);

    o.missing = KN_MISSING_MEAN;
    o.use = "age";
    r = learned(ctx, "age\n1\nn/a\n3\n8\n", &o);
    assert_close(r.column[0].mean, 4, 1e-15);
    X = applied(ctx, &r, "age\nNA\n7\n", dropped);
    assert_logged(log, KN_LOG_INFO,
                  "participants.tsv: 1 missing values of age are the training mean, 4");
    assert_true(kn_at(X, 0, 0) == r.column[0].mean && kn_at(X, 1, 0) == 7);
    assert_false(dropped[0] || dropped[1]);
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void a_category_of_one_level_is_left_out(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_recipe r = learned(ctx, "site\tage\nOxford\t1\nOxford\t2\n", &DEFAULTS);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site is 'Oxford' in every row, it is left out");
    assert_x_names(ctx, &r, "age");
    kn_mat X = applied(ctx, &r, "age\n5\n", NULL);
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void assert_recipes_equal(const kn_recipe *a, const kn_recipe *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->missing, b->missing);
    assert_int_equal(a->codes, b->codes);
    for (ptrdiff_t k = 0; k < a->n; k++) {
        const kn_covariate *x = &a->column[k], *y = &b->column[k];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->kind, y->kind);
        assert_memory_equal(&x->mean, &y->mean, sizeof x->mean);
        assert_int_equal(x->levels.n, y->levels.n);
        assert_int_equal(x->levels.numbers, y->levels.numbers);
        assert_int_equal(x->two_valued, y->two_valued);
        for (ptrdiff_t l = 0; l < x->levels.n; l++)
            assert_string_equal(x->levels.text[l], y->levels.text[l]);
    }
}

static void a_recipe_survives_json_to_the_bit(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = DEFAULTS;
    o.missing = KN_MISSING_MEAN;
    o.categorical = "code";
    kn_recipe r = learned(ctx,
                          "age\tZ\xc3\xbcrich & \"co\"\tcode\n.1\ta,b\t9\n.2\ta\\\t10\n.7\ta,b\t9\n"
                          ".1\ta\\\t10\n.1\ta\\\t9\n.1\ta\\\t9\n.1\ta\\\t9\n.1\ta\\\t9\n"
                          ".1\ta\\\t9\n.1\ta\\\t9\n",
                          &o);
    json_t *json = kn_recipe_to_json(&r);
    assert_non_null(json);
    char *text = json_dumps(json, JSON_COMPACT);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    kn_recipe back;
    assert_ok(ctx, kn_recipe_from_json(ctx, "m", again, &back));
    assert_recipes_equal(&r, &back);
    json_t *json2 = kn_recipe_to_json(&back);
    char *text2 = json_dumps(json2, JSON_COMPACT);
    assert_string_equal(text, text2);
    free(text);
    free(text2);
    json_decref(json);
    json_decref(again);
    json_decref(json2);
    kn_recipe_clear(&r);
    kn_recipe_clear(&back);
    kn_ctx_free(ctx);
}

#define COLUMNS(text) "{\"missing\":\"drop\",\"columns\":" text "}"
#define CATEGORY(levels)                                                                           \
    COLUMNS("[{\"name\":\"s\",\"kind\":\"categorical\",\"levels\":" levels "}]")
#define CODES(levels, more)                                                                        \
    "{\"missing\":\"drop\",\"codes\":true,\"columns\":[{\"name\":\"s\",\"kind\":\"categorical\","  \
    "\"levels\":" levels more "}]}"
#define TWO_VALUED "m: covariate 1: two_valued, expected of codes with two numbers for levels"
#define AGE        "{\"name\":\"age\",\"kind\":\"numeric\",\"mean\":1}"

static void hostile_json_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", "m: the recipe of the covariates says nothing of missing values"},
        {"{}", "m: the recipe of the covariates says nothing of missing values"},
        {"{\"missing\":1}", "m: the recipe of the covariates says nothing of missing values"},
        {"{\"missing\":\"no\"}", "m: the recipe of the covariates says nothing of missing values"},
        {"{\"missing\":\"drop\"}", "m: the recipe has 0 covariates, expected 1 to 10000"},
        {COLUMNS("[]"), "m: the recipe has 0 covariates, expected 1 to 10000"},
        {COLUMNS("{\"a\":1}"), "m: the recipe has 0 covariates, expected 1 to 10000"},
        {COLUMNS("[1]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[" AGE ",{\"name\":\"\"}]"), "m: covariate 2: expected a name"},
        {COLUMNS("[{\"name\":\" a\"}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":\"a\\u0000b\"}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":3}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":\"a\"}]"), "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":[]}]"),
         "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"x\"}]"),
         "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"numeric\"}]"),
         "m: covariate 1: expected a mean, a finite number"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"numeric\",\"mean\":\"1\"}]"),
         "m: covariate 1: expected a mean, a finite number"},
        {COLUMNS("[" AGE "," AGE "]"), "m: two covariates are named 'age'"},
        {CATEGORY("null"), "m: covariate 1: 0 levels, expected 2 to 50"},
        {CATEGORY("{}"), "m: covariate 1: 0 levels, expected 2 to 50"},
        {CATEGORY("[\"a\"]"), "m: covariate 1: 1 levels, expected 2 to 50"},
        {CATEGORY("[\"a\",2]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"b \"]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"\",\"b\"]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"n/a\"]"),
         "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"1\",\"2.0\"]"),
         "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"a\"]"), "m: covariate 1: levels are doubled or out of order"},
        {CATEGORY("[\"b\",\"a\"]"), "m: covariate 1: levels are doubled or out of order"},
        {CATEGORY("[\"10\",\"9\"]"), "m: covariate 1: levels are doubled or out of order"},
        {"{\"missing\":\"drop\",\"codes\":1}", "m: codes of the recipe, expected true or false"},
        {CODES("[]", ""), "m: covariate 1: 0 levels, expected 1 to 50"},
        {CODES("[\"1\",\"2\"]", ",\"two_valued\":0"), TWO_VALUED},
        {CODES("[\"a\",\"b\"]", ",\"two_valued\":true"), TWO_VALUED},
        {CODES("[\"1\"]", ",\"two_valued\":true"), TWO_VALUED},
        {CODES("[\"1\",\"2\",\"3\"]", ",\"two_valued\":true"), TWO_VALUED},
        {COLUMNS("[{\"name\":\"s\",\"kind\":\"categorical\",\"levels\":[\"1\",\"2\"],"
                 "\"two_valued\":true}]"),
         TWO_VALUED},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i].text, JSON_ALLOW_NUL, NULL);
        kn_recipe r = {.n = 7};
        assert_non_null(json);
        assert_sentence(ctx, kn_recipe_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                        cases[i].sentence);
        assert_int_equal(r.n, 0);
        assert_null(r.column);
        json_decref(json);
    }
    kn_recipe r;
    assert_refused(ctx, kn_recipe_from_json(ctx, "m", NULL, &r), KN_ERR_FORMAT, "m: the recipe");
    kn_ctx_free(ctx);
}

static void hostile_sizes_are_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    char name[KN_LEVEL_SIZE + 1];
    kn_recipe r;
    memset(name, 'x', sizeof name);
    name[KN_LEVEL_SIZE] = '\0';
    json_t *json = json_pack("{s:s, s:[{s:s, s:s, s:f}]}", "missing", "drop", "columns", "name",
                             name, "kind", "numeric", "mean", 1.0);
    assert_sentence(ctx, kn_recipe_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: covariate 1: expected a name");
    json_decref(json);

    json_t *columns = json_array();
    for (int i = 0; i < KN_RECIPE_MOST + 1; i++)
        json_array_append_new(columns, json_null());
    json = json_pack("{s:s, s:o}", "missing", "drop", "columns", columns);
    assert_sentence(ctx, kn_recipe_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: the recipe has 10001 covariates, expected 1 to 10000");
    json_decref(json);

    json_t *levels = json_array();
    for (int i = 0; i < KN_LEVELS_MOST + 1; i++)
        json_array_append_new(levels, json_sprintf("%03d", i));
    json = json_pack("{s:s, s:[{s:s, s:s, s:o}]}", "missing", "drop", "columns", "name", "a",
                     "kind", "categorical", "levels", levels);
    assert_sentence(ctx, kn_recipe_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: covariate 1: 51 levels, expected 2 to 50");
    json_decref(json);
    kn_ctx_free(ctx);
}

/* ---- codes --------------------------------------------------------------------------------- */

static kn_recipe_options with_codes(kn_missing missing)
{
    kn_recipe_options o = DEFAULTS;
    o.codes = true;
    o.missing = missing;
    return o;
}

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
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
    o.id_col = 0;
    kn_recipe r = learned(ctx, COHORT, &o);
    int levels[3], values[3];
    assert_true(r.codes);
    assert_int_equal(kn_recipe_width(&r), 3);
    assert_x_names(ctx, &r, "age sex site");
    kn_recipe_levels(&r, levels);
    kn_recipe_values(&r, values);
    assert_true(levels[0] == 0 && levels[1] == 2 && levels[2] == 3);
    assert_true(values[0] == KN_VALUES_COUNTED && values[1] == 0 && values[2] == 0);
    kn_mat X = applied(ctx, &r, COHORT, NULL);
    for (ptrdiff_t i = 0; i < 15; i++) {
        assert_true(kn_at(X, i, 0) == 20 + (double)i);
        assert_true(kn_at(X, i, 1) == (i % 3 == 1 ? 0 : 1));
        assert_true(kn_at(X, i, 2) == (i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 2));
    }
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

/* Numbers of a site are names; of other few whole numbers nobody can know. */
static void sites_are_categories_by_their_name(void **state)
{
    (void)state;
    static const char *const heads[] = {"site", " Scanner_ID", "BATCH", "centre", "center_id"};
    static const char *const others[] = {"sites", "weight", "age", "scan_age"};
    char text[1024];
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
    for (size_t h = 0; h < 9; h++) {
        const char *head = h < 5 ? heads[h] : others[h - 5];
        snprintf(text, sizeof text, "%s\tx\n", head);
        for (int i = 0; i < 25; i++)
            snprintf(text + strlen(text), 32, "%d\t%d.5\n", 1 + i % 4, i);
        log = (logged){0};
        kn_set_log(ctx, logged_take, &log);
        kn_recipe r = learned(ctx, text, &o);
        assert_int_equal(r.column[0].kind, h < 5 ? KN_COVARIATE_CATEGORY : KN_COVARIATE_NUMERIC);
        assert_int_equal(log.lines, h < 7); /* an age is not doubted */
        if (h >= 5 && h < 7)
            assert_int_equal(log.level, KN_LOG_WARNING);
        kn_recipe_clear(&r);
        o.numeric = head;
        log = (logged){0};
        r = learned(ctx, text, &o);
        assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && log.lines == 0);
        kn_recipe_clear(&r);
        o.numeric = NULL;
    }
    /* more levels than the rows can bear stay numbers */
    snprintf(text, sizeof text, "site\n");
    for (int i = 0; i < 25; i++)
        snprintf(text + strlen(text), 32, "%d\n", 1 + i % 6);
    kn_recipe r = learned(ctx, text, &o);
    assert_int_equal(r.column[0].kind, KN_COVARIATE_NUMERIC);
    kn_recipe_clear(&r);
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
        {NULL, NULL, "age wave patients"},  {NULL, "WAVE", "age patients"},
        {"age,group", NULL, "age Group"},   {"*a*,AGE", NULL, "age wave patients"},
        {"d?,age,*e", NULL, "dx age wave"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_recipe_options o = with_id(KN_MISSING_ERROR);
        const char **names;
        ptrdiff_t n;
        char all[128] = "";
        o.use = cases[i].use;
        o.session = cases[i].session;
        assert_ok(ctx, kn_recipe_names(ctx, t, &o, &names, &n));
        for (ptrdiff_t k = 0; k < n; k++)
            strcat(strcat(all, k ? " " : ""), names[k]);
        assert_string_equal(all, cases[i].names);
        kn_free(names);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* Sex as 1 and 2 is a category, unless somebody says otherwise. */
static void two_numbers_are_a_category(void **state)
{
    (void)state;
    static const char sexes[] = "sex\tage\tone\n2.0\t30\t4\n1\t31\t4\n2\t32\t4\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
    kn_recipe r = learned(ctx, sexes, &o); /* three rows are enough */
    assert_int_equal(r.n, 3);
    assert_true(r.column[0].kind == KN_COVARIATE_CATEGORY && r.column[0].two_valued);
    assert_true(r.column[0].levels.numbers);
    assert_int_equal(r.column[1].kind, KN_COVARIATE_NUMERIC);
    assert_true(r.column[2].kind == KN_COVARIATE_NUMERIC && r.column[2].values == 1);
    kn_mat X = applied(ctx, &r, sexes, NULL);
    assert_column(X, 0, (const double[]){1, 0, 1});
    kn_mat_clear(&X);
    refuse_apply(ctx, &r, "sex\tage\tone\n1\t30\t4\n1.5\t30\t4\n",
                 "new.tsv line 3: sex is '1.5', a level that training did not have (it had 1 and "
                 "2; {numeric=sex} would take it as a number)");
    refuse_apply(ctx, &r, "sex\tage\tone\nn/a\t30\t4\n",
                 "new.tsv line 2: sex is 'n/a', expected a number (use {missing=drop})");
    kn_recipe_clear(&r);

    o.numeric = "sex";
    r = learned(ctx, sexes, &o);
    assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && r.column[0].values == 2);
    kn_recipe_clear(&r);
    o.numeric = NULL;
    o.codes = false;
    r = learned(ctx, sexes, &o);
    assert_int_equal(r.column[0].kind, KN_COVARIATE_NUMERIC);
    kn_recipe_clear(&r);

    /* A slip is still a slip, and a missing value is no value. */
    o.codes = true;
    refuse_learn(ctx, "sex\n1\n2\nF\n1\n2\n", o, KN_ERR_DATA,
                 "participants.tsv line 4: sex is 'F', expected a number as in most rows (or name "
                 "the column in {categorical})");
    refuse_learn(ctx, "sex\n1\n2\nn/a\n", o, KN_ERR_DATA,
                 "participants.tsv line 4: sex is 'n/a', expected a number (use {missing=drop})");

    /* Codes too long for a double are numbers or named categories. */
    r = learned(ctx, "c\n123456789012345678\n123456789012345679\n900000000000000000\n", &o);
    assert_true(r.column[0].kind == KN_COVARIATE_NUMERIC && r.column[0].values == 2);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void many_columns_of_two_numbers_stay_numbers(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
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
            kn_recipe r = learned(ctx, text, &o);
            for (ptrdiff_t k = 0; k < r.n; k++)
                assert_int_equal(r.column[k].kind == KN_COVARIATE_CATEGORY,
                                 pixels == 6 && k >= 2 && !(named && k == 3));
            kn_recipe_clear(&r);
        }
    kn_ctx_free(ctx);
}

static void numeric_is_checked_like_categorical(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int codes = 0; codes < 2; codes++) {
        kn_recipe_options o = with_id(KN_MISSING_ERROR);
        o.codes = codes;
        o.numeric = "ages";
        refuse_learn(ctx, COHORT, o, KN_ERR_DATA,
                     "participants.tsv: no column 'ages' as {numeric} asks for; the closest are "
                     "age, sex, site, participant_id");
        o.numeric = "age";
        o.use = "sex,site";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "participants.tsv: {numeric=age}: it is not among the covariates");
        o.use = NULL;
        o.categorical = "sex,age";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "{categorical} and {numeric} both name 'age', expected one of them");
        o.categorical = NULL;
        o.numeric = "sex";
        refuse_learn(ctx, COHORT, o, KN_ERR_DATA,
                     "participants.tsv line 2: sex is 'M', expected a number as {numeric} asks "
                     "for");
        o.numeric = NULL;
        o.group = "site";
        kn_recipe r = learned(ctx, COHORT, &o);
        assert_int_equal(r.n, 2);
        kn_recipe_clear(&r);
        o.use = "age,site";
        refuse_learn(ctx, COHORT, o, KN_ERR_ARGUMENT,
                     "participants.tsv: {use=site}: it is the column of {group} and cannot be a "
                     "covariate");
    }
    kn_ctx_free(ctx);
}

static void one_level_is_kept_as_a_code(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_recipe r = learned(ctx, "site\tage\nOxford\t1\nOxford\t2\nOxford\t3\n", &o);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site is 'Oxford' in every row, it says nothing of the "
                  "responses");
    assert_x_names(ctx, &r, "site age");
    refuse_apply(ctx, &r, "age\tsite\n5\tOxford\n5\tBonn\n",
                 "new.tsv line 3: site is 'Bonn', a level that training did not have (it had "
                 "Oxford)");
    kn_recipe_clear(&r);
    refuse_learn(ctx, "site\tage\nOxford\t1\nOxford\t1\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate is constant");
    refuse_learn(ctx, "age\n1\n1\n", o, KN_ERR_DATA,
                 "participants.tsv: every covariate is constant");
    kn_ctx_free(ctx);
}

static void an_unseen_level_is_a_code_where_that_is_allowed(void **state)
{
    (void)state;
    static const char new[] = "site\tage\tsex\nB\t1\tM\nLeeds\t1\tM\n Leeds\t1\tF\nBonn\t1\tF\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_ERROR);
    o.id_col = 0;
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_recipe r = learned(ctx, COHORT, &o);
    refuse_apply(ctx, &r, new,
                 "new.tsv line 3: site is 'Leeds', a level that training did not have (it had A, "
                 "B, C)");
    r.unseen = true;
    kn_mat X = applied(ctx, &r, new, NULL);
    assert_column(X, 2, (const double[]){1, 3, 3, 3});
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site of 3 people is a level that training did not have: "
                  "Leeds, Bonn");
    assert_int_equal(log.lines, 1);
    kn_mat_clear(&X);

    char many[1024] = "site\tage\tsex\n";
    for (int i = 0; i < 20; i++)
        sprintf(many + strlen(many), "s%d\t1\tM\n", i % 10);
    X = applied(ctx, &r, many, NULL);
    assert_logged(log, KN_LOG_WARNING,
                  "participants.tsv: site of 20 people is a level that training did not have: s0, "
                  "s1, s2, s3, s4, ...");
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void a_missing_category_has_no_code(void **state)
{
    (void)state;
    static const char gaps[] = "site\tsex\tage\nA\t0\t1\nn/a\t1\t2\nB\t\t3\nA\t1\tn/a\nA\t0\t5\n"
                               "A\t0\t5\nA\t0\t5\nB\t0\t5\nA\t0\t5\nA\t0\t5\n";
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_MEAN);
    kn_recipe r = learned(ctx, gaps, &o);
    kn_mat X = applied(ctx, &r, gaps, NULL);
    assert_column(X, 0, (const double[]){0, NAN, 1, 0, 0, 0, 0, 1, 0, 0});
    assert_column(X, 1, (const double[]){0, 1, NAN, 1, 0, 0, 0, 0, 0, 0});
    assert_close(kn_at(X, 3, 2), 4, 1e-15);
    assert_int_equal(r.column[2].values, 4); /* the mean that fills is no value */
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    o.missing = KN_MISSING_ERROR;
    refuse_learn(ctx, gaps, o, KN_ERR_DATA,
                 "participants.tsv line 3: site is 'n/a', expected a category (use "
                 "{missing=drop})");
    o.missing = KN_MISSING_DROP;
    o.use = "sex,age";
    r = learned(ctx, gaps, &o);
    bool dropped[10];
    X = applied(ctx, &r, gaps, dropped);
    assert_column(X, 0, (const double[]){0, 1, NAN, NAN, 0, 0, 0, 0, 0, 0});
    assert_int_equal(r.column[0].levels.n, 2);
    kn_mat_clear(&X);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

static void codes_survive_json(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_recipe_options o = with_codes(KN_MISSING_MEAN);
    kn_recipe r = learned(ctx, "sex\tage\tsite\n1\t.1\tA\n2\t.2\tA\n1\t.3\tA\n", &o);
    json_t *json = kn_recipe_to_json(&r);
    char *text = json_dumps(json, JSON_COMPACT), *old;
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    kn_recipe back;
    assert_ok(ctx, kn_recipe_from_json(ctx, "m", again, &back));
    assert_recipes_equal(&r, &back);
    assert_true(back.codes && back.column[0].two_valued && !back.column[2].two_valued);
    refuse_apply(ctx, &back, "sex\tage\tsite\n3\t1\tA\n",
                 "new.tsv line 2: sex is '3', a level that training did not have (it had 1 and 2; "
                 "{numeric=sex} would take it as a number)");
    kn_recipe_clear(&back);
    kn_recipe_clear(&r);
    json_decref(json);
    json_decref(again);
    free(text);

    /* A recipe of before says nothing of codes, and has none. */
    o.codes = false;
    r = learned(ctx, "sex\tage\n1\t.1\n2\t.2\n", &o);
    json = kn_recipe_to_json(&r);
    old = json_dumps(json, JSON_COMPACT);
    assert_null(strstr(old, "codes"));
    assert_ok(ctx, kn_recipe_from_json(ctx, "m", json, &back));
    assert_false(back.codes);
    free(old);
    json_decref(json);
    kn_recipe_clear(&back);
    kn_recipe_clear(&r);
    kn_ctx_free(ctx);
}

/* ---- sentences and memory ------------------------------------------------------------------ */

static void sentences_stay_short_and_on_one_line(void **state)
{
    (void)state;
    kn_listing list = {.most = 2}, many = {0};
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

static void running_out_of_memory_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, COHORT);
    kn_recipe_options o = with_id(KN_MISSING_DROP);
    o.use = "age,sex,site";
    o.categorical = "site";
    o.numeric = "age";
    for (int codes = 0; codes < 2; codes++)
        for (long k = 1;; k++) {
            o.codes = codes;
            kn_recipe r, back = {0};
            kn_mat X = {0};
            json_t *json = NULL;
            char *name = NULL;
            bool dropped[15];
            kn_fail_allocation(ctx, k);
            kn_status s = kn_recipe_learn(ctx, t, &o, &r);
            if (s == KN_OK)
                s = kn_mat_new(ctx, 15, kn_recipe_width(&r), &X);
            if (s == KN_OK)
                s = kn_recipe_apply(ctx, &r, t, NULL, X, dropped);
            if (s == KN_OK)
                s = kn_recipe_x_name(ctx, &r, codes ? 2 : 4, &name);
            if (s == KN_OK)
                s = kn_recipe_from_json(ctx, "m", json = kn_recipe_to_json(&r), &back);
            kn_fail_allocation(ctx, 0);
            kn_recipe_clear(&r);
            kn_recipe_clear(&back);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_becomes_numbers_and_indicators),
        cmocka_unit_test(levels_are_equally_far_apart),
        cmocka_unit_test(the_order_of_columns_and_rows_changes_nothing),
        cmocka_unit_test(numeric_levels_are_numbers),
        cmocka_unit_test(options_choose_the_columns),
        cmocka_unit_test(a_wrong_choice_is_a_sentence),
        cmocka_unit_test(more_than_twenty_columns_need_use),
        cmocka_unit_test(cells_that_do_not_fit_are_named),
        cmocka_unit_test(a_new_table_that_does_not_fit_is_named),
        cmocka_unit_test(missing_values_drop_the_row_or_become_the_mean),
        cmocka_unit_test(a_category_of_one_level_is_left_out),
        cmocka_unit_test(a_recipe_survives_json_to_the_bit),
        cmocka_unit_test(hostile_json_is_refused),
        cmocka_unit_test(hostile_sizes_are_refused),
        cmocka_unit_test(with_codes_a_covariate_is_one_column),
        cmocka_unit_test(sites_are_categories_by_their_name),
        cmocka_unit_test(some_columns_are_covariates_only_where_they_are_named),
        cmocka_unit_test(two_numbers_are_a_category),
        cmocka_unit_test(many_columns_of_two_numbers_stay_numbers),
        cmocka_unit_test(numeric_is_checked_like_categorical),
        cmocka_unit_test(one_level_is_kept_as_a_code),
        cmocka_unit_test(an_unseen_level_is_a_code_where_that_is_allowed),
        cmocka_unit_test(a_missing_category_has_no_code),
        cmocka_unit_test(codes_survive_json),
        cmocka_unit_test(sentences_stay_short_and_on_one_line),
        cmocka_unit_test(running_out_of_memory_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
