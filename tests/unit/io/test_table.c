#include "support/failing.h"
#include "support/scratch.h"

#include <locale.h>

#include "base/memory/alloc.h"
#include "io/table/table.h"

#include "io/table/internal.h"

static kn_status parse(kn_ctx *ctx, const char *text, kn_table **t)
{
    return kn_table_parse(ctx, "t.csv", ',', text, (ptrdiff_t)strlen(text), t);
}

static void cells_stay_the_text_they_were(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    assert_ok(ctx, parse(ctx,
                         "\xef\xbb\xbf"
                         "id,a & b,lh-x,\r\n"
                         "123456789012345678,\"x, \"\"y\"\"\",n/a,1\r\n"
                         "007, spaced ,5\" tall,2\r\n",
                         &t));
    assert_int_equal(kn_table_rows(t), 2);
    assert_int_equal(kn_table_cols(t), 4);
    assert_string_equal(kn_table_name(t, 0), "id");
    assert_string_equal(kn_table_cell(t, 0, 0), "123456789012345678");
    assert_string_equal(kn_table_cell(t, 0, 1), "x, \"y\"");
    assert_string_equal(kn_table_cell(t, 1, 0), "007");
    assert_string_equal(kn_table_cell(t, 1, 1), " spaced ");
    assert_string_equal(kn_table_cell(t, 1, 2), "5\" tall");
    assert_int_equal(kn_table_find(t, "a & b"), 1);
    assert_int_equal(kn_table_find(t, "lh-x"), 2);
    assert_int_equal(kn_table_find(t, "LH-X"), -1);
    assert_int_equal(kn_table_find(t, ""), -1);
    assert_true(kn_table_named(t, 2));
    assert_false(kn_table_named(t, 3));
    assert_string_equal(kn_table_path(t), "t.csv");
    kn_table_free(t);
    kn_table_free(NULL);
    kn_ctx_free(ctx);
}

static void a_row_knows_its_line(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    assert_ok(ctx, parse(ctx, "\n\"a\nb\",c\n\n\n1,\"2\n\n3\"\r\n4,5\n\n6,7", &t));
    assert_int_equal(kn_table_rows(t), 3);
    assert_int_equal(kn_table_line(t, -1), 2);
    assert_int_equal(kn_table_line(t, 0), 6);
    assert_int_equal(kn_table_line(t, 1), 9);
    assert_int_equal(kn_table_line(t, 2), 11);
    kn_table_free(t);
    assert_ok(ctx, parse(ctx, "a,b\r1,2\r3,4\r", &t)); /* the old Macintosh's line ends */
    assert_int_equal(kn_table_rows(t), 2);
    assert_int_equal(kn_table_line(t, 1), 3);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void numbers_are_decimal_missing_or_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kn_cell cell;
        double value;
    } cases[] = {
        {"1", KN_CELL_NUMBER, 1},       {"-2.5e-3", KN_CELL_NUMBER, -2.5e-3},
        {"+.5", KN_CELL_NUMBER, .5},    {"5.", KN_CELL_NUMBER, 5},
        {" 7 ", KN_CELL_NUMBER, 7},     {"1E2", KN_CELL_NUMBER, 100},
        {"1e-999", KN_CELL_NUMBER, 0},  {"0.1", KN_CELL_NUMBER, 0.1},
        {"", KN_CELL_MISSING, 0},       {"  ", KN_CELL_MISSING, 0},
        {"n/a", KN_CELL_MISSING, 0},    {"N/A", KN_CELL_MISSING, 0},
        {"NA", KN_CELL_MISSING, 0},     {"NaN", KN_CELL_MISSING, 0},
        {"nan", KN_CELL_MISSING, 0},    {"inf", KN_CELL_TEXT, 0},
        {"-Infinity", KN_CELL_TEXT, 0}, {"1e999", KN_CELL_TEXT, 0},
        {"0x10", KN_CELL_TEXT, 0},      {"1,5", KN_CELL_TEXT, 0},
        {"12 years", KN_CELL_TEXT, 0},  {"1 2", KN_CELL_TEXT, 0},
        {"1e", KN_CELL_TEXT, 0},        {".", KN_CELL_MISSING, 0},
        {"#N/A", KN_CELL_MISSING, 0},   {" null ", KN_CELL_MISSING, 0},
        {"..", KN_CELL_TEXT, 0},        {"#NAME?", KN_CELL_TEXT, 0},
        {"-", KN_CELL_TEXT, 0},         {"e5", KN_CELL_TEXT, 0},
        {"nan(1)", KN_CELL_TEXT, 0},    {"1d5", KN_CELL_TEXT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double x;
        if (kn_number_parse(cases[i].text, &x) != cases[i].cell)
            fail_msg("'%s' is not taken as it should be", cases[i].text);
        if (cases[i].cell == KN_CELL_NUMBER)
            assert_true(x == cases[i].value);
        else
            assert_true(isnan(x));
        assert_int_equal(kn_text_is_missing(cases[i].text), cases[i].cell == KN_CELL_MISSING);
    }
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    char text[KN_NUMBER_SIZE];
    double x;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    for (int i = 0; i < 3; i++)
        setlocale(LC_ALL, names[i]); /* a machine without any of them tests less */
    assert_int_equal(kn_number_parse("1.5", &x), KN_CELL_NUMBER);
    assert_true(x == 1.5);
    kn_number_text(0.1, text);
    assert_string_equal(text, "0.1");
    setlocale(LC_ALL, "C");
}

