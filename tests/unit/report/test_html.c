#include "support/test.h"

#include <locale.h>

#include "report/markup/html.h"

/* What a function wrote; freed by the caller. */
typedef struct sheet {
    kn_ctx *ctx;
    kn_writer *file;
    kn_html h;
} sheet;

static sheet begin(void)
{
    sheet s = {.ctx = kn_ctx_new()};
    assert_ok(s.ctx, kn_writer_new_memory(s.ctx, "sheet", &s.file));
    s.h = (kn_html){.ctx = s.ctx, .file = s.file};
    return s;
}

static char *finish(sheet *s)
{
    void *bytes = NULL;
    ptrdiff_t n = 0;
    assert_ok(s->ctx, s->h.status);
    assert_ok(s->ctx, kn_writer_take(s->ctx, s->file, &bytes, &n));
    char *text = calloc((size_t)n + 1, 1);
    if (n > 0)
        memcpy(text, bytes, (size_t)n);
    kn_free(bytes);
    kn_writer_free(s->file);
    kn_ctx_free(s->ctx);
    return text;
}

/* expression: calls of &s.h. */
#define assert_writes(expression, expected)                                                        \
    do {                                                                                           \
        sheet s = begin();                                                                         \
        expression;                                                                                \
        char *text_ = finish(&s);                                                                  \
        assert_string_equal(text_, expected);                                                      \
        free(text_);                                                                               \
    } while (0)

#define FFFD "\xef\xbf\xbd"

static void every_ascii_byte_is_itself_an_entity_or_replaced(void **state)
{
    (void)state;
    for (int c = 1; c < 128; c++) {
        const char text[] = {'a', (char)c, 'b', 0};
        char expected[16];
        const char *middle = c == '&'                 ? "&amp;"
                             : c == '<'               ? "&lt;"
                             : c == '>'               ? "&gt;"
                             : c == '"'               ? "&quot;"
                             : c == '\''              ? "&#39;"
                             : c == '\n' || c == '\t' ? " "
                             : c < 32 || c == 127     ? FFFD
                                                      : NULL;
        const char own[] = {(char)c, 0};
        snprintf(expected, sizeof expected, "a%sb", middle ? middle : own);
        assert_writes(kn_html_text(&s.h, text), expected);
    }
}

static void a_byte_that_begins_nothing_is_replaced_and_eats_no_neighbour(void **state)
{
    (void)state;
    for (int c = 128; c < 256; c++) { /* alone: no byte above 127 is a character */
        const char text[] = {'a', (char)c, '<', 0};
        assert_writes(kn_html_text(&s.h, text), "a" FFFD "&lt;");
    }
}

/* An encoder that believes nothing of the one that is tested: by the definition. */
static size_t encode(uint32_t c, char *out)
{
    if (c < 0x80)
        return out[0] = (char)c, 1;
    if (c < 0x800)
        return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
               out[2] = (char)(0x80 | (c & 63)), 3;
    return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
           out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

static bool shown(uint32_t c)
{
    const bool control = c >= 0x80 && c < 0xa0;
    const bool none = (c >= 0xfdd0 && c <= 0xfdef) || c % 0x10000 >= 0xfffe || c == 0xfeff;
    const bool turns = c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                       (c >= 0x2066 && c <= 0x2069);
    return !control && !none && !turns;
}

static void every_character_beyond_ascii_is_kept_but_those_that_hide(void **state)
{
    (void)state;
    sheet s = begin();
    for (uint32_t c = 0x80; c <= 0x10ffff; c++)
        if (c < 0xd800 || c > 0xdfff) {
            char text[5] = {0};
            encode(c, text);
            kn_html_text(&s.h, text);
        }
    char *all = finish(&s);
    const char *at = all;
    for (uint32_t c = 0x80; c <= 0x10ffff; c++)
        if (c < 0xd800 || c > 0xdfff) {
            char text[5] = {0};
            size_t n = encode(shown(c) ? c : 0xfffd, text);
            if (memcmp(at, text, n) != 0)
                fail_msg("U+%04X is not as it should be", c);
            at += n;
        }
    assert_int_equal(*at, 0);
    free(all);
}

static void broken_utf8_of_every_class_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } row[] = {
        {"\xc0\x80.", FFFD FFFD "."},                   /* overlong 0 */
        {"\xc0\xbc.", FFFD FFFD "."},                   /* overlong < */
        {"\xc1\xbf.", FFFD FFFD "."},                   /* overlong DEL */
        {"\xe0\x80\xbc.", FFFD FFFD FFFD "."},          /* overlong < in three */
        {"\xe0\x9f\xbf.", FFFD FFFD FFFD "."},          /* the largest overlong of three */
        {"\xf0\x80\x80\xbc.", FFFD FFFD FFFD FFFD "."}, /* in four */
        {"\xf0\x8f\xbf\xbf.", FFFD FFFD FFFD FFFD "."},
        {"\xed\xa0\x80.", FFFD FFFD FFFD "."},                       /* surrogate, high */
        {"\xed\xbf\xbf.", FFFD FFFD FFFD "."},                       /* low */
        {"\xed\xa0\xbd\xed\xb8\x80", FFFD FFFD FFFD FFFD FFFD FFFD}, /* a pair, CESU-8 */
        {"\xf4\x90\x80\x80.", FFFD FFFD FFFD FFFD "."},              /* U+110000 */
        {"\xf5\x80\x80\x80.", FFFD FFFD FFFD FFFD "."},
        {"\xf8\x88\x80\x80\x80.", FFFD FFFD FFFD FFFD FFFD "."}, /* five and six bytes */
        {"\xfc\x84\x80\x80\x80\x80.", FFFD FFFD FFFD FFFD FFFD FFFD "."},
        {"\xfe\xff", FFFD FFFD},
        {"\x80\xbf", FFFD FFFD}, /* continuations alone */
        {"\xc3", FFFD},          /* cut at the end */
        {"\xe2\x82", FFFD},      /* ... the well-formed part is one */
        {"\xf0\x9f\x98", FFFD},
        {"\xc3<", FFFD "&lt;"}, /* cut by a tag, which stays a tag's escape */
        {"\xe2<\x82", FFFD "&lt;" FFFD},
        {"\xe2\x82<", FFFD "&lt;"},
        {"\xf0\x9f\x98\"", FFFD "&quot;"},
        {"\xc3\xc3\xa9", FFFD "\xc3\xa9"}, /* the second begins anew */
        {"\xe2\x82\xe2\x82\xac", FFFD "\xe2\x82\xac"},
        {"\xf1\x80\x80\xe1\x80\xc2\x62", FFFD FFFD FFFD "b"}, /* of Unicode 15, table 3-8 */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_writes(kn_html_text(&s.h, row[i].text), row[i].expected);
}

