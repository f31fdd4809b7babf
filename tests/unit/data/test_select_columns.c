#include "data/table/select_columns.h"

#include "support/failing.h"
#include "support/logged.h"
#include "support/scratch.h"

static const char REGIONS[] = "sub_id\tage\tsex\tlh_a&b\tlh_c-d\trh_a[1]\tnote\t\n"
                              "1\t20\t0\t1.5\t2.5\t3.5\tgood\t9\n"
                              "2\t30\t1\tn/a\t4.5\t5.5\t\t9\n"
                              "3\t40\t1\t6.5\t7.5\t8.5\tbad\t9\n";

static kn_table *table_of(kn_ctx *ctx, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, "y.tsv", '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

static const char *const TAKEN[] = {"age", " sex"};

static kn_select_options options(const char *targets)
{
    kn_select_options o = {.targets = targets, .id_col = 0, .taken = TAKEN, .n_taken = 2};
    return o;
}

static void assert_selects(kn_ctx *ctx, const kn_table *t, const kn_select_options *o,
                           const char *expected)
{
    kn_selection s;
    char all[256] = "";
    assert_ok(ctx, kn_select(ctx, t, o, &s));
    for (ptrdiff_t k = 0; k < s.n; k++) {
        strcat(strcat(all, k ? " " : ""), s.name[k]);
        assert_string_equal(s.name[k], kn_table_name(t, s.col[k]));
    }
    assert_string_equal(all, expected);
    kn_selection_clear(&s);
}

static void patterns_choose_in_the_order_of_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *targets, *chosen;
    } cases[] = {
        {"lh_*", "lh_a&b lh_c-d"},
        {"rh_*, lh_*", "lh_a&b lh_c-d rh_a[1]"},
        {"?h_a*,lh_*", "lh_a&b lh_c-d rh_a[1]"},
        {"rh_a[1]", "rh_a[1]"},
        {"*", "lh_a&b lh_c-d rh_a[1] note"},
        {"lh_c-d", "lh_c-d"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, REGIONS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_select_options o = options(cases[i].targets);
        assert_selects(ctx, t, &o, cases[i].chosen);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void by_default_every_free_number_is_a_response(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_table *t = table_of(ctx, REGIONS);
    kn_select_options o = options(NULL);
    assert_selects(ctx, t, &o, "lh_a&b lh_c-d rh_a[1]");
    assert_logged(log, KN_LOG_INFO, "y.tsv: not numbers, so not responses: note");
    o = (kn_select_options){.id_col = -1};
    assert_selects(ctx, t, &o, "lh_a&b lh_c-d rh_a[1]");
    assert_logged(log, KN_LOG_INFO,
                  "y.tsv: at most 20 different whole numbers, so not responses unless {targets} "
                  "names them: sub_id, age, sex");
    o.targets = "AGE,lh_*"; /* in any case where there is one such name */
    assert_selects(ctx, t, &o, "age lh_a&b lh_c-d");
    kn_table_free(t);
    char text[256] = "a\tb\n";
    for (int i = 0; i <= 20; i++)
        snprintf(text + strlen(text), 32, "%d\t%d\n", i, i % 20);
    t = table_of(ctx, text);
    o = (kn_select_options){.id_col = -1};
    assert_selects(ctx, t, &o, "a"); /* 21 different ones are as good as any number */
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_wrong_choice_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *targets, *sentence;
    } cases[] = {
        {"lh_*,th_*",
         "y.tsv has no column 'th_*' (named in {targets}); did you mean lh_a&b, lh_c-d, rh_a[1]?"},
        {"age", "y.tsv: {targets=age} is a covariate or a label and cannot be a response"},
        {"sex", "y.tsv: {targets=sex} is a covariate or a label and cannot be a response"},
        {"sub_id", "y.tsv: {targets=sub_id} is the ID column and cannot be a response"},
        {"s*", "y.tsv: {targets=s*} matches only the ID, covariates and labels"},
        {"lh_*,", "{targets} 'lh_*,': name 2 is empty; separate names with single commas"},
        {"lh_*,lh_*", "{targets} names 'lh_*' twice"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, REGIONS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_select_options o = options(cases[i].targets);
        kn_selection s = {.n = 7};
        bool unknown = strstr(cases[i].sentence, "no column");
        assert_sentence(ctx, kn_select(ctx, t, &o, &s), unknown ? KN_ERR_DATA : KN_ERR_ARGUMENT,
                        cases[i].sentence);
        assert_int_equal(s.n, 0);
        assert_null(s.col);
    }
    kn_table_free(t);
    t = table_of(ctx, "sub_id\tnote\tempty\n1\tx\tn/a\n");
    kn_select_options o = options(NULL);
    kn_selection s;
    assert_sentence(ctx, kn_select(ctx, t, &o, &s), KN_ERR_DATA,
                    "y.tsv has no numeric column left for the responses");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_model_finds_its_responses_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"rh_a[1]", "lh_a&b"}, *const absent[] = {"lh_x"};
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, REGIONS);
    kn_selection s;
    assert_ok(ctx, kn_select_named(ctx, t, names, 2, &s));
    assert_int_equal(s.col[0], 5);
    assert_int_equal(s.col[1], 3);
    kn_selection_clear(&s);
    assert_sentence(ctx, kn_select_named(ctx, t, absent, 1, &s), KN_ERR_DATA,
                    "y.tsv has no column 'lh_x' (a response of the model); its columns are sub_id, "
                    "age, sex, lh_a&b, lh_c-d, ...");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void values_are_read_and_missing_ones_are_nan(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, REGIONS);
    kn_select_options o = options(NULL);
    kn_selection s;
    kn_mat Y;
    const ptrdiff_t rows[] = {2, 1};
    assert_ok(ctx, kn_select(ctx, t, &o, &s));
    assert_ok(ctx, kn_mat_new(ctx, 3, s.n, &Y));
    assert_ok(ctx, kn_select_read(ctx, t, &s, NULL, 3, Y));
    assert_true(kn_at(Y, 0, 0) == 1.5 && kn_at(Y, 0, 2) == 3.5 && kn_at(Y, 2, 1) == 7.5);
    assert_true(isnan(kn_at(Y, 1, 0)));
    assert_ok(ctx, kn_select_read(ctx, t, &s, rows, 2, kn_sub(Y, 0, 0, 2, 3)));
    assert_true(kn_at(Y, 0, 1) == 7.5 && kn_at(Y, 1, 1) == 4.5);
    kn_mat_clear(&Y);
    kn_selection_clear(&s);

    o.targets = "note";
    assert_ok(ctx, kn_select(ctx, t, &o, &s));
    assert_ok(ctx, kn_mat_new(ctx, 3, 1, &Y));
    assert_sentence(ctx, kn_select_read(ctx, t, &s, NULL, 3, Y), KN_ERR_DATA,
                    "y.tsv line 2: note is 'good', but must be a number");
    kn_mat_clear(&Y);
    kn_selection_clear(&s);
    kn_table_free(t);

    /* A slip in a column of numbers is reported, not taken for a column of text. */
    t = table_of(ctx, "a\tb\n1.5\t2.5\n2\tx\n3\t4\n");
    o = (kn_select_options){.id_col = -1};
    assert_ok(ctx, kn_select(ctx, t, &o, &s));
    assert_int_equal(s.n, 2);
    assert_ok(ctx, kn_mat_new(ctx, 3, 2, &Y));
    assert_sentence(ctx, kn_select_read(ctx, t, &s, NULL, 3, Y), KN_ERR_DATA,
                    "y.tsv line 3: b is 'x', but must be a number");
    kn_mat_clear(&Y);
    kn_selection_clear(&s);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_select_columns, NULL, NULL)
{
    static const char *const names[] = {"rh_a[1]", "lh_a&b"};
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, REGIONS);
    kn_select_options o = options("lh_*,rh_*");
    for (int by_name = 0; by_name < 2; by_name++)
        for (long k = 1;; k++) {
            kn_selection s;
            kn_fail_allocation(ctx, k);
            kn_status status =
                by_name ? kn_select_named(ctx, t, names, 2, &s) : kn_select(ctx, t, &o, &s);
            kn_fail_allocation(ctx, 0);
            if (status == KN_OK) {
                assert_true(k > 3);
                kn_selection_clear(&s);
                break;
            }
            assert_int_equal(status, KN_ERR_MEMORY);
            assert_null(s.col);
        }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_select_columns)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_choose_in_the_order_of_the_table),
        cmocka_unit_test(by_default_every_free_number_is_a_response),
        cmocka_unit_test(a_wrong_choice_is_a_sentence),
        cmocka_unit_test(a_model_finds_its_responses_by_name),
        cmocka_unit_test(values_are_read_and_missing_ones_are_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