static void written_numbers_read_back_to_the_bit(void **state)
{
    (void)state;
    static const double cases[] = {0,      1,       -1,   0.1,    1.0 / 3, 1e300,
                                   5e-324, 123456., 1e15, 2.5e-8, 0x1p53,  -0.0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[KN_NUMBER_SIZE];
        double x;
        kn_number_text(cases[i], text);
        assert_int_equal(kn_number_parse(text, &x), KN_CELL_NUMBER);
        assert_memory_equal(&x, &cases[i], sizeof x);
    }
    char text[KN_NUMBER_SIZE];
    kn_number_text(NAN, text);
    assert_string_equal(text, "n/a");
}

static void a_bad_table_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "t.csv is empty, but must contain a header and rows"},
        {"\n\r\n\n", "t.csv is empty, but must contain a header and rows"},
        {"a,b\n", "t.csv has a header but no rows"},
        {"a,b\n1,2\n3\n", "t.csv line 3 has 1 field, but the header has 2"},
        {"a,b\n1,2\n\n3,4,5\n", "t.csv line 4 has 3 fields, but the header has 2"},
        {"a,b,a\n1,2,3\n", "t.csv line 1: columns 1 and 3 are both named 'a'; rename one of them"},
        {"a,b\n1,\"2\n3,4\n", "t.csv line 2 column 2: a quote is never closed"},
        {"a,b\n1,\"2\"3\n", "t.csv line 2 column 2: text after a closing quote; double each quote "
                            "inside a quoted field"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kn_table *t = (kn_table *)1;
        assert_sentence(ctx, parse(ctx, cases[i].text, &t), KN_ERR_FORMAT, cases[i].sentence);
        assert_null(t);
    }
    kn_table *t;
    assert_sentence(
        ctx, kn_table_parse(ctx, "t.csv", ',', "a,b\n1\0,2\n", 9, &t), KN_ERR_FORMAT,
        "t.csv line 2 contains a NUL byte, so it is not plain text; save UTF-16 as UTF-8");
    assert_sentence(ctx, kn_table_read(ctx, "t.xlsx", &t), KN_ERR_FORMAT,
                    "t.xlsx cannot be a table, because its name does not end in .csv or .tsv; use "
                    "one of these formats");
    assert_sentence(ctx, kn_table_read(ctx, "none.csv", &t), KN_ERR_IO,
                    "none.csv cannot be opened: no such file or directory");
    kn_ctx_free(ctx);
}

static void a_file_too_large_is_refused_unread(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    scratch_text("large.csv", "a\n1\n");
    assert_int_equal(truncate("large.csv", 5000000000), 0); /* a hole: takes no space */
    assert_sentence(ctx, kn_table_read(ctx, "large.csv", &t), KN_ERR_FORMAT,
                    "large.csv: 5.0 GB of text is too large for a table (at most 4.3 GB)");
    kn_ctx_free(ctx);
}

