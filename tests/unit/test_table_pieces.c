/* A table by pieces on threads is the table that one parser makes of the text, or its sentence. */
#include "scratch.h"

#include "base/rng.h"
#include "io/table_inside.h"

static kn_rng rng;

static int below(int n)
{
    return (int)(kn_rng_uniform(&rng) * n);
}

static kn_table_text text_of(const char *bytes, size_t n)
{
    return (kn_table_text){.name = "t.csv", .bytes = bytes, .n = (ptrdiff_t)n, .separator = ','};
}

static void assert_same_table(const kn_table *a, const kn_table *b, const char *text)
{
    if (kn_table_rows(a) != kn_table_rows(b) || kn_table_cols(a) != kn_table_cols(b))
        fail_msg("%td x %td, expected %td x %td: %s", kn_table_rows(b), kn_table_cols(b),
                 kn_table_rows(a), kn_table_cols(a), text);
    for (ptrdiff_t i = 0; i < kn_table_rows(a); i++) {
        if (kn_table_line(a, i) != kn_table_line(b, i))
            fail_msg("row %td is on line %td, expected %td: %s", i, kn_table_line(b, i),
                     kn_table_line(a, i), text);
        for (ptrdiff_t j = 0; j < kn_table_cols(a); j++)
            if (strcmp(kn_table_cell(a, i, j), kn_table_cell(b, i, j)) != 0)
                fail_msg("cell %td, %td is '%s', expected '%s': %s", i, j, kn_table_cell(b, i, j),
                         kn_table_cell(a, i, j), text);
    }
    for (ptrdiff_t j = 0; j < kn_table_cols(a); j++)
        assert_string_equal(kn_table_name(a, j), kn_table_name(b, j));
}

/* By pieces of every size, against one parser. */
static void compare(kn_ctx *ctx, const char *bytes, size_t n, bool bare)
{
    kn_table *one, *many;
    char sentence[1024];
    kn_table_text text = text_of(bytes, n);
    text.bare = bare;
    kn_status status = kn_table_parse_by(ctx, &text, 0, &one);
    snprintf(sentence, sizeof sentence, "%s", status == KN_OK ? "" : kn_message(ctx));
    for (ptrdiff_t size = 1; size < 80; size = size * 3 / 2 + 1) {
        kn_set_threads(ctx, 1 + below(3));
        kn_status got = kn_table_parse_by(ctx, &text, size, &many);
        if (got != status || (status != KN_OK && strcmp(kn_message(ctx), sentence) != 0))
            fail_msg("pieces of %td: '%s', expected '%s' of: %s", size,
                     got == KN_OK ? "" : kn_message(ctx), sentence, bytes);
        if (status == KN_OK)
            assert_same_table(one, many, bytes);
        kn_table_free(many);
    }
    kn_table_free(one);
}

static void any_text_gives_the_same_table_or_sentence(void **state)
{
    (void)state;
    static const char *const cells[] = {"1",        "-2.5",      "",
                                        "\"a\"",    "\"a,b\"",   "\"x\ny\"",
                                        "\"\"",     "n/a",       "\"say \"\"x\"\"\"",
                                        "5\" tall", "\"\r\n,\"", "x\"\"y"};
    static const char *const odd[] = {"\"open", "\"a\"b", ",",       "\n",
                                      "\r",     "\"",     "1,2,3,4", "\n\n\r\n"};
    kn_ctx *ctx = kn_ctx_new();
    int trials = repeat(4000, 400);
    ref_rng_init(&rng, 1, 1);
    for (int k = 0; k < trials; k++) {
        char text[4096] = "";
        int cols = 1 + below(3), rows = 1 + below(8), kinds = below(2) ? 3 : 12;
        const char *end = below(3) == 0 ? "\r\n" : below(8) == 0 ? "\r" : "\n";
        if (below(8) == 0)
            strcat(text, "\xef\xbb\xbf");
        for (int j = 0; j < cols; j++)
            sprintf(text + strlen(text), "%s%s%d%s", j ? "," : "", kinds > 3 ? "\"" : "", j,
                    kinds > 3 ? "\"" : "");
        for (int i = 0; i < rows; i++) {
            strcat(text, end);
            for (int j = 0; j < cols; j++) {
                strcat(text, j ? "," : "");
                strcat(text, cells[below(kinds)]);
            }
            if (below(20) == 0)
                strcat(text, odd[below(8)]);
        }
        strcat(text, below(2) ? end : "");
        compare(ctx, text, strlen(text), below(4) == 0);
    }
    kn_ctx_free(ctx);
}

/* Else the other tests would hold for a table that is never cut. */
static void plain_tables_are_read_by_pieces(void **state)
{
    (void)state;
    static const char *const texts[] = {"a,b\n1,2\n3,4\n5,6\n", "a,b\r\n1,2\r\n3,4\r\n5,6",
                                        "\"a\",\"b\"\n\"s 1\",2\n\"s\n2\",4\n\"s\"\"3\",6\n",
                                        "a,b\n5\" tall,2\n3,4\n\n5,6\n"};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kn_table t = {0};
        bool done;
        kn_table_text text = text_of(texts[i], strlen(texts[i]));
        assert_ok(ctx, kn_table_pieces(ctx, &text, 4, &t, &done));
        assert_true(done);
        assert_int_equal(t.rows, 3);
        assert_int_equal(t.cols, 2);
        kn_free(t.text);
        kn_free(t.start);
        kn_free(t.line);
    }
    kn_ctx_free(ctx);
}

