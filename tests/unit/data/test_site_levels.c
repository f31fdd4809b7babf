/* Categories that new participants may have further levels of: which these are, sites as
 * combinations of their levels, and a design without them [METHOD 8e]. */
#include "data/covariates/site_levels.h"

#include "data/covariates/encoding.h"
#include "support/scratch.h"
#include "support/views.h"

static kn_ctx *ctx;

enum { AGE, SITE, SEX, SCANNER, COLUMNS };

/* Ten participants: site of three levels, scanner of two, some codes missing. */
static kn_mat participants(void)
{
    static const double RAW[10][COLUMNS] = {{20, 2, 0, 1},   {31, 0, 1, 0},   {42, 1, 0, 0},
                                            {53, 2, 1, 1},   {64, 0, 0, 0},   {75, 2, 1, 0},
                                            {27, NAN, 0, 1}, {38, 1, 1, NAN}, {49, 0, 0, 0},
                                            {60, 1, 1, 0}};
    kn_mat raw = ref_new(10, COLUMNS);
    for (int i = 0; i < 10; i++)
        for (int c = 0; c < COLUMNS; c++)
            kn_col(raw, c)[i] = RAW[i][c];
    return raw;
}

static kn_design design_of(kn_mat raw, const bool *batch, bool slopes)
{
    static const int LEVELS[COLUMNS] = {0, 3, 2, 2};
    static const kn_interaction BOTH[] = {{SITE, AGE}, {SEX, AGE}};
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = LEVELS,
                           .batch = batch,
                           .quadratic = 1,
                           .interactions = BOTH,
                           .n_interactions = slopes ? 2 : 0};
    kn_design d;
    assert_ok(ctx, kn_design_new(ctx, view(raw), &o, &d));
    return d;
}

static const bool TWO[COLUMNS] = {[SITE] = true, [SCANNER] = true}, ONE[COLUMNS] = {[SITE] = true};

/* ---- sites ----------------------------------------------------------------------------------- */

static void sites_are_the_combinations_that_training_has(void **state)
{
    (void)state;
    kn_mat raw = participants();
    kn_design d = design_of(raw, TWO, false);
    kn_site_levels b;
    int site[10];
    static const int CODES[4][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}}, PARTICIPANTS[4] = {3, 2, 1, 2};
    static const int WHERE[10] = {3, 0, 1, 3, 0, 2, -1, -1, 0, 1};
    assert_ok(ctx, kn_site_levels_new(ctx, &d, view(raw), &b));
    assert_true(b.M == 2 && b.column[0] == SITE && b.column[1] == SCANNER && b.S == 4);
    assert_memory_equal(b.code, CODES, sizeof CODES);
    for (int s = 0; s < 4; s++)
        assert_int_equal(b.n_participants[s], PARTICIPANTS[s]);
    kn_site_levels_sites(&b, view(raw), site);
    assert_memory_equal(site, WHERE, sizeof WHERE);
    /* a level of its own, and one that is not known beside one that is: both are new; a pair of
     * known levels is none of training, but nothing in it is new; a missing level neither */
    kn_mat new = ref_new(4, COLUMNS);
    kn_col(new, SITE)[0] = 3, kn_col(new, SCANNER)[1] = 2;
    kn_col(new, SITE)[2] = 1, kn_col(new, SCANNER)[2] = 1;
    kn_col(new, SITE)[3] = NAN;
    kn_site_levels_sites(&b, view(new), site);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(site[i], -1);
        assert_int_equal(kn_site_levels_is_new(&b, &d, view(new), i), i < 2);
    }
    kn_site_levels_clear(&b);
    kn_design_clear(&d);
    free(raw.data), free(new.data);
}

static void without_a_batch_there_are_no_sites(void **state)
{
    (void)state;
    kn_mat raw = participants();
    kn_design d = design_of(raw, NULL, false);
    kn_site_levels b;
    int site[10];
    assert_false(kn_design_has_batch(&d));
    assert_ok(ctx, kn_site_levels_new(ctx, &d, view(raw), &b));
    assert_true(b.M == 0 && b.S == 0 && !b.column && !b.code && !b.n_participants);
    kn_site_levels_sites(&b, view(raw), site);
    for (int i = 0; i < 10; i++)
        assert_true(site[i] == -1 && !kn_site_levels_is_new(&b, &d, view(raw), i));
    kn_design_clear(&d);
    free(raw.data);
}

