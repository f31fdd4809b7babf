#include "data/table/match_ids.h"

#include "data/table/align_ids.h"

#include "ref/seed.h"
#include "support/failing.h"
#include "support/logged.h"
#include "support/scratch.h"

static kn_table *table_of(kn_ctx *ctx, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, "c.tsv", '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

#define SIDE(ids)                                                                                  \
    {                                                                                              \
        "y.txt", sizeof(ids) / sizeof *(ids), ids, NULL, NULL                                      \
    }

static void refuse(kn_ctx *ctx, const kn_table *t, ptrdiff_t col, const kn_match_side *side,
                   kn_match_policy policy, kn_status status, const char *sentence)
{
    kn_match m = {.n = 7};
    assert_sentence(ctx,
                    kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = col}, side, policy,
                                  &m),
                    status, sentence);
    assert_int_equal(m.n, 0);
    assert_null(m.covariate_row);
    assert_null(m.id);
}

static void id_columns_go_by_their_usual_names(void **state)
{
    (void)state;
    static const struct {
        const char *option, *covariates, *responses; /* headers */
        ptrdiff_t c, r;
    } cases[] = {
        {NULL, "age\tparticipant_id", NULL, 1, -1},
        {NULL, "age\tPARTICIPANT_ID", "y\tParticipant_Id", 1, 1},
        {NULL, "SUBJID\tsub_id", "sub_id\ty", 1, 0},
        {NULL, "subject_id\tsub_id", "subject_id\tSubjID", 0, 0},
        {NULL, "participant_id\tage", "sub_id\ty", 0, 0},
        {NULL, "age\tSubject ID", "EID\ty", 1, 0},
        {NULL, "id\trecord-id", "src_subject_id\ty", 1, 0},
        {NULL, "id\tage", "id\tsubject", 0, 0},
        {NULL, "subject\tage", "y\tz", 0, -1},
        {NULL, "age\tsex", NULL, -1, -1},
        {"age", "participant_id\tage", NULL, 1, -1},
        {"code", "participant_id\tcode", "code\tparticipant_id", 1, 0},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s\n1\t2\n", cases[i].covariates);
        kn_table *c = table_of(ctx, text), *r = NULL;
        if (cases[i].responses) {
            snprintf(text, sizeof text, "%s\n1\t2\n", cases[i].responses);
            r = table_of(ctx, text);
        }
        ptrdiff_t c_col, r_col;
        assert_ok(ctx, kn_match_id_columns(ctx, cases[i].option, c, r, &c_col, &r_col));
        assert_int_equal(c_col, cases[i].c);
        assert_int_equal(r_col, cases[i].r);
        kn_table_free(c);
        kn_table_free(r);
    }
    kn_table *c = table_of(ctx, "participant_id\tage\n1\t2\n"), *r = table_of(ctx, "y\tz\n1\t2\n");
    ptrdiff_t c_col, r_col;
    assert_sentence(
        ctx, kn_match_id_columns(ctx, "code", c, NULL, &c_col, &r_col), KN_ERR_DATA,
        "c.tsv has no column 'code' (named in {id}); its columns are participant_id, age");
    assert_sentence(ctx, kn_match_id_columns(ctx, "participant_id", c, r, &c_col, &r_col),
                    KN_ERR_DATA,
                    "c.tsv has no column 'participant_id' (named in {id}); its columns are y, z");
    assert_int_equal(c_col, -1);
    kn_table_free(c);
    kn_table_free(r);
    kn_ctx_free(ctx);
}