/* A table larger than a few pieces of the usual size; line `bad` (from 1) has a field too few. */
static char *make_large(int rows, int cols, int bad, size_t *n)
{
    char *text = malloc((size_t)rows * (size_t)cols * 24 + (size_t)cols * 8), *to = text;
    ref_rng_init(&rng, 1, 5);
    for (int i = 0; i <= rows; i++)
        for (int j = 0; j < cols - (i + 1 == bad); j++) {
            if (j > 0)
                *to++ = ',';
            to += i == 0 ? sprintf(to, "c%d", j)
                         : sprintf(to, j == 0 ? "\"p %.0f\"" : "%.17g",
                                   j == 0 ? i : kn_rng_normal(&rng));
            if (j + 1 == cols - (i + 1 == bad))
                *to++ = '\n';
        }
    *n = (size_t)(to - text);
    return text;
}

static void large_files_are_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    enum { ROWS = 900, COLS = 200 };
    kn_ctx *ctx = kn_ctx_new();
    size_t n;
    char *text = make_large(ROWS, COLS, 0, &n);
    kn_table *one, *many;
    kn_table_text as_one = text_of(text, n);
    assert_true(n > 3 * KN_TABLE_PIECE);
    scratch_file("large.csv", text, n);
    assert_ok(ctx, kn_table_parse_by(ctx, &as_one, 0, &one));
    for (int threads = 1; threads <= 4; threads++) {
        kn_mat X;
        kn_set_threads(ctx, threads);
        assert_ok(ctx, kn_table_read(ctx, "large.csv", &many));
        assert_same_table(one, many, "large.csv");
        assert_ok(ctx, kn_mat_new(ctx, ROWS, COLS, &X));
        assert_int_equal(kn_table_numbers(ctx, many, NULL, NULL, X), 0); /* p 1 is text */
        for (ptrdiff_t i = 0; i < ROWS; i++)
            for (ptrdiff_t j = 0; j < COLS; j++) {
                double x;
                kn_table_number(one, i, j, &x);
                assert_memory_equal(&kn_col(X, j)[i], &x, sizeof x);
            }
        kn_mat_clear(&X);
        kn_table_free(many);
    }
    kn_table_free(one);
    free(text);
    kn_ctx_free(ctx);
}

static void a_late_line_is_named_as_if_read_from_the_start(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    size_t n;
    char *text = make_large(900, 200, 871, &n);
    kn_table *t;
    kn_set_threads(ctx, 2);
    scratch_file("bad.csv", text, n);
    assert_sentence(ctx, kn_table_read(ctx, "bad.csv", &t), KN_ERR_FORMAT,
                    "bad.csv line 871: 199 fields, expected 200 as in the header");
    free(text);
    text = make_large(900, 200, 0, &n);
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
    enum { ROWS = 5000 };
    kn_ctx *ctx = kn_ctx_new();
    char *text = malloc(ROWS * 8 + 8), *to = text + sprintf(text, "a,b,c\n");
    const ptrdiff_t rows[2] = {4321, 1234}, cols[2] = {2, 1};
    kn_table *t;
    kn_mat X;
    for (int i = 0; i < ROWS; i++)
        to += sprintf(to, i == 1234 || i == 4321 ? "1,x,\n" : "1,2,3\n");
    assert_ok(ctx, kn_table_parse(ctx, "t.csv", ',', text, to - text, &t));
    assert_ok(ctx, kn_mat_new(ctx, ROWS, 3, &X));
    for (int threads = 1; threads <= 4; threads++) {
        kn_set_threads(ctx, threads);
        assert_int_equal(kn_table_numbers(ctx, t, NULL, NULL, X), 1234 * 3 + 1);
        kn_mat few = kn_mat_cols(X.data, 2, 2);
        assert_int_equal(kn_table_numbers(ctx, t, rows, cols, few), 1);
        assert_true(isnan(kn_col(few, 0)[0]) && isnan(kn_col(few, 1)[1]));
        assert_int_equal(kn_table_numbers(ctx, t, rows, cols, kn_cols(few, 0, 1)), -1);
    }
    kn_mat_clear(&X);
    kn_table_free(t);
    free(text);
    kn_ctx_free(ctx);
}

static void cancelling_stops_the_reading(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    kn_table_text text = text_of("a,b\n1,2\n3,4\n", 12);
    kn_cancel(ctx);
    assert_sentence(ctx, kn_table_parse_by(ctx, &text, 4, &t), KN_ERR_CANCELLED,
                    "stopped on request");
    assert_null(t);
    kn_ctx_free(ctx);
}

static void running_out_of_memory_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table_text text = text_of("a,b\n1,2\n3,4\n", 12);
    for (long k = 1;; k++) {
        kn_table *t;
        kn_fail_allocation(ctx, k);
        kn_status s = kn_table_parse_by(ctx, &text, 4, &t);
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

TEST_PROGRAM(table_pieces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_text_gives_the_same_table_or_sentence),
        cmocka_unit_test(plain_tables_are_read_by_pieces),
        cmocka_unit_test(large_files_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(a_late_line_is_named_as_if_read_from_the_start),
        cmocka_unit_test(the_first_text_among_numbers_is_found),
        cmocka_unit_test(cancelling_stops_the_reading),
        cmocka_unit_test(running_out_of_memory_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
