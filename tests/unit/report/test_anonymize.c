/* Ids of participants do not go to a page that is given away. */
#include "support/reports.h"

#include "report/json/report_json.h"
#include "report/text/anonymize.h"

static void equal_names_have_one_number(void **state)
{
    (void)state;
    static const char *const NAME[] = {"b", "a", "b", "c", "a"};
    static const ptrdiff_t EXPECTED[] = {1, 2, 1, 3, 2};
    ptrdiff_t number[5];
    assert_ok(ctx, kn_anonymize_numbers(ctx, NAME, 5, number));
    assert_memory_equal(number, EXPECTED, sizeof EXPECTED);
}

static void ids_are_replaced_as_words(void **state)
{
    (void)state;
    static const kn_alias ALIAS[] = {{"sub-1", "participant-1"},
                                     {"sub-12", "participant-2"},
                                     {"4711", "participant-3"},
                                     {"7", "participant-4"},
                                     {"M\xC3\xBCller, J.", "participant-5"}};
    static const struct {
        const char *text, *expected;
        bool sentence;
    } CASE[] = {
        {"sub-1 and sub-12, not sub-123 or xsub-1",
         "participant-1 and participant-2, not sub-123 or xsub-1", true},
        {"--responses 'in/sub-12_T1w.nii'", "--responses 'in/participant-2_T1w.nii'", false},
        {"4711 people", "4711 people", true},
        {"--where id=4711", "--where id=participant-3", false},
        {"--seed 7", "--seed 7", false},
        {"of M\xC3\xBCller, J.: n/a", "of participant-5: n/a", true},
        {"", "", true},
    };
    kn_arena arena = {0};
    kn_anonymizer *s;
    assert_ok(ctx, kn_anonymizer_new(ctx, ALIAS, 5, "participant-", &s));
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        const char *out;
        assert_ok(ctx, kn_anonymize(ctx, s, CASE[k].text, CASE[k].sentence, &arena, &out));
        assert_string_equal(out, CASE[k].expected);
    }
    kn_anonymizer_free(s);
    kn_arena_clear(&arena);
}

/* A participant may be called as others are in the page. */
static void ids_like_aliases_stay_distinct(void **state)
{
    (void)state;
    static const char *const NAME[] = {"participant-2", "participant", "participant--x",
                                       "participant---7", "participant-"};
    static const kn_alias ALIAS[] = {{"participant-2", "participant--1"},
                                     {"participant", "participant--2"},
                                     {"7", "participant--3"}};
    static const char text[] =
        "participant--12 and participant-2, a participant and participant--2 of participant--x";
    kn_arena arena = {0};
    kn_anonymizer *s;
    const char *out;
    assert_int_equal(kn_anonymize_hyphens(NAME + 1, 1, 0), 0);
    assert_int_equal(kn_anonymize_hyphens(NAME, 3, 0), 1);
    assert_int_equal(kn_anonymize_hyphens(NAME, 5, 2), 3);
    assert_int_equal(kn_anonymize_hyphens(NULL, 5, 2), 2);
    assert_ok(ctx, kn_anonymizer_new(ctx, ALIAS, 3, "participant--", &s));
    assert_ok(ctx, kn_anonymize(ctx, s, text, true, &arena, &out));
    assert_string_equal(out, "participant--12 and participant--1, a participant--2 and "
                             "participant--2 of participant--2--x");
    kn_anonymizer_free(s);
    kn_arena_clear(&arena);
}

static void an_anonymised_report_names_no_participant(void **state)
{
    (void)state;
    enum { N = 3 };
    static const char *const ID[N] = {"sub-ann", "sub-bob", "sub-cyd"}, *const GONE[] = {"sub-eve",
                                                                                         "07"};
    static const char *const WHY[] = {"no image sub-eve_T1w.nii", "n/a"};
    kn_report *r = new_report(N);
    kn_report_note note = {"extrapolation", "", "far away: sub-bob"};
    kn_report_fact fact = {
        "folder made by",
        "kronorm score m -y 'maps/sub-ann.nii' -c x/sub-07.tsv --where id=sub-dan"};
    kn_report_card card = {.participant = 1, .words = "as sub-cyd"};
    const char *level[] = {"of sub-ann", "17"}, *cell[N] = {"of sub-ann", "of sub-ann", "17"};
    kn_report_column family = {.name = "family", .levels = 2, .level = level};
    kn_report_input m = {.kind = KN_INPUT_SCORE,
                         .dir = "scored",
                         .N = 1,
                         .n = N,
                         .id = ID,
                         .n_excluded = 2,
                         .training_id = (const char *const[]){"sub-dan"},
                         .excluded_id = GONE,
                         .excluded_reason = WHY};
    const kn_report_job job = {.m = &m, .r = r};
    char *json;
    for (int i = 0; i < N; i++)
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->participants.participant[i].id,
                                      "participant-%d", i + 1));
    r->anonymized = true;
    r->alias = "participant-";
    r->title = "scored/sub-ann";
    r->sentence = "All but sub-eve.";
    r->warnings = (kn_report_notes){1, 1, &note};
    r->cohort = (kn_report_cohort){
        .n = 1, .column = &family, .n_excluded = 2, .excluded_id = GONE, .excluded_reason = WHY};
    for (int i = 0; i < N; i++)
        r->participants.participant[i].covariate = &cell[i];
    r->group = (kn_report_group){.label = "family=sub-bob"};
    r->words.facts = 1, r->words.fact = &fact;
    r->participants.n_cards = 1, r->participants.card = &card;
    assert_ok(ctx, kn_compute_anonymize(ctx, &job));
    assert_ok(ctx, kn_report_json_text(ctx, r, &json));
    assert_null(strstr(json, "sub-"));
    assert_non_null(strstr(json, "far away: participant-2"));
    assert_non_null(strstr(json, "id=participant-of-training"));
    assert_string_equal(level[0], "of participant-1");
    assert_string_equal(cell[1], "of participant-1");
    assert_string_equal(r->group.label, "family=participant-2");
    json_t *read = json_loads(json, 0, NULL);
    assert_non_null(read);
    json_decref(read);
    kn_free(json);
    free_report(r);
}

TEST_PROGRAM(report_anonymize)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_have_one_number),
        cmocka_unit_test(ids_are_replaced_as_words),
        cmocka_unit_test(ids_like_aliases_stay_distinct),
        cmocka_unit_test(an_anonymised_report_names_no_participant),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests_name("report_strip", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