static void text_that_changes_direction_is_shown_as_such(void **state)
{
    (void)state;
    assert_writes(kn_html_text(&s.h, "sub-\xe2\x80\xaexyz\xe2\x80\xac"), "sub-" FFFD "xyz" FFFD);
    assert_writes(kn_html_text(&s.h, "\xe2\x80\x8f\xe2\x81\xa6\xe2\x81\xa9"), FFFD FFFD FFFD);
}

static void a_long_text_is_whole_across_the_buffer(void **state)
{
    (void)state;
    enum { N = 5000 };
    char text[3 * N + 1], expected[6 * N + 1];
    for (int i = 0; i < N; i++) {
        memcpy(text + 3 * i, i % 2 ? "<a>" : "\xe2\x82\xac", 3);
        text[3 * i + 3] = 0;
    }
    expected[0] = 0;
    char *at = expected;
    for (int i = 0; i < N; i++)
        at = stpcpy(at, i % 2 ? "&lt;a&gt;" : "\xe2\x82\xac");
    assert_writes(kn_html_text(&s.h, text), expected);
}

static void a_cut_counts_characters_and_never_halves_one(void **state)
{
    (void)state;
    assert_writes(kn_html_cut(&s.h, "abcde", 5), "abcde");
    assert_writes(kn_html_cut(&s.h, "abcdef", 5), "abcd…");
    assert_writes(kn_html_cut(&s.h, "ééééé", 5), "ééééé");
    assert_writes(kn_html_cut(&s.h, "éééééé", 5), "éééé…");
    assert_writes(kn_html_cut(&s.h, "<<<<", 3), "&lt;&lt;…");
    assert_writes(kn_html_cut(&s.h, "", 3), "");
    assert_writes(kn_html_cut(&s.h, "ab", 1), "…");
}

static void numbers_have_a_true_minus_and_unknown_ones_a_word(void **state)
{
    (void)state;
    assert_writes(kn_html_fixed(&s.h, -1.255, 1), "−1.3");
    assert_writes(kn_html_fixed(&s.h, 1234567, 0), "1234567");
    assert_writes(kn_html_fixed(&s.h, -.001, 2), "0.00"); /* no minus zero */
    assert_writes(kn_html_fixed(&s.h, NAN, 2), "n/a");
    assert_writes(kn_html_fixed(&s.h, INFINITY, 2), "∞");
    assert_writes(kn_html_fixed(&s.h, -INFINITY, 2), "−∞");
    sheet s = begin();
    kn_html_fixed(&s.h, -1.7e308, 3);
    char *text = finish(&s);
    assert_int_equal(strlen(text), strlen("−") + 309 + 4);
    free(text);
}

