#include "data/table/sessions.h"

#include "data/response_space.h"
#include "support/scratch.h"

enum { N = 5 };
static const char *PARTICIPANT[N] = {"sub-1", "sub-2", "sub-1", "sub-1", "sub-2"};

static void ids_are_made_of_participant_and_session(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    const char *session[N] = {"1", "ses-1", "ses-base", " 2 ", "ses-"};
    static const char *const expected[N] = {"sub-1_ses-1", "sub-2_ses-1", "sub-1_ses-base",
                                            "sub-1_ses-2", "sub-2_ses-ses-"};
    const kn_session_rows rows = {N, PARTICIPANT, session, NULL};
    char **id;
    assert_ok(ctx, kn_session_ids(ctx, &rows, &id));
    for (int i = 0; i < N; i++)
        assert_string_equal(id[i], expected[i]);
    kn_names_free(id, N);
    kn_ctx_free(ctx);
}

static void one_row_of_each_participant_stays(void **state)
{
    (void)state;
    static const char *const numbers[N] = {"ses-10", "ses-2", "ses-9", "ses-2", "ses-1"};
    static const char *const texts[N] = {"followup", "b", "baseline", "later", "a"};
    static const struct {
        const char *const *session;
        bool last;
        const char *keep, *used; /* a letter a row */
    } cases[] = {
        {numbers, false, "...xx", "xxxxx"}, {numbers, true, "xx...", "xxxxx"},
        {texts, false, "..x.x", "xxxxx"},   {texts, true, ".x.x.", "xxxxx"},
        {NULL, false, "xx...", "xxxxx"},    {NULL, true, "...xx", "xxxxx"},
        {numbers, false, "..x.x", "xxx.x"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        bool keep[N];
        for (int i = 0; i < N; i++)
            keep[i] = cases[c].used[i] == 'x';
        const kn_session_rows rows = {N, PARTICIPANT, (const char **)cases[c].session, keep};
        assert_ok(ctx, kn_session_choose(ctx, &rows, cases[c].last));
        for (int i = 0; i < N; i++)
            assert_int_equal(keep[i], cases[c].keep[i] == 'x');
    }
    kn_ctx_free(ctx);
}

static void visits_with_numbers_in_their_names_go_by_these(void **state)
{
    (void)state;
    enum { M = 8 };
    static const char *participant[M] = {"b", "a", "a", "a", "a", "a", "a", "b"};
    static const char *visit[M] = {"2021-02-01", "m12",  "m6b", "m6",
                                   "m06a",       "m100", "m",   "2020-11-30"};
    static const ptrdiff_t expected[M] = {6, 3, 4, 2, 1, 5, 7, 0};
    const kn_session_rows rows = {M, participant, visit, NULL};
    kn_ctx *ctx = kn_ctx_new();
    ptrdiff_t order[M], n;
    assert_ok(ctx, kn_session_order(ctx, &rows, order, &n));
    assert_int_equal(n, M);
    for (int i = 0; i < M; i++)
        assert_int_equal(order[i], expected[i]);
    kn_ctx_free(ctx);
}

static void columns_of_sessions_have_usual_names(void **state)
{
    (void)state;
    assert_true(kn_session_is_name("session") && kn_session_is_name(" Visit ") &&
                kn_session_is_name("SES_ID"));
    assert_false(kn_session_is_name("visits") || kn_session_is_name("run"));
    assert_true(kn_session_is_one("first") && kn_session_is_one("last"));
    assert_false(kn_session_is_one(NULL) || kn_session_is_one("visit"));
}

TEST_PROGRAM(data_sessions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_made_of_participant_and_session),
        cmocka_unit_test(one_row_of_each_participant_stays),
        cmocka_unit_test(visits_with_numbers_in_their_names_go_by_these),
        cmocka_unit_test(columns_of_sessions_have_usual_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