static void the_extension_chooses_the_separator(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    scratch_text("t.tsv", "participant_id\tage\nsub-01\t\"1,5\"\n");
    assert_ok(ctx, kn_table_read(ctx, "t.tsv", &t));
    assert_int_equal(kn_table_cols(t), 2);
    assert_string_equal(kn_table_cell(t, 0, 1), "1.5");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void decimal_commas_are_points_unless_some_number_has_a_point(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *cells; /* cells of the rows, with | between them */
    } cases[] = {
        {"a.csv", "id;x\nAB,C;1,5\n7;-2,25e1\n", "AB,C|1.5|7|-2.25e1|"},
        {"b.csv", "id;x\n1;1,5\n2;2.5\n", "1|1,5|2|2.5|"},
        {"c.csv", "id,x\n1,\"1,5\"\n", "1|1,5|"},
        {"d.tsv", "id\tx\n1\t1,5\n2\t1,234,5\n3\t,5\n", "1|1.5|2|1,234,5|3|.5|"},
        {"e.csv", "sep=;\nid;x\n1;1,5\n", "1|1.5|"},
        {"f.csv", "sep=\t\r\nid\tx\r\n1\t2\r\n", "1|2|"},
        {"g.csv", "\xef\xbb\xbfSEP=,\nid,x\n1,2\n", "1|2|"},
        {"h.csv", "sep=;x,y\n1,2\n", "1|2|"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        kn_table *t;
        char cells[128] = "";
        scratch_text(cases[k].name, cases[k].text);
        assert_ok(ctx, kn_table_read(ctx, cases[k].name, &t));
        for (ptrdiff_t i = 0; i < kn_table_rows(t); i++)
            for (ptrdiff_t j = 0; j < kn_table_cols(t); j++)
                strcat(strcat(cells, kn_table_cell(t, i, j)), "|");
        assert_string_equal(cells, cases[k].cells);
        kn_table_free(t);
    }
    kn_ctx_free(ctx);
}

static void empty_rows_and_columns_at_the_end_are_no_rows_and_columns(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    static const char text[] = "sep=;\na;b\n1;2;;\n;\n3;4;\n; \n;\n";
    scratch_text("t.csv", text);
    assert_ok(ctx, kn_table_read(ctx, "t.csv", &t));
    assert_true(kn_table_rows(t) == 3 && kn_table_cols(t) == 2);
    assert_string_equal(kn_table_cell(t, 1, 0), ""); /* in the middle it is a row */
    assert_string_equal(kn_table_cell(t, 2, 1), "4");
    assert_int_equal(kn_table_line(t, 2), 5);
    kn_table_free(t);
    scratch_text("t.csv", "a,b\n1,2,,3\n");
    assert_sentence(ctx, kn_table_read(ctx, "t.csv", &t), KN_ERR_FORMAT,
                    "t.csv line 2 has 4 fields, but the header has 2; check for decimal commas "
                    "and for commas in unquoted text");
    scratch_text("t.csv", "a,b\n,\n,\n");
    assert_sentence(ctx, kn_table_read(ctx, "t.csv", &t), KN_ERR_FORMAT,
                    "t.csv has a header but no rows");
    kn_ctx_free(ctx);
}

static void workbooks_are_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    static const char *const heads[] = {"PK\3\4", "\xd0\xcf\x11\xe0"};
    for (size_t k = 0; k < 2; k++) {
        scratch_text("book.csv", heads[k]);
        assert_sentence(
            ctx, kn_table_read(ctx, "book.csv", &t), KN_ERR_FORMAT,
            "book.csv is a spreadsheet workbook, not a text file; save the sheet as CSV");
    }
    kn_ctx_free(ctx);
}