static void p_has_two_digits_and_is_never_zero(void **state)
{
    (void)state;
    assert_writes(kn_html_p(&s.h, 1, false), "1.00");
    assert_writes(kn_html_p(&s.h, .4249, false), "0.42");
    assert_writes(kn_html_p(&s.h, .0996, false), "0.10");
    assert_writes(kn_html_p(&s.h, .05, false), "0.050");
    assert_writes(kn_html_p(&s.h, .00312, false), "0.0031");
    assert_writes(kn_html_p(&s.h, .00032, false), "0.00032");
    assert_writes(kn_html_p(&s.h, 3.21e-5, false), "3.2×10⁻⁵");
    assert_writes(kn_html_p(&s.h, 9.96e-6, false), "1.0×10⁻⁵");
    assert_writes(kn_html_p(&s.h, 1.5e-123, false), "1.5×10⁻¹²³");
    assert_writes(kn_html_p(&s.h, .002, true), "&lt; 0.0020");
    assert_writes(kn_html_p(&s.h, 1. / 98, true), "&lt; 0.011");
    assert_writes(kn_html_p(&s.h, .00991, true), "&lt; 0.010");
    assert_writes(kn_html_p(&s.h, 3.21e-5, true), "&lt; 3.3×10⁻⁵");
    assert_writes(kn_html_p(&s.h, 0, false), "&lt; 1.0×10⁻³⁰⁰");
    assert_writes(kn_html_p(&s.h, NAN, true), "n/a");
}

static void numbers_have_a_point_under_every_locale(void **state)
{
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof comma / sizeof *comma; i++)
        if (setlocale(LC_NUMERIC, comma[i])) {
            assert_writes(kn_html_fixed(&s.h, 2.5, 2), "2.50");
            assert_writes(kn_html_p(&s.h, .031, false), "0.031");
        }
    setlocale(LC_NUMERIC, "C");
}

static void json_is_ascii_and_cannot_end_a_script(void **state)
{
    (void)state;
    assert_writes(kn_html_json(&s.h, "a\"b\\c"), "\"a\\u0022b\\u005cc\"");
    assert_writes(kn_html_json(&s.h, "</script>&'"), "\"\\u003c/script\\u003e\\u0026\\u0027\"");
    assert_writes(kn_html_json(&s.h, "\xc3\xa9\xf0\x9f\x98\x80"), "\"\\u00e9\\ud83d\\ude00\"");
    assert_writes(kn_html_json(&s.h, "\xe2\x80\xa8\x01\xff"), "\"\\u2028\\ufffd\\ufffd\"");
    for (int c = 1; c < 256; c++) {
        sheet s = begin();
        const char text[] = {(char)c, 0};
        kn_html_json(&s.h, text);
        char *out = finish(&s);
        for (const char *at = out; *at; at++)
            assert_true(*at >= 32 && *at < 127 && !strchr("<>&'", *at));
        free(out);
    }
}

static void base64_is_that_of_rfc_4648(void **state)
{
    (void)state;
    static const char *const row[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_writes(kn_html_base64(&s.h, row[i][0], (ptrdiff_t)strlen(row[i][0])), row[i][1]);
    assert_writes(kn_html_base64(&s.h, "\xfb\xff\xfe\x00\x10\x83", 6), "+//+ABCD");
}

static void after_a_failure_nothing_more_is_written(void **state)
{
    (void)state;
    sheet s = begin();
    kn_html_raw(&s.h, "a");
    s.h.status = KN_ERR_IO;
    kn_html_raw(&s.h, "b");
    kn_html_print(&s.h, "%d", 1);
    kn_html_text(&s.h, "c");
    kn_html_base64(&s.h, "d", 1);
    assert_int_equal(s.h.status, KN_ERR_IO);
    s.h.status = KN_OK;
    char *text = finish(&s);
    assert_string_equal(text, "a");
    free(text);
}

TEST_PROGRAM(report_html)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ascii_byte_is_itself_an_entity_or_replaced),
        cmocka_unit_test(a_byte_that_begins_nothing_is_replaced_and_eats_no_neighbour),
        cmocka_unit_test(every_character_beyond_ascii_is_kept_but_those_that_hide),
        cmocka_unit_test(broken_utf8_of_every_class_is_replaced),
        cmocka_unit_test(text_that_changes_direction_is_shown_as_such),
        cmocka_unit_test(a_long_text_is_whole_across_the_buffer),
        cmocka_unit_test(a_cut_counts_characters_and_never_halves_one),
        cmocka_unit_test(numbers_have_a_true_minus_and_unknown_ones_a_word),
        cmocka_unit_test(p_has_two_digits_and_is_never_zero),
        cmocka_unit_test(numbers_have_a_point_under_every_locale),
        cmocka_unit_test(json_is_ascii_and_cannot_end_a_script),
        cmocka_unit_test(base64_is_that_of_rfc_4648),
        cmocka_unit_test(after_a_failure_nothing_more_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