static void ids_match_whatever_their_order(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, "id\n123456789012345678\nb\n123456789012345679\n01\n");
    static const char *const ids[] = {"01", "123456789012345679", "b", "123456789012345678"};
    static const ptrdiff_t rows[] = {3, 2, 1, 0};
    const kn_match_side side = SIDE(ids);
    for (int policy = 0; policy < 2; policy++) {
        kn_match m;
        assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, &side,
                                     (kn_match_policy)policy, &m));
        assert_int_equal(m.n, 4);
        assert_false(m.by_position);
        for (ptrdiff_t i = 0; i < 4; i++) {
            assert_int_equal(m.covariate_row[i], i);
            assert_int_equal(m.response_row[i], rows[i]);
            assert_string_equal(m.id[i], ids[rows[i]]);
        }
        kn_match_clear(&m);
    }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void common_takes_what_both_have(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_table *t = table_of(ctx, "id\na\nb\nc\nd\n");
    static const char *const ids[] = {"d", "x", "b"};
    const kn_match_side side = SIDE(ids);
    kn_match m;
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, &side,
                                 KN_MATCH_COMMON, &m));
    assert_int_equal(m.n, 2);
    assert_int_equal(m.covariate_row[0], 1);
    assert_int_equal(m.response_row[0], 2);
    assert_int_equal(m.covariate_row[1], 3);
    assert_int_equal(m.response_row[1], 0);
    assert_string_equal(m.id[1], "d");
    assert_logged(log, KN_LOG_INFO, "2 IDs are in both c.tsv (of 4) and y.txt (of 3)");
    kn_match_clear(&m);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void without_ids_rows_match_by_position(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    logged log = {0};
    kn_set_log(ctx, logged_take, &log);
    kn_table *t = table_of(ctx, "id\na\nb\nc\n");
    static const char *const ids[] = {"x", "y", "z"};
    kn_match_side side = {"y.nii", 3, NULL, NULL, NULL}, other = SIDE(ids);
    kn_match m;
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, &side,
                                 KN_MATCH_ALL, &m));
    assert_logged(log, KN_LOG_WARNING,
                  "c.tsv and y.nii have no IDs to match by, so rows are matched by position");
    assert_true(m.by_position && m.n == 3 && m.response_row[2] == 2);
    assert_string_equal(m.id[2], "c"); /* known, if not matched by */
    kn_match_clear(&m);
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = -1}, &other,
                                 KN_MATCH_ALL, &m));
    assert_int_equal(log.lines, 2);
    assert_string_equal(m.id[2], "z");
    kn_match_clear(&m);
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = -1}, &side,
                                 KN_MATCH_COMMON, &m));
    assert_null(m.id);
    kn_match_clear(&m);

    /* The same table, or covariates alone: nothing to warn about. */
    log.lines = 0;
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, NULL,
                                 KN_MATCH_ALL, &m));
    assert_int_equal(log.lines, 0);
    assert_false(m.by_position);
    assert_int_equal(m.n, 3);
    assert_string_equal(m.id[1], "b");
    kn_match_clear(&m);

    side.n = 4;
    refuse(ctx, t, 0, &side, KN_MATCH_COMMON, KN_ERR_SHAPE,
           "c.tsv has 3 rows, but y.nii has 4; without IDs in both, rows match by position and "
           "must be equally many");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void ids_that_differ_are_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, "id\na\nb\nc\nd\ne\nf\ng\n");
    static const char *const few[] = {"g", "x", "y"};
    static const char *const more[] = {"g", "f", "e", "d", "c", "b", "a", "x"};
    static const char *const none[] = {"1", "2"};
    const kn_match_side side_few = SIDE(few), side_more = SIDE(more), side_none = SIDE(none);
    refuse(ctx, t, 0, &side_few, KN_MATCH_ALL, KN_ERR_DATA,
           "c.tsv: 6 IDs are not in y.txt: a, b, c, d, e, ..., and 2 the other way round; use "
           "{match=common} to use only the IDs that are in both");
    refuse(
        ctx, t, 0, &side_more, KN_MATCH_ALL, KN_ERR_DATA,
        "y.txt: 1 ID is not in c.tsv: x; use {match=common} to use only the IDs that are in both");
    for (int policy = 0; policy < 2; policy++)
        refuse(ctx, t, 0, &side_none, (kn_match_policy)policy, KN_ERR_DATA,
               "c.tsv and y.txt have no IDs in common (the first are a and 1); name the ID column "
               "in {id}");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* Aligns b to a and joins the ids of b with commas. */