static void words_for_missing_cells_are_emptied(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    static const char *const words[] = {"-999", "unknown"};
    static const char text[] = "unknown,x\n-999.0, Unknown \n-9990,unknowns\n,-9.99e2\n";
    assert_ok(ctx, kn_table_parse(ctx, "t", ',', text, (ptrdiff_t)strlen(text), &t));
    kn_table_blank(t, words, 2);
    assert_string_equal(kn_table_name(t, 0), "unknown");
    assert_true(!*kn_table_cell(t, 0, 0) && !*kn_table_cell(t, 0, 1) && !*kn_table_cell(t, 2, 1));
    assert_string_equal(kn_table_cell(t, 1, 0), "-9990");
    assert_string_equal(kn_table_cell(t, 1, 1), "unknowns");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_header_that_has_none_of_it_chooses_another(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        char usual, separator;
    } cases[] = {
        {"a,b\n1;2", ',', ','},       {"a;b\n1,5;2\n", ',', ';'}, {"a\tb\r\n1,5\t2", ',', '\t'},
        {"a,b\n1\t2", '\t', ','},     {"a;b,c\n", '\t', '\t'},    {"a\n1;2\n", ',', ','},
        {"\"a;b\"\n1;2\n", ',', ','}, {"\"a,b\";c\n", ',', ';'},  {"", ',', ','},
        {"a,\"b\nc;d\"\n", ',', ','},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(kn_separator_of(cases[i].text, (ptrdiff_t)strlen(cases[i].text),
                                         cases[i].usual),
                         cases[i].separator);
}

static void a_written_table_quotes_what_it_must(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table_writer *w;
    char text[256] = {0};
    assert_ok(ctx, kn_table_writer_new(ctx, "out.csv", NULL, &w));
    assert_ok(ctx, kn_table_writer_text(ctx, w, "id"));
    assert_ok(ctx, kn_table_writer_text(ctx, w, "a,b"));
    assert_ok(ctx, kn_table_writer_text(ctx, w, "say \"x\""));
    assert_ok(ctx, kn_table_writer_end_row(ctx, w));
    assert_ok(ctx, kn_table_writer_text(ctx, w, ""));
    assert_ok(ctx, kn_table_writer_number(ctx, w, NAN));
    assert_ok(ctx, kn_table_writer_number(ctx, w, 0.1));
    assert_ok(ctx, kn_table_writer_end_row(ctx, w));
    assert_ok(ctx, kn_table_writer_commit(ctx, w));
    kn_table_writer_free(w);
    scratch_read("out.csv", text, sizeof text - 1);
    assert_string_equal(text, "id,\"a,b\",\"say \"\"x\"\"\"\n\"\",n/a,0.1\n");
    kn_ctx_free(ctx);
}

/* A table of some megabytes; line `bad` (from 1) has a field too few. */
static char *make_large(int rows, int cols, int bad, size_t *n)
{
    char *text = malloc((size_t)rows * (size_t)cols * 24 + (size_t)cols * 8), *to = text;
    for (int i = 0; i <= rows; i++) {
        const int fields = cols - (i + 1 == bad);
        for (int j = 0; j < fields; j++) {
            if (i == 0)
                to += sprintf(to, "c%d", j);
            else
                to += sprintf(to, j == 0 ? "\"p %.0f\"" : "%.17g", j == 0 ? i : i / (j + 1.0));
            *to++ = j + 1 < fields ? ',' : '\n';
        }
    }
    *n = (size_t)(to - text);
    return text;
}

enum { ROWS = 900, COLS = 200 };

static void a_large_table_takes_its_text_and_a_place_for_each_cell(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    size_t n;
    char *text = make_large(ROWS, COLS, 0, &n);
    kn_table *t;
    double x;
    kn_memory_peak_reset(ctx);
    assert_ok(ctx, kn_table_parse(ctx, "t.csv", ',', text, (ptrdiff_t)n, &t));
    assert_true(kn_memory_peak(ctx) < n + (ROWS + 1) * (COLS + 1) * sizeof(ptrdiff_t) + 20000);
    assert_int_equal(kn_table_rows(t), ROWS);
    assert_int_equal(kn_table_cols(t), COLS);
    assert_string_equal(kn_table_cell(t, ROWS - 1, 0), "p 900");
    assert_int_equal(kn_table_number(t, ROWS - 1, COLS - 1, &x), KN_CELL_NUMBER);
    assert_true(x == ROWS / (double)COLS);
    kn_table_free(t);
    free(text);
    kn_ctx_free(ctx);
}

static void a_late_line_is_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    size_t n;
    char *text = make_large(ROWS, COLS, 871, &n);
    kn_table *t;
    scratch_file("bad.csv", text, n);
    assert_sentence(ctx, kn_table_read(ctx, "bad.csv", &t), KN_ERR_FORMAT,
                    "bad.csv line 871 has 199 fields, but the header has 200");
    free(text);
    text = make_large(ROWS, COLS, 0, &n);
    char *quote = text + n - 40;
    while (*quote != ',')
        quote++;
    memcpy(quote, ",\"1\"2", 5);
    scratch_file("bad.csv", text, n);
    assert_refused(ctx, kn_table_read(ctx, "bad.csv", &t), KN_ERR_FORMAT,
                   "bad.csv line 901 column ");
    assert_refused(ctx, kn_table_read(ctx, "bad.csv", &t), KN_ERR_FORMAT,
                   ": text after a closing quote");
    free(text);
    kn_ctx_free(ctx);
}