static void sites_survive_json_and_lies_are_refused(void **state)
{
    (void)state;
    static const char *const LIES[] = {
        "null",
        "{}",
        "[]",
        "{\"codes\": [], \"people\": []}",
        "{\"codes\": [[0, 0]], \"people\": []}",
        "{\"codes\": [[0, 0]], \"people\": [1, 2]}",
        "{\"codes\": [[0, 0]], \"people\": [0]}",
        "{\"codes\": [[0, 0]], \"people\": [1.5]}",
        "{\"codes\": [[0]], \"people\": [1]}",
        "{\"codes\": [[0, 0, 0]], \"people\": [1]}",
        "{\"codes\": [[3, 0]], \"people\": [1]}",
        "{\"codes\": [[0, -1]], \"people\": [1]}",
        "{\"codes\": [[0, \"a\"]], \"people\": [1]}",
        "{\"codes\": [[1, 0], [0, 0]], \"people\": [1, 1]}",
        "{\"codes\": [[1, 0], [1, 0]], \"people\": [1, 1]}",
        "{\"codes\": 7, \"people\": 7}",
    };
    kn_mat raw = participants();
    kn_design d = design_of(raw, TWO, false), none = design_of(raw, NULL, false);
    kn_site_levels b, again;
    assert_ok(ctx, kn_site_levels_new(ctx, &d, view(raw), &b));
    json_t *json = kn_site_levels_to_json(&b);
    assert_ok(ctx, kn_site_levels_from_json(ctx, "m", json, &d, &again));
    assert_true(again.S == b.S && again.M == b.M);
    assert_memory_equal(again.code, b.code, sizeof(int) * 8);
    assert_memory_equal(again.n_participants, b.n_participants, sizeof(ptrdiff_t) * 4);
    assert_memory_equal(again.column, b.column, sizeof(ptrdiff_t) * 2);
    kn_site_levels_clear(&again);
    static const char SENTENCE[] = "m: invalid sites, expected combinations of batch levels in "
                                   "order with their numbers of participants";
    assert_sentence(ctx, kn_site_levels_from_json(ctx, "m", json, &none, &again), KN_ERR_FORMAT,
                    SENTENCE);
    for (size_t k = 0; k < sizeof LIES / sizeof *LIES; k++) {
        json_t *lie = json_loads(LIES[k], JSON_DECODE_ANY, NULL);
        assert_non_null(lie);
        assert_sentence(ctx, kn_site_levels_from_json(ctx, "m", lie, &d, &again), KN_ERR_FORMAT,
                        SENTENCE);
        assert_true(again.M == 0 && !again.code && !again.column);
        json_decref(lie);
    }
    for (long k = 1; k <= 3; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_site_levels_from_json(ctx, "m", json, &d, &again), KN_ERR_MEMORY);
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_site_levels_new(ctx, &d, view(raw), &again), KN_ERR_MEMORY);
        assert_null(again.column);
    }
    kn_fail_allocation(ctx, 0);
    json_decref(json);
    kn_site_levels_clear(&b);
    kn_design_clear(&d), kn_design_clear(&none);
    free(raw.data);
}

/* ---- a design without them ------------------------------------------------------------------- */

static void a_design_leaves_batches_and_their_slopes_and_nothing_else(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        kn_mat raw = participants();
        bool slopes = k & 1, some[10] = {true, false, true, [6] = true};
        const bool *rows = k & 2 ? some : NULL;
        kn_design d = design_of(raw, k & 1 ? ONE : TWO, slopes);
        kn_design_block block[16];
        kn_mat X = ref_new(10, d.F), left = ref_new(10, d.F);
        int n = (int)kn_design_blocks(&d, block, 16), zero = 0;
        assert_true(kn_design_has_batch(&d));
        assert_ok(ctx, kn_design_apply(ctx, &d, view(raw), true, X, NULL));
        kn_mat_set(left, X);
        kn_design_set_without_site(&d, rows, left);
        for (int b = 0; b < n; b++) {
            bool batch = block[b].column >= 0 && d.column[block[b].column].batch;
            zero += batch;
            for (ptrdiff_t f = block[b].first; f < block[b].first + block[b].count; f++)
                for (int i = 0; i < 10; i++)
                    assert_true(kn_at(left, i, f) ==
                                (batch && (!rows || rows[i]) ? 0 : kn_at(X, i, f)));
        }
        assert_int_equal(zero, 2); /* two columns, or one and its slopes */
        kn_design_clear(&d);
        free(raw.data), free(X.data), free(left.data);
    }
}

