/* Words of the page: numbers in sentences, options of a command, broken texts. */
#include "support/reports.h"

#include "report/input/records.h"
#include "report/json/report_json.h"
#include "report/text/sentence.h"

static void p_is_never_0(void **state)
{
    (void)state;
    static const struct {
        double p;
        bool bound;
        const char *text;
    } CASE[] = {{.0132, false, "p = 0.013"},     {.0052, true, "p < 0.0052"},
                {1. / 98, true, "p < 0.011"},    {.00991, true, "p < 0.010"},
                {1, false, "p = 1.0"},           {0, false, "p < 0.000001"},
                {3e-7, false, "p = 0.00000030"}, {.5, false, "p = 0.50"}};
    kn_arena arena = {0};
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        kn_sentence s = {.ctx = ctx, .arena = &arena};
        const char *text;
        kn_sentence_p(&s, CASE[k].p, CASE[k].bound);
        assert_ok(ctx, kn_sentence_end(&s, &text));
        assert_string_equal(text, CASE[k].text);
    }
    kn_sentence s = {.ctx = ctx, .arena = &arena};
    const char *text;
    kn_sentence_rank_p(&s, 1. / 97, 1. / 97);
    kn_sentence_words(&s, ", ");
    kn_sentence_rank_p(&s, 2. / 97, 1. / 97);
    kn_sentence_words(&s, ", ");
    kn_sentence_rank_p(&s, 1. / 97, NAN);
    assert_ok(ctx, kn_sentence_end(&s, &text));
    assert_string_equal(text, "p ≤ 0.010, p = 0.021, p = 0.010");
    kn_sentence_fixed(&s, -1e-9, 3);
    kn_sentence_words(&s, " ");
    kn_sentence_percent(&s, .99987);
    kn_sentence_words(&s, " ");
    kn_sentence_figures(&s, 12345.6, 3);
    assert_ok(ctx, kn_sentence_end(&s, &text));
    assert_string_equal(text, "0.000 99.99% 12346");
    assert_string_equal(kn_format_percent_min(1 - 1. / 98).text, "98.9"); /* 98.98 */
    assert_string_equal(kn_format_percent_min(.95).text, "95.0");
    kn_arena_clear(&arena);
}

static void options_of_a_command_are_found(void **state)
{
    (void)state;
    char out[16];
    const char *line =
        "kronorm score 'my --threshold 9 model' --cases 'a=it'\\''s' --threshold 2.5 --output x";
    assert_true(kn_command_option(line, "--threshold", out, sizeof out));
    assert_string_equal(out, "2.5");
    assert_true(kn_command_option(line, "--cases", out, sizeof out));
    assert_string_equal(out, "a=it's");
    assert_false(kn_command_option(line, "--reference", out, sizeof out));
    assert_false(kn_command_option(NULL, "--reference", out, sizeof out));
    assert_false(kn_command_option(line, "--cases", out, 3));
}

static void broken_texts_are_json_all_the_same(void **state)
{
    (void)state;
    kn_report *r = new_report(1);
    char *json;
    r->participants.participant[0].id = "a\xFF\xC3(b\xE2\x82 \xC3\xA9\x01";
    assert_ok(ctx, kn_report_json_text(ctx, r, &json));
    json_t *read = json_loads(json, 0, NULL);
    const char *id = json_string_value(
        json_object_get(json_array_get(json_object_get(read, "people"), 0), "id"));
    assert_string_equal(id, "a\xEF\xBF\xBD\xEF\xBF\xBD(b\xEF\xBF\xBD\xEF\xBF\xBD \xC3\xA9\x01");
    json_decref(read);
    kn_free(json);
    free_report(r);
}

TEST_PROGRAM(report_sentences)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_is_never_0),
        cmocka_unit_test(options_of_a_command_are_found),
        cmocka_unit_test(broken_texts_are_json_all_the_same),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests_name("report_say", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