static void the_first_text_among_numbers_is_found(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    kn_ctx *ctx = kn_ctx_new();
    char *text = malloc(LONG * 8 + 8), *to = text + sprintf(text, "a,b,c\n");
    const ptrdiff_t rows[2] = {4321, 1234}, cols[2] = {2, 1};
    kn_table *t;
    kn_mat X;
    for (int i = 0; i < LONG; i++)
        to += sprintf(to, i == 1234 || i == 4321 ? "1,x,\n" : "1,2,3\n");
    assert_ok(ctx, kn_table_parse(ctx, "t.csv", ',', text, to - text, &t));
    assert_ok(ctx, kn_mat_new(ctx, LONG, 3, &X));
    assert_int_equal(kn_table_numbers(ctx, t, NULL, NULL, X), 1234 * 3 + 1);
    kn_mat few = kn_mat_cols(X.data, 2, 2);
    assert_int_equal(kn_table_numbers(ctx, t, rows, cols, few), 1);
    assert_true(isnan(kn_col(few, 0)[0]) && isnan(kn_col(few, 1)[1]));
    assert_int_equal(kn_table_numbers(ctx, t, rows, cols, kn_cols(few, 0, 1)), -1);
    kn_mat_clear(&X);
    kn_table_free(t);
    free(text);
    kn_ctx_free(ctx);
}

static void cancelling_stops_the_parsing_of_a_large_table(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    size_t n;
    char *text = make_large(ROWS, COLS, 0, &n);
    kn_table *t;
    kn_cancel(ctx);
    assert_sentence(ctx, kn_table_parse(ctx, "t.csv", ',', text, (ptrdiff_t)n, &t),
                    KN_ERR_CANCELLED, "stopped on request");
    assert_null(t);
    free(text);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Every allocation may fail: a sentence each time, and nothing leaks (the sanitizer looks). */
FAILING_CASE(io_table, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    char text[128] = "a,b\n";
    for (int i = 0; i < 20; i++)
        strcat(text, "1,2\n");
    for (long k = 1;; k++) {
        kn_table *t;
        kn_fail_allocation(ctx, k);
        kn_status s = parse(ctx, text, &t);
        kn_fail_allocation(ctx, 0);
        if (s == KN_OK) {
            assert_true(k > 6);
            kn_table_free(t);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
        assert_null(t);
    }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_table)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_stay_the_text_they_were),
        cmocka_unit_test(a_row_knows_its_line),
        cmocka_unit_test(numbers_are_decimal_missing_or_text),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(written_numbers_read_back_to_the_bit),
        cmocka_unit_test(a_bad_table_is_a_sentence),
        cmocka_unit_test(a_file_too_large_is_refused_unread),
        cmocka_unit_test(the_extension_chooses_the_separator),
        cmocka_unit_test(decimal_commas_are_points_unless_some_number_has_a_point),
        cmocka_unit_test(empty_rows_and_columns_at_the_end_are_no_rows_and_columns),
        cmocka_unit_test(workbooks_are_named),
        cmocka_unit_test(words_for_missing_cells_are_emptied),
        cmocka_unit_test(a_header_that_has_none_of_it_chooses_another),
        cmocka_unit_test(a_written_table_quotes_what_it_must),
        cmocka_unit_test(a_large_table_takes_its_text_and_a_place_for_each_cell),
        cmocka_unit_test(a_late_line_is_named),
        cmocka_unit_test(the_first_text_among_numbers_is_found),
        cmocka_unit_test(cancelling_stops_the_parsing_of_a_large_table),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