static void assert_aligned(kn_ctx *ctx, const char **a, ptrdiff_t na, const char **b, ptrdiff_t nb,
                           const char *expected)
{
    kn_id_list first = {"c.tsv", na, a}, second = {"y.txt", nb, b};
    char all[256] = "";
    assert_ok(ctx, kn_ids_align(ctx, &first, &second));
    for (ptrdiff_t i = 0; i < nb; i++)
        strcat(strcat(all, i ? "," : ""), b[i]);
    assert_string_equal(all, expected);
}

static void ids_in_another_spelling_are_aligned_where_only_one_fits(void **state)
{
    (void)state;
    static const struct {
        const char *a[4], *b[4], *expected;
    } cases[] = {
        {{"1", "2", "10"}, {"010", "001", "3"}, "10,1,3"},
        {{"sub-01", "sub-2"}, {"1", "02"}, "sub-01,sub-2"},
        {{"s01", "s1"}, {"S01 ", "s001"}, "s01,s001"},
        {{"sub-01_ses-02", "sub-01_ses-1"}, {"1_2", "SUB-1_1"}, "sub-01_ses-02,sub-01_ses-1"},
        {{"1", "01"}, {"001", "1"}, "001,1"},           /* which of both? */
        {{"1", "2"}, {"01", "001"}, "01,001"},          /* and here */
        {{"1", "1", "2"}, {"01", "02", "01"}, "1,2,1"}, /* visits of one participant */
        {{"0", "n/a"}, {"00", ""}, "0,"},
        {{"1.5", "sub"}, {"1.05", "sub-"}, "1.05,sub-"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *a[4], *b[4];
        ptrdiff_t na = 0, nb = 0;
        for (; na < 4 && cases[k].a[na]; na++)
            a[na] = cases[k].a[na];
        for (; nb < 4 && cases[k].b[nb]; nb++)
            b[nb] = cases[k].b[nb];
        assert_aligned(ctx, a, na, b, nb, cases[k].expected);
    }
    logged log = {0};
    const char *a[] = {"7", "x"}, *b[] = {"x", "sub-07"};
    kn_set_log(ctx, logged_take, &log);
    assert_aligned(ctx, a, 2, b, 2, "x,7");
    assert_logged(log, KN_LOG_WARNING,
                  "y.txt: 1 ID equals those of c.tsv except for leading zeros, prefixes, case or "
                  "spaces, and is matched: sub-07 as 7");
    kn_ctx_free(ctx);
}

/* Against a comparison of all pairs by the same reduction, written another way. */
static void aligned_ids_are_those_of_the_comparison_of_all_pairs(void **state)
{
    (void)state;
    static const char *const written[] = {"%d", "0%d", "00%d", "sub-%d", "Sub-0%d", " %d "};
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 5, 1);
    for (int trial = 0; trial < 200; trial++) {
        enum { N = 12 };
        char text[2 * N][16];
        int number[2 * N], form[2 * N];
        const char *id[2 * N], *given[2 * N];
        for (int i = 0; i < 2 * N; i++) {
            number[i] = (int)(15 * kn_rng_uniform(&rng));
            form[i] = (int)(6 * kn_rng_uniform(&rng));
            snprintf(text[i], sizeof text[i], written[form[i]], number[i]);
            id[i] = given[i] = text[i];
        }
        kn_id_list a = {"a", N, id}, b = {"b", N, id + N};
        assert_ok(ctx, kn_ids_align(ctx, &a, &b));
        for (int k = N; k < 2 * N; k++) {
            const char *expected = NULL;
            bool one = true;
            for (int i = 0; i < N; i++)
                if (number[i] == number[k]) {
                    one = one && (!expected || strcmp(expected, given[i]) == 0);
                    expected = given[i];
                }
            for (int i = N; i < 2 * N; i++)
                one = one && (number[i] != number[k] || strcmp(given[i], given[k]) == 0);
            assert_string_equal(id[k], expected && one ? expected : given[k]);
        }
        for (int i = 0; i < N; i++)
            assert_ptr_equal(id[i], given[i]);
    }
    kn_ctx_free(ctx);
}