static void a_design_with_batches_survives_json(void **state)
{
    (void)state;
    kn_mat raw = participants();
    kn_design d = design_of(raw, TWO, true), again;
    json_t *json = kn_design_to_json(&d);
    kn_design_scale scale = {d.C, d.mean, d.sd};
    assert_ok(ctx, kn_design_from_json(ctx, "m", json, scale, &again));
    for (int c = 0; c < COLUMNS; c++)
        assert_int_equal(again.column[c].batch, TWO[c]);
    kn_design_clear(&again);
    json_t *columns = json_object_get(json, "columns");
    json_object_set_new(json_array_get(columns, SITE), "batch", json_integer(1));
    assert_refused(ctx, kn_design_from_json(ctx, "m", json, scale, &again), KN_ERR_FORMAT,
                   "expected batch to be true or false, of a category");
    json_object_set_new(json_array_get(columns, SITE), "batch", json_true());
    json_object_set_new(json_array_get(columns, AGE), "batch", json_true());
    assert_refused(ctx, kn_design_from_json(ctx, "m", json, scale, &again), KN_ERR_FORMAT,
                   "expected batch to be true or false, of a category");
    json_decref(json);
    kn_design_clear(&d);
    free(raw.data);
}

/* ---- which categories they are --------------------------------------------------------------- */

static const char TABLE[] = "age\tsex\tsite\tcoil\tcode\n"
                            "20\tM\tB\tx\t1\n21\tF\tA\ty\t2\n22\tM\tC\tx\t3\n"
                            "23\tM\tB\ty\t1\n24\tF\tA\tx\t2\n25\tM\tC\ty\t3\n"
                            "26\tM\tB\tx\t1\n27\tF\tA\ty\t2\n28\tM\tC\tx\t3\n"
                            "29\tM\tB\ty\t1\n30\tF\tA\tx\t2\n31\tM\tC\ty\t3\n"
                            "32\tM\tB\tx\t1\n33\tF\tA\ty\t2\n34\tM\tC\tx\t3\n";

static kn_table *table_of(const char *name, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, name, '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

/* The names of those that are. */
static void assert_batches(const char *batch, bool codes, const char *expected)
{
    kn_table *t = table_of("participants.tsv", TABLE);
    kn_encoding_options o = {.id_col = -1,
                             .codes = codes,
                             .batch = batch,
                             .use = "age,sex,site,coil,code"};
    kn_encoding r;
    char found[256] = "";
    assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &r));
    for (ptrdiff_t k = 0; k < r.n; k++) {
        assert_true(!r.column[k].batch || r.column[k].kind == KN_COVARIATE_CATEGORY);
        if (r.column[k].batch)
            strcat(strcat(found, *found ? " " : ""), r.column[k].name);
    }
    assert_string_equal(found, expected);
    kn_encoding_clear(&r);
    kn_table_free(t);
}

static void an_encoding_learns_which_categories_are_batches(void **state)
{
    (void)state;
    assert_batches("auto", true, "site");
    assert_batches("none", true, "");
    assert_batches(NULL, true, "");
    assert_batches("coil", true, "coil"); /* and site no more */
    assert_batches("site,coil", true, "site coil");
    assert_batches("code", true, "code"); /* numbers are a category by that */
    assert_batches("co*", true, "coil code");
    assert_batches("auto", false, "");
}

static void a_wrong_batch_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *batch, *numeric, *use;
        kn_status status;
        const char *sentence;
    } WRONG[] = {
        {"code", "code", NULL, KN_ERR_ARGUMENT,
         "{batch} and {numeric} both name 'code'; name it in only one of them"},
        {"coil", NULL, "age,site", KN_ERR_ARGUMENT,
         "participants.tsv: {batch=coil} is not one of the covariates"},
        {"scanner", NULL, NULL, KN_ERR_DATA,
         "participants.tsv has no column 'scanner' (named in {batch})"},
    };
    kn_table *t = table_of("participants.tsv", TABLE);
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        kn_encoding_options o = {.id_col = -1,
                                 .codes = true,
                                 .batch = WRONG[k].batch,
                                 .numeric = WRONG[k].numeric,
                                 .use = WRONG[k].use};
        kn_encoding r;
        kn_status status = kn_encoding_learn(ctx, t, &o, &r);
        if (status != WRONG[k].status ||
            strncmp(kn_message(ctx), WRONG[k].sentence, strlen(WRONG[k].sentence)) != 0)
            fail_msg("%s: %s", WRONG[k].batch, kn_message(ctx));
        assert_int_equal(r.n, 0);
    }
    kn_table_free(t);
}

