#include "data/table/row_filter.h"

#include "support/failing.h"
#include "support/logged.h"
#include "support/scratch.h"

static const char PARTICIPANTS[] = "id\tgroup\tage\tsite\tage in years\n"
                                   "a\tcontrol\t20\t1\t20\n"
                                   "b\tcontrol\t30.0\t2\t30\n"
                                   "c\tpatient\tn/a\t1\t40\n"
                                   "d\t control \t60\t10\t50\n"
                                   "e\tn/a\t70\t1.0\t60\n";

static kn_table *table_of(kn_ctx *ctx, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, "p.tsv", '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

/* The ids of the rows that are chosen. */
static void assert_chooses(kn_ctx *ctx, const kn_table *t, const char *text, const char *ids)
{
    kn_row_filter where;
    bool keep[8] = {0};
    char chosen[16] = "";
    assert_ok(ctx, kn_row_filter_parse(ctx, text, &where));
    assert_ok(ctx, kn_row_filter_rows(ctx, &where, t, keep));
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i++)
        if (keep[i])
            strcat(chosen, kn_table_cell(t, i, 0));
    assert_string_equal(chosen, ids);
    kn_row_filter_clear(&where);
}

static void conditions_choose_rows(void **state)
{
    (void)state;
    static const struct {
        const char *where, *ids;
    } cases[] = {
        {NULL, "abcde"},
        {"group=control", "abd"},
        {" group == control ", "abd"},
        {"GROUP=control", "abd"},
        {"group!=control", "c"}, /* a participant without a group is in none */
        {"group=n/a", "e"},
        {"group!=n/a", "abcd"},
        {"group in patient|n/a", "ce"},
        {"age<60", "ab"},
        {"age<=60", "abd"},
        {"age > 30", "de"},
        {"age>=30", "bde"},
        {"age=30", "b"},
        {"age!=30", "ade"},
        {"site=1", "ace"},
        {"site in 1 | 10", "acde"},
        {"age in years>30", "cde"},
        {"group=control,age<60", "ab"},
        {"group=control, age<60 ,site!=2", "a"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, PARTICIPANTS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_chooses(ctx, t, cases[i].where, cases[i].ids);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void values_come_from_a_file(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, PARTICIPANTS);
    kn_row_filter where;
    scratch_text("ids.txt", "d\r\n\n  a \nnobody\n");
    scratch_text("blank.txt", " \n\n");
    assert_chooses(ctx, t, "id in @ids.txt", "ad");
    assert_chooses(ctx, t, "id in @ids.txt,age>20", "d");
    assert_refused(ctx, kn_row_filter_parse(ctx, "id in @blank.txt", &where), KN_ERR_FORMAT,
                   "blank.txt has no values, but must have one per line");
    assert_int_equal(kn_row_filter_parse(ctx, "id in @none.txt", &where), KN_ERR_IO);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void counts_are_reported(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_table *t = table_of(ctx, PARTICIPANTS);
    assert_chooses(ctx, t, "site=1", "ace");
    assert_logged(log, KN_LOG_INFO, "p.tsv: {where} selects 3 of 5 rows");
    assert_chooses(ctx, t, "age<65", "abd");
    assert_logged(log, KN_LOG_INFO,
                  "p.tsv: {where} selects 3 of 5 rows; 1 that lacks a value for it is excluded");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_text_counts_where_it_is_compared_only(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, "id\tgroup\tage\na\tx\t20\nb\ty\told\n");
    assert_chooses(ctx, t, "group=x,age<60", "a");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_wrong_condition_is_a_sentence(void **state)
{
    (void)state;
#define EXPECTED                                                                                   \
    "', but must be a column, an operator (= != < <= > >= in) and a value, such as age<60 or "     \
    "site in a|b"
    static const struct {
        const char *where;
        kn_status status;
        const char *sentence;
    } cases[] = {
        {"group", KN_ERR_ARGUMENT, "{where} is 'group" EXPECTED},
        {"", KN_ERR_ARGUMENT, "{where} is '" EXPECTED},
        {"group=control,", KN_ERR_ARGUMENT, "{where} is '" EXPECTED},
        {"=control", KN_ERR_ARGUMENT, "{where} is '=control" EXPECTED},
        {"group=", KN_ERR_ARGUMENT, "{where} is 'group=" EXPECTED},
        {"site in 1||2", KN_ERR_ARGUMENT, "{where} is 'site in 1||2" EXPECTED},
        {"age<old", KN_ERR_ARGUMENT,
         "{where} is 'age<old', but <, <=, > and >= compare numbers only"},
        {"grup=x", KN_ERR_DATA,
         "p.tsv has no column 'grup' (named in {where}); did you mean group?"},
        {"group<5", KN_ERR_DATA,
         "p.tsv line 2: group is 'control', but {where=group<5} requires a number"},
        {"group=Control", KN_ERR_DATA,
         "p.tsv: {where=group=Control} selects no row; the values of group are control, patient"},
        {"group=patient,age<99", KN_ERR_DATA,
         "p.tsv: {where=age<99} selects no row; the values of age are missing"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, PARTICIPANTS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_row_filter where;
        bool keep[8];
        kn_status status = kn_row_filter_parse(ctx, cases[i].where, &where);
        if (status == KN_OK)
            status = kn_row_filter_rows(ctx, &where, t, keep);
        assert_sentence(ctx, status, cases[i].status, cases[i].sentence);
        kn_row_filter_clear(&where);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_row_filter, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, PARTICIPANTS);
    scratch_text("some.txt", "a\nb\n");
    for (long k = 1; k < 100; k++) {
        kn_row_filter where;
        bool keep[8];
        kn_fail_allocation(ctx, k);
        kn_status status =
            kn_row_filter_parse(ctx, "group in control|x,age<60,id in @some.txt", &where);
        if (status == KN_OK)
            status = kn_row_filter_rows(ctx, &where, t, keep);
        kn_fail_allocation(ctx, 0);
        kn_row_filter_clear(&where);
        if (status == KN_OK)
            break;
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_true(k < 99);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_row_filter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_choose_rows),
        cmocka_unit_test(values_come_from_a_file),
        cmocka_unit_test(counts_are_reported),
        cmocka_unit_test(a_text_counts_where_it_is_compared_only),
        cmocka_unit_test(a_wrong_condition_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