static void an_id_column_of_another_name_is_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *text, *suggestion;
    } cases[] = {
        {"age\tcode\n1\ta\n2\tb\n",
         "c.tsv has no column with a usual name of an ID, but code is different in every row; if "
         "it contains the IDs, use {id=code}"},
        {"age\tsite\n1\ta\n2\ta\n", ""},
        {"age\tcode\n1\ta\n2\t\n", ""},
        {"age\tcode\n1\t7\n2\t8\n", ""},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        logged log = {0};
        ptrdiff_t c, r;
        kn_table *t = table_of(ctx, cases[k].text);
        kn_set_log(ctx, logged_take, &log);
        assert_ok(ctx, kn_match_id_columns(ctx, NULL, t, NULL, &c, &r));
        assert_true(c == -1 && r == -1);
        assert_string_equal(log.text, cases[k].suggestion);
        kn_table_free(t);
    }
    kn_ctx_free(ctx);
}

static void a_doubled_or_missing_id_is_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const char *const twice[] = {"a", "b", "a"}, *const blank[] = {"a", "", "c"};
    static const ptrdiff_t line[] = {2, 5, 9};
    kn_match_side side = SIDE(twice), empty = SIDE(blank);
    kn_match m;
    kn_table *t = table_of(ctx, "id\na\n\nb\na\n");
    refuse(ctx, t, 0, &side, KN_MATCH_ALL, KN_ERR_DATA,
           "c.tsv: 1 ID occurs more than once, first on lines 2 and 5: a; if these are sessions of "
           "one participant, use {session}");
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, NULL,
                                 KN_MATCH_ALL, &m)); /* nothing hangs on it */
    assert_true(m.n == 3 && m.repeat[0] == 0 && m.repeat[1] == 2);
    assert_string_equal(m.id[2], "a");
    kn_match_clear(&m);
    kn_table_free(t);
    t = table_of(ctx, "id\na\nb\nc\n");
    refuse(ctx, t, 0, &side, KN_MATCH_COMMON, KN_ERR_DATA,
           "y.txt: 1 ID occurs more than once, first on rows 1 and 3: a; if these are sessions of "
           "one participant, use {session}");
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = -1}, &side,
                                 KN_MATCH_ALL, &m)); /* by position */
    assert_true(m.repeat[0] == 0 && m.repeat[1] == 2);
    kn_match_clear(&m);
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, NULL,
                                 KN_MATCH_ALL, &m));
    assert_true(m.repeat[0] == 0 && m.repeat[1] == 0);
    kn_match_clear(&m);
    side.line = line;
    refuse(ctx, t, 0, &side, KN_MATCH_ALL, KN_ERR_DATA,
           "y.txt: 1 ID occurs more than once, first on lines 2 and 9: a; if these are sessions of "
           "one participant, use {session}");
    refuse(ctx, t, 0, &empty, KN_MATCH_ALL, KN_ERR_DATA,
           "y.txt row 2: id is '', but every row must have an ID");
    kn_table_free(t);
    t = table_of(ctx, "id\na\nn/a\n");
    refuse(ctx, t, 0, NULL, KN_MATCH_ALL, KN_ERR_DATA,
           "c.tsv line 3: id is 'n/a', but every row must have an ID");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* The obvious quadratic search as oracle, on ids in a shuffled order. */