/* Rows of one site: the column stays, for participants of another. */
static void a_site_that_rows_were_chosen_by_stays_a_batch(void **state)
{
    (void)state;
    ptrdiff_t rows[5] = {0, 3, 6, 9, 12};
    kn_table *t = table_of("participants.tsv", "age\tsite\n1\tB\n1\tA\n2\tC\n2\tB\n3\tA\n3\tC\n"
                                               "4\tB\n4\tA\n5\tC\n5\tB\n6\tA\n6\tC\n7\tB\n");
    for (int k = 0; k < 3; k++) {
        kn_encoding_options o = {.id_col = -1,
                                 .codes = k < 2,
                                 .batch = k == 0 ? "auto" : "none",
                                 .where = "site=B",
                                 .rows = rows,
                                 .n_rows = 5};
        kn_encoding r;
        ptrdiff_t sites = 0;
        assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &r));
        for (ptrdiff_t c = 0; c < r.n; c++)
            sites += strcmp(r.column[c].name, "site") == 0 && r.column[c].batch;
        assert_int_equal(sites, k == 0);
        kn_encoding_clear(&r);
    }
    kn_table_free(t);
}

static void further_levels_of_a_batch_are_a_code_and_of_others_refused(void **state)
{
    (void)state;
    kn_table *t = table_of("participants.tsv", TABLE);
    kn_table *new = table_of("new.tsv", "age\tsex\tsite\n20\tM\tLeeds\n20\tF\tB\n20\tF\tBonn\n");
    kn_table *other = table_of("new.tsv", "age\tsex\tsite\n20\tX\tLeeds\n");
    kn_encoding_options o = {.id_col = -1, .codes = true, .batch = "auto", .use = "age,sex,site"};
    kn_encoding r, again;
    kn_mat X = ref_new(3, 3), Y = ref_new(1, 3);
    assert_ok(ctx, kn_encoding_learn(ctx, t, &o, &r));
    json_t *json = kn_encoding_to_json(&r);
    assert_ok(ctx, kn_encoding_from_json(ctx, "m", json, &again));
    bool batch[3];
    kn_encoding_batch(&again, batch);
    assert_true(!batch[0] && !batch[1] && batch[2]);
    assert_ok(ctx, kn_encoding_apply(ctx, &again, new, NULL, X, NULL));
    assert_true(kn_at(X, 0, 2) == 3 && kn_at(X, 1, 2) == 1 && kn_at(X, 2, 2) == 3);
    assert_sentence(
        ctx, kn_encoding_apply(ctx, &again, other, NULL, Y, NULL), KN_ERR_DATA,
        "new.tsv line 2: sex is 'X', which is not a level of the training sample (levels: F, M)");
    kn_encoding_clear(&again);
    json_object_set_new(json_array_get(json_object_get(json, "columns"), 2), "batch",
                        json_string("yes"));
    assert_refused(ctx, kn_encoding_from_json(ctx, "m", json, &again), KN_ERR_FORMAT,
                   "batch needs a category with codes");
    json_decref(json);
    kn_encoding_clear(&r);
    kn_table_free(t), kn_table_free(new), kn_table_free(other);
    free(X.data), free(Y.data);
}

TEST_PROGRAM(data_site_levels)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_are_the_combinations_that_training_has),
        cmocka_unit_test(without_a_batch_there_are_no_sites),
        cmocka_unit_test(sites_survive_json_and_lies_are_refused),
        cmocka_unit_test(a_design_leaves_batches_and_their_slopes_and_nothing_else),
        cmocka_unit_test(a_design_with_batches_survives_json),
        cmocka_unit_test(an_encoding_learns_which_categories_are_batches),
        cmocka_unit_test(a_wrong_batch_is_a_sentence),
        cmocka_unit_test(a_site_that_rows_were_chosen_by_stays_a_batch),
        cmocka_unit_test(further_levels_of_a_batch_are_a_code_and_of_others_refused),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests_name("batch", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
