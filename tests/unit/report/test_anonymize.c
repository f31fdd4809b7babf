/* Ids of people do not go to a page that is given away. */
#include "support/reports.h"

#include "report/json/json.h"
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
    static const kn_alias ALIAS[] = {{"sub-1", "person-1"},
                                     {"sub-12", "person-2"},
                                     {"4711", "person-3"},
                                     {"7", "person-4"},
                                     {"M\xC3\xBCller, J.", "person-5"}};
    static const struct {
        const char *text, *expected;
        bool sentence;
    } CASE[] = {
        {"sub-1 and sub-12, not sub-123 or xsub-1", "person-1 and person-2, not sub-123 or xsub-1",
         true},
        {"--responses 'in/sub-12_T1w.nii'", "--responses 'in/person-2_T1w.nii'", false},
        {"4711 people", "4711 people", true},
        {"--where id=4711", "--where id=person-3", false},
        {"--seed 7", "--seed 7", false},
        {"of M\xC3\xBCller, J.: n/a", "of person-5: n/a", true},
        {"", "", true},
    };
    kn_arena arena = {0};
    kn_stripper *s;
    assert_ok(ctx, kn_stripper_new(ctx, ALIAS, 5, "person-", &s));
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        const char *out;
        assert_ok(ctx, kn_anonymize(ctx, s, CASE[k].text, CASE[k].sentence, &arena, &out));
        assert_string_equal(out, CASE[k].expected);
    }
    kn_stripper_free(s);
    kn_arena_clear(&arena);
}

/* Somebody may be called as others are in the page. */
static void ids_like_aliases_stay_distinct(void **state)
{
    (void)state;
    static const char *const NAME[] = {"person-2", "person", "person--x", "person---7", "person-"};
    static const kn_alias ALIAS[] = {{"person-2", "person--1"},
                                     {"person", "person--2"},
                                     {"7", "person--3"}};
    static const char text[] = "person--12 and person-2, a person and person--2 of person--x";
    kn_arena arena = {0};
    kn_stripper *s;
    const char *out;
    assert_int_equal(kn_anonymize_hyphens(NAME + 1, 1, 0), 0);
    assert_int_equal(kn_anonymize_hyphens(NAME, 3, 0), 1);
    assert_int_equal(kn_anonymize_hyphens(NAME, 5, 2), 3);
    assert_int_equal(kn_anonymize_hyphens(NULL, 5, 2), 2);
    assert_ok(ctx, kn_stripper_new(ctx, ALIAS, 3, "person--", &s));
    assert_ok(ctx, kn_anonymize(ctx, s, text, true, &arena, &out));
    assert_string_equal(out, "person--12 and person--1, a person--2 and person--2 of person--2--x");
    kn_stripper_free(s);
    kn_arena_clear(&arena);
}

static void a_stripped_report_names_nobody(void **state)
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
    kn_report_card card = {.person = 1, .words = "as sub-cyd"};
    const char *level[] = {"of sub-ann", "17"}, *cell[N] = {"of sub-ann", "of sub-ann", "17"};
    kn_report_column family = {.name = "family", .levels = 2, .level = level};
    kn_report_input m = {.kind = KN_MATERIAL_SCORE,
                         .dir = "scored",
                         .N = 1,
                         .n = N,
                         .id = ID,
                         .n_dropped = 2,
                         .training_id = (const char *const[]){"sub-dan"},
                         .dropped_id = GONE,
                         .dropped_why = WHY};
    const kn_report_job job = {.m = &m, .r = r};
    char *json;
    for (int i = 0; i < N; i++)
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->people.person[i].id, "person-%d", i + 1));
    r->stripped = true;
    r->alias = "person-";
    r->title = "scored/sub-ann";
    r->sentence = "All but sub-eve.";
    r->warnings = (kn_report_notes){1, 1, &note};
    r->cohort = (kn_report_cohort){
        .n = 1, .column = &family, .n_dropped = 2, .dropped_id = GONE, .dropped_why = WHY};
    for (int i = 0; i < N; i++)
        r->people.person[i].covariate = &cell[i];
    r->group = (kn_report_group){.label = "family=sub-bob"};
    r->words.facts = 1, r->words.fact = &fact;
    r->people.n_cards = 1, r->people.card = &card;
    assert_ok(ctx, kn_compute_strip(ctx, &job));
    assert_ok(ctx, kn_report_json_text(ctx, r, &json));
    assert_null(strstr(json, "sub-"));
    assert_non_null(strstr(json, "far away: person-2"));
    assert_non_null(strstr(json, "id=person-of-training"));
    assert_string_equal(level[0], "of person-1");
    assert_string_equal(cell[1], "of person-1");
    assert_string_equal(r->group.label, "family=person-2");
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
        cmocka_unit_test(a_stripped_report_names_nobody),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests_name("report_strip", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