static void many_ids_match_as_one_by_one(void **state)
{
    (void)state;
    enum { N = 500 };
    static char text[N * 12], name[N][12];
    const char *ids[N];
    kn_ctx *ctx = kn_ctx_new();
    strcpy(text, "id\n");
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "s%d", i * 211 % 997); /* distinct: 997 is prime */
        ids[i] = name[i];
        sprintf(text + strlen(text), "s%d\n", i * 3);
    }
    kn_table *t = table_of(ctx, text);
    const kn_match_side side = {"y", N, ids, NULL, NULL};
    kn_match m;
    assert_ok(ctx, kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = 0}, &side,
                                 KN_MATCH_COMMON, &m));
    ptrdiff_t k = 0;
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++)
            if (strcmp(kn_table_cell(t, i, 0), ids[j]) == 0) {
                assert_true(k < m.n && m.covariate_row[k] == i && m.response_row[k] == j);
                k++;
            }
    assert_int_equal(k, m.n);
    assert_true(k > 50);
    kn_match_clear(&m);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void doubled_ids_are_counted_all(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const char *const ids[] = {"a"};
    const kn_match_side side = SIDE(ids);
    kn_table *t = table_of(ctx, "id\nf\ng\nf\nb\nb\nc\nc\nc\nd\nd\ne\ne\ng\nz\n");
    refuse(ctx, t, 0, &side, KN_MATCH_ALL, KN_ERR_DATA,
           "c.tsv: 6 IDs occur more than once, first on lines 5 and 6: b, c, d, e, f, ...; if "
           "these are sessions of one participant, use {session}");
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void rows_that_are_not_used_need_no_partner(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, "id\na\na\nb\nc\nn/a\n");
    static const bool keep[] = {false, true, false, true, false};
    static const char *const ids[] = {"c", "b", "a"}, *const more[] = {"c", "a", "d"};
    kn_match_side side = SIDE(ids), other = SIDE(more);
    const kn_match_table covariates = {.table = t, .id_col = 0, .keep = keep};
    kn_match m;
    assert_ok(ctx, kn_match_rows(ctx, &covariates, &side, KN_MATCH_ALL, &m));
    assert_int_equal(m.n, 2);
    assert_true(m.covariate_row[0] == 1 && m.response_row[0] == 2);
    assert_true(m.covariate_row[1] == 3 && m.response_row[1] == 0);
    kn_match_clear(&m);
    assert_sentence(
        ctx, kn_match_rows(ctx, &covariates, &other, KN_MATCH_ALL, &m), KN_ERR_DATA,
        "y.txt: 1 ID is not in c.tsv: d; use {match=common} to use only the IDs that are in both");
    static const bool second[] = {false, true, true, true, true};
    static const char *const twice[] = {"a", "a", "c", "b", "x"};
    kn_match_side all = SIDE(twice);
    all.keep = second;
    assert_ok(ctx, kn_match_rows(ctx, &covariates, &all, KN_MATCH_COMMON, &m));
    assert_true(m.n == 2 && m.response_row[0] == 1 && m.response_row[1] == 2);
    kn_match_clear(&m);
    const kn_match_table bare = {.table = t, .id_col = -1, .keep = keep};
    kn_match_side array = {"y.npy", 5, NULL, NULL, NULL};
    assert_ok(ctx, kn_match_rows(ctx, &bare, &array, KN_MATCH_ALL, &m));
    assert_true(m.n == 2 && m.by_position && m.response_row[0] == 1 && m.response_row[1] == 3);
    kn_match_clear(&m);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_match_ids, NULL, NULL)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t = table_of(ctx, "id\na\nb\n");
    static const char *const ids[] = {"b", "a"};
    const kn_match_side side = SIDE(ids);
    for (int by_id = 0; by_id < 2; by_id++)
        for (long k = 1;; k++) {
            kn_match m;
            kn_fail_allocation(ctx, k);
            kn_status s =
                kn_match_rows(ctx, &(kn_match_table){.table = t, .id_col = by_id ? 0 : -1}, &side,
                              KN_MATCH_ALL, &m);
            kn_fail_allocation(ctx, 0);
            if (s == KN_OK) {
                assert_true(k > 3);
                kn_match_clear(&m);
                break;
            }
            assert_int_equal(s, KN_ERR_MEMORY);
            assert_null(m.id);
        }
    kn_table_free(t);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_match_ids)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_columns_go_by_their_usual_names),
        cmocka_unit_test(ids_match_whatever_their_order),
        cmocka_unit_test(common_takes_what_both_have),
        cmocka_unit_test(without_ids_rows_match_by_position),
        cmocka_unit_test(ids_that_differ_are_named),
        cmocka_unit_test(ids_in_another_spelling_are_aligned_where_only_one_fits),
        cmocka_unit_test(aligned_ids_are_those_of_the_comparison_of_all_pairs),
        cmocka_unit_test(an_id_column_of_another_name_is_suggested),
        cmocka_unit_test(a_doubled_or_missing_id_is_refused),
        cmocka_unit_test(doubled_ids_are_counted_all),
        cmocka_unit_test(rows_that_are_not_used_need_no_partner),
        cmocka_unit_test(many_ids_match_as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
