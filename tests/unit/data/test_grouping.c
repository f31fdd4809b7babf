/* Rows that share noise, and participants as the additive model takes them. */
#include "support/calls.h"
#include "support/failing.h"

#include "data/sample.h"
#include "data/shared_noise_groups.h"
#include "support/logged.h"
#include "support/scratch.h"

static kn_ctx *ctx;
static logged said;

/* A table, its encoding and its rows as numbers. */
typedef struct rows {
    kn_table *table;
    kn_encoding encoding;
    kn_mat X;
    ptrdiff_t *row;
    const char **id;
} rows;

static rows rows_of(const char *text, const char *use, const char *group, bool ids)
{
    rows r = {0};
    assert_ok(ctx, kn_table_parse(ctx, "p.tsv", '\t', text, (ptrdiff_t)strlen(text), &r.table));
    kn_encoding_options o = {.use = use ? use : "*",
                             .group = kn_group_column(group),
                             .codes = true,
                             .id_col = ids ? 0 : -1};
    assert_ok(ctx, kn_encoding_learn(ctx, r.table, &o, &r.encoding));
    ptrdiff_t n = kn_table_rows(r.table);
    assert_ok(ctx, kn_mat_new(ctx, n, kn_encoding_width(&r.encoding), &r.X));
    assert_ok(ctx, kn_encoding_apply(ctx, &r.encoding, r.table, NULL, r.X, NULL));
    r.row = calloc((size_t)n, sizeof *r.row);
    r.id = calloc((size_t)n, sizeof *r.id);
    for (ptrdiff_t i = 0; i < n; i++) {
        r.row[i] = i;
        r.id[i] = kn_table_cell(r.table, i, 0);
    }
    if (!ids) {
        free(r.id);
        r.id = NULL;
    }
    said = (logged){0};
    return r;
}

static void rows_clear(rows *r)
{
    kn_table_free(r->table);
    kn_encoding_clear(&r->encoding);
    kn_mat_clear(&r->X);
    free(r->row);
    free(r->id);
}

static kn_grouping found(const rows *r, const char *text)
{
    kn_group_source from = {r->table, r->row, r->id, &r->encoding, r->X};
    kn_grouping g;
    assert_ok(ctx, kn_grouping_find(ctx, &from, text, &g));
    return g;
}

static void assert_groups(const kn_grouping *g, ptrdiff_t n, const int *expected, const char *names)
{
    char all[512] = "";
    for (ptrdiff_t i = 0; i < n; i++)
        assert_int_equal(g->group[i], expected[i]);
    for (ptrdiff_t k = 0; k < g->n_groups; k++)
        strcat(strcat(all, k ? " " : ""), g->group_name[k]);
    assert_string_equal(all, names);
}

static const char FAMILIES[] = "participant_id\tage\tfamily\tsite\n"
                               "a\t20\tx\tA\nb\t31\ty\tA\nc\t25\tx \tA\nd\t44\tz\tA\n"
                               "e\t20\ty\tA\nf\t33\tx\tB\ng\t21\tz\tB\nh\t22\tx\tB\n"
                               "i\t23\tu\tB\nj\t24\tx\tB\n";

static void a_column_makes_groups(void **state)
{
    (void)state;
    rows r = rows_of(FAMILIES, NULL, "family", true);
    assert_int_equal(r.encoding.n, 2); /* age and site */
    kn_grouping g = found(&r, " family");
    assert_int_equal(g.rule, KN_GROUP_COLUMN);
    assert_string_equal(g.column, "family");
    assert_groups(&g, 10, (const int[]){0, 1, 0, 2, 1, 0, 2, 0, 3, 0}, "x y z u");
    assert_logged(said, KN_LOG_INFO,
                  "p.tsv: 10 rows form 4 groups that share noise, one per family");
    kn_grouping_clear(&g);

    /* Other names for the same families, and rows the other way round: the same parts. */
    kn_group_source from = {r.table, r.row, r.id, &r.encoding, r.X};
    for (ptrdiff_t i = 0; i < 10; i++)
        r.row[i] = 9 - i;
    assert_ok(ctx, kn_grouping_find(ctx, &from, "family", &g));
    assert_groups(&g, 10, (const int[]){0, 1, 0, 2, 0, 3, 2, 0, 3, 0}, "x u z y");
    kn_grouping_clear(&g);
    for (int none = 0; none < 3; none++) {
        g = found(&r, none == 0 ? "none" : none == 1 ? "auto" : NULL);
        assert_true(g.rule == KN_GROUP_NONE && !g.group && g.n_groups == 0);
    }
    rows_clear(&r);
}

static void groups_without_information_are_no_groups(void **state)
{
    (void)state;
    rows r = rows_of("age\tall\teach\n1\tx\t1\n2\tx\t2\n3\tx\t3\n", "age", NULL, false);
    kn_grouping g = found(&r, "all");
    assert_true(g.rule == KN_GROUP_NONE && !g.group);
    assert_logged(
        said, KN_LOG_INFO,
        "p.tsv: all is the same in every row, so no rows share noise and groups are ignored");
    g = found(&r, "each");
    assert_true(g.rule == KN_GROUP_NONE && !g.group && !g.column);
    assert_logged(
        said, KN_LOG_INFO,
        "p.tsv: each is different in every row, so no rows share noise and groups are ignored");
    rows_clear(&r);
}

static void refuse(const char *text, const char *use, const char *group, const char *sentence)
{
    rows r = rows_of(text, use, NULL, false);
    kn_group_source from = {r.table, r.row, r.id, &r.encoding, r.X};
    kn_grouping g = {.n_groups = 7};
    assert_int_equal(kn_grouping_find(ctx, &from, group, &g), KN_ERR_DATA);
    assert_string_equal(kn_message(ctx), sentence);
    assert_true(g.n_groups == 0 && !g.group && !g.group_name && !g.column);
    rows_clear(&r);
}

static void a_group_column_that_does_not_fit_is_a_sentence(void **state)
{
    (void)state;
    static const char text[] =
        "age\tsite\tplace\tfamily\tsex\n"
        "1\tA\tone\tx\t0\n2\tB\ttwo\tx\t1\n3\tA\tone\t\t0\n4\tB\ttwo\tz\t0\n"
        "5\tB\ttwo\tz\t1\n6\tB\ttwo\tz\t1\n7\tB\ttwo\tz\t1\n8\tB\ttwo\tz\t1\n"
        "9\tA\tone\tz\t1\n9\tA\tone\t\xfc\t1\n";
    refuse(text, "age", "famly",
           "p.tsv has no column 'famly' (named in {group}); did you mean family?");
    refuse(text, "age", "family",
           "p.tsv line 4: family is '', but {group} requires a group in every row");
    refuse(text, "age,site", "place",
           "p.tsv: {group=place} and the covariate site define the same groups; omit the covariate "
           "from {use}, or use {group=none}");
    refuse("age\tf\n1\t\xfc\n2\ta\n", "age", "f",
           "p.tsv line 2: f is '\xfc', but must be UTF-8 text");
    rows r = rows_of(text, "age,sex", NULL, false); /* other parts */
    kn_grouping g = found(&r, "place");
    assert_int_equal(g.n_groups, 2);
    kn_grouping_clear(&g);
    rows_clear(&r);
}

static void ids_that_repeat_are_one_participant(void **state)
{
    (void)state;
    rows r =
        rows_of("participant_id\tage\nb\t20\na\t20\nb\t21\nc\t20\na\t22\n", NULL, "auto", true);
    kn_grouping g = found(&r, "auto");
    assert_int_equal(g.rule, KN_GROUP_IDS);
    assert_string_equal(g.column, "");
    assert_groups(&g, 5, (const int[]){0, 1, 0, 2, 1}, "b a c");
    assert_logged(said, KN_LOG_INFO,
                  "p.tsv: IDs repeat; 5 rows are of 3 participants, and the rows of one "
                  "participant share noise");
    kn_grouping_clear(&g);
    rows_clear(&r);
    r = rows_of("participant_id\tage\na\t20\na\t21\na\t22\n", NULL, "auto", true);
    g = found(&r, "auto");
    assert_int_equal(g.rule, KN_GROUP_NONE);
    assert_logged(
        said, KN_LOG_INFO,
        "p.tsv: the ID is the same in every row, so no rows share noise and groups are ignored");
    rows_clear(&r);
}

/* `pixels` columns of which `fixed` are constant; `twins` rows of 8 come in pairs. */
static rows pictures(int pixels, int fixed, int twins)
{
    char text[4096] = "";
    for (int j = 0; j < pixels; j++)
        sprintf(text + strlen(text), "%sp%d", j ? "\t" : "", j);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < pixels; j++)
            sprintf(text + strlen(text), "%s%d", j ? "\t" : "\n",
                    j < fixed ? 1 : ((i < twins ? i / 2 : i) >> j % 3) & 1);
    strcat(text, "\n");
    return rows_of(text, NULL, "auto", false);
}

static void rows_with_many_equal_covariates_are_one_stimulus(void **state)
{
    (void)state;
    /* 0 0 1 1 4 5 6 7, of which half share a picture */
    rows r = pictures(10, 0, 4);
    kn_grouping g = found(&r, "auto");
    assert_int_equal(g.rule, KN_GROUP_STIMULI);
    assert_null(g.column);
    assert_groups(&g, 8, (const int[]){0, 0, 1, 1, 2, 3, 4, 5}, "1 2 3 4 5 6");
    assert_logged(said, KN_LOG_INFO,
                  "p.tsv: covariates repeat; 8 rows are of 6 stimuli, and the rows of one stimulus "
                  "share noise");
    kn_grouping_clear(&g);
    g = found(&r, "none");
    assert_int_equal(g.rule, KN_GROUP_NONE);

    /* Columns and rows in another order: the same parts. */
    kn_mat X = ref_new(8, 10);
    for (ptrdiff_t i = 0; i < 8; i++)
        for (ptrdiff_t c = 0; c < 10; c++)
            kn_col(X, c)[i] = kn_at(r.X, i * 5 % 8, 9 - c);
    kn_group_source from = {r.table, r.row, NULL, &r.encoding, X};
    assert_ok(ctx, kn_grouping_find(ctx, &from, "auto", &g));
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            int a = i * 5 % 8, b = j * 5 % 8;
            assert_int_equal(g.group[i] == g.group[j],
                             a == b || (a < 4 && b < 4 && a / 2 == b / 2));
        }
    kn_grouping_clear(&g);
    free(X.data);
    rows_clear(&r);

    static const struct {
        int pixels, fixed, twins;
    } none[] = {{9, 0, 8}, {10, 1, 8}, {10, 0, 2}, {10, 0, 0}};
    for (int k = 0; k < 4; k++) {
        r = pictures(none[k].pixels, none[k].fixed, none[k].twins);
        g = found(&r, "auto");
        assert_true(g.rule == KN_GROUP_NONE && !g.group);
        assert_int_equal(said.lines, 0);
        rows_clear(&r);
    }
}

/* ---- as participants
 * ------------------------------------------------------------------------------------
 */

static kn_status anywhere(const kn_memory_policy *self, kn_ctx *c, const kn_response_shape *shape,
                          bool at_least, bool *in_file)
{
    (void)self, (void)c, (void)shape, (void)at_least;
    *in_file = false;
    return KN_OK;
}
static const kn_memory_policy ROOM = {.choose_storage = anywhere, .bytes = 1e9};

/* "use=age group=family", and the additive model unless sum */
static kn_status train(const char *text, bool sum, kn_sample *p, kn_data **data,
                       kn_encoding *encoding)
{
    kn_options *o = options_of(ctx, "fit", text);
    kn_settings s;
    *encoding = (kn_encoding){0};
    *p = (kn_sample){0};
    kn_status status = kn_data_read(ctx, o, data);
    if (status == KN_OK)
        status = kn_settings_of(ctx, o, "fit", &s);
    if (status == KN_OK) {
        s.sample_kernel = sum ? "linear+se" : "additive";
        said = (logged){0};
        status = kn_sample_train(ctx, *data, &s, &ROOM, p);
    }
    kn_options_free(o);
    return status;
}

static void participants_are_grouped_for_the_additive_model(void **state)
{
    (void)state;
    kn_sample p;
    kn_data *d;
    kn_encoding r;
    scratch_text("one.csv", "participant_id,age,sex,family,y1,y2\n"
                            "a,20,0,1,1.5,2.5\nb,30,1,1,2,3\nc,40,0,2,1,1\nd,n/a,1,2,1,1\n"
                            "e,50,1,2,4,3\n");
    assert_ok(ctx, train("covariates=one.csv responses=one.csv use=age,sex group=family "
                         "missing=drop",
                         false, &p, &d, &r));
    assert_true(p.encoding.codes && p.n == 4 && p.X.cols == 2);
    assert_int_equal(p.Y.cols, 2); /* the family is no response */
    assert_groups(&p.grouping, 4, (const int[]){0, 0, 1, 1}, "1 2");
    assert_true(kn_at(p.X, 1, 1) == 1 && p.encoding.column[1].two_valued);
    kn_sample_clear(&p);
    kn_data_free(d);

    assert_ok(ctx, train("covariates=one.csv responses=one.csv use=age,sex targets=y* "
                         "numeric=sex missing=drop",
                         false, &p, &d, &r));
    assert_int_equal(p.encoding.column[1].kind, KN_COVARIATE_NUMERIC);
    assert_null(p.grouping.group);
    kn_sample_clear(&p);
    kn_data_free(d);

    assert_refused(ctx,
                   train("covariates=one.csv responses=one.csv use=age,family group=family", false,
                         &p, &d, &r),
                   KN_ERR_ARGUMENT,
                   "one.csv: family cannot be a covariate, because it is the column of {group}; "
                   "omit it from {use}");
    kn_data_free(d);
}

static void ids_may_repeat_where_nothing_is_matched_by_them(void **state)
{
    (void)state;
    static const char visits[] = "participant_id,age,y\na,20,1.5\nb,30,2\na,21,3\nc,40,4\n";
    kn_sample p;
    kn_data *d;
    kn_encoding r;
    scratch_text("v.csv", visits);
    char array[128 + 4 * sizeof(double)] = "\x93NUMPY\1\0\x76\0{'descr': '<f8', "
                                           "'fortran_order': False, 'shape': (4, 1), }";
    memset(array + 10 + strlen(array + 10), ' ', 118 - strlen(array + 10));
    array[127] = '\n';
    memcpy(array + 128, (const double[]){1, 2, 3, 4}, 4 * sizeof(double));
    scratch_file("y.npy", array, sizeof array);
    scratch_text("yid.csv", "participant_id,y\na,1\nb,2\na,3\nc,4\n");
    static const char *const ways[] = {"covariates=v.csv responses=v.csv use=age",
                                       "covariates=v.csv responses=y.npy use=age"};
    for (int k = 0; k < 2; k++)
        for (int sum = 0; sum < 2; sum++) {
            assert_ok(ctx, train(ways[k], sum, &p, &d, &r));
            if (sum) {
                assert_logged(said, KN_LOG_WARNING,
                              "v.csv: some IDs occur in several rows, which this model treats as "
                              "different participants");
                assert_null(p.grouping.group);
            } else {
                assert_groups(&p.grouping, 4, (const int[]){0, 1, 0, 2}, "a b c");
            }
            kn_sample_clear(&p);
            kn_data_free(d);
        }
    assert_refused(ctx, train("covariates=v.csv responses=yid.csv use=age", false, &p, &d, &r),
                   KN_ERR_DATA,
                   "v.csv: 1 ID occurs more than once, first on lines 2 and 4: a; if these are "
                   "sessions of one participant, use {session}");
    kn_data_free(d);
}

static kn_status meet(const char *text, kn_sample_spec known, kn_sample *p, kn_data **data)
{
    kn_options *o = options_of(ctx, "predict", text);
    kn_settings s;
    *p = (kn_sample){0};
    kn_status status = kn_data_read(ctx, o, data);
    if (status == KN_OK)
        status = kn_settings_of(ctx, o, "predict", &s);
    if (status == KN_OK)
        status = kn_sample_new(ctx, *data, &s, known, &ROOM, p);
    kn_options_free(o);
    return status;
}

static void new_participants_name_their_group(void **state)
{
    (void)state;
    kn_sample p, new;
    kn_data *d, *e;
    kn_encoding r;
    scratch_text("t.csv",
                 "participant_id,age,site,family,y\na,20,A,1,1.5\nb,30,A,1,2\nc,40,A,2,3\n");
    scratch_text("n.csv", "participant_id,age,site,family\na,25,A, 1 \na,26,B,n/a\n");
    scratch_text("m.csv", "age,site\n25,A\n");
    assert_ok(ctx, train("covariates=t.csv responses=t.csv use=age,site group=family batch=none",
                         false, &p, &d, &r));
    kn_sample_spec known = {.encoding = &p.encoding, .group_column = p.grouping.column};
    assert_refused(
        ctx, meet("covariates=n.csv", known, &new, &e), KN_ERR_DATA,
        "n.csv line 3: site is 'B', which is not a level of the training sample (levels: A)");
    kn_data_free(e);
    assert_ok(ctx, meet("covariates=n.csv unseen=prior", known, &new, &e));
    assert_true(kn_at(new.X, 1, 1) == 1);
    assert_string_equal(new.group_text[0], "1");
    assert_null(new.group_text[1]);
    kn_sample_clear(&new);
    kn_data_free(e);
    known.group_column = "";
    assert_ok(ctx, meet("covariates=n.csv unseen=prior", known, &new, &e));
    assert_string_equal(new.group_text[1], "a");
    kn_sample_clear(&new);
    kn_data_free(e);
    for (int k = 0; k < 3; k++) { /* not asked for, no such column, no ids */
        known.group_column = k == 0 ? NULL : k == 1 ? "family" : "";
        assert_ok(ctx, meet("covariates=m.csv", known, &new, &e));
        assert_null(new.group_text);
        kn_sample_clear(&new);
        kn_data_free(e);
    }
    assert_refused(ctx, meet("covariates=n.csv split=yes", known, &new, &e), KN_ERR_DATA,
                   "n.csv: ID a is on lines 2 and 3, but {split} writes one file per ID; make the "
                   "IDs unique, or omit {split}");
    kn_data_free(e);
    kn_sample_clear(&p);
    kn_data_free(d);
    scratch_empty();
}

/* ---- interactions, memory
 * ------------------------------------------------------------------------
 */

static void interactions_are_pairs_of_columns(void **state)
{
    (void)state;
    rows r = rows_of("age\tsite\tsex\tfixed\tone\n1\tA\t0\t3\tx\n2\tA\t1\t3\tx\n3\tA\t1\t3\tx\n"
                     "4\tA\t1\t3\tx\n5\tA\t1\t3\tx\n6\tB\t1\t3\tx\n7\tB\t1\t3\tx\n8\tB\t1\t3\tx\n"
                     "9\tB\t1\t3\tx\n10\tB\t1\t3\tx\n",
                     NULL, NULL, false);
    kn_interaction *pair;
    ptrdiff_t n;
    assert_ok(ctx, kn_encoding_interactions(ctx, &r.encoding, " site : age,sex:age", &pair, &n));
    assert_int_equal(n, 2);
    assert_true(pair[0].category == 1 && pair[0].numeric == 0 && pair[1].category == 2);
    kn_free(pair);
    assert_ok(ctx, kn_encoding_interactions(ctx, &r.encoding, NULL, &pair, &n));
    assert_true(n == 0 && !pair);
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"site", "{interaction} is 'site', but must be CATEGORY:COLUMN, such as site:age"},
        {"site:ages",
         "{interaction=site:ages}: no covariate 'ages'; choose from age, site, sex, fixed, one"},
        {"sites:age",
         "{interaction=sites:age}: no covariate 'sites'; choose from age, site, sex, fixed, one"},
        {"age:site",
         "{interaction=age:site} needs a category before the colon, but age is a number"},
        {"sex:site",
         "{interaction=sex:site} needs a number after the colon, but site is a category"},
        {"site:sex", "{interaction=site:sex} needs a number after the colon, but sex is a "
                     "category; {numeric=sex} treats it as a number"},
        {"site:fixed", "{interaction=site:fixed} needs two columns that vary, but fixed is the "
                       "same in every row"},
        {"one:age",
         "{interaction=one:age} needs two columns that vary, but one is the same in every row"},
        {"site:age,site: age", "{interaction} names 'site: age' twice"},
        {"site:age,",
         "{interaction} 'site:age,': name 2 is empty; separate names with single commas"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(kn_encoding_interactions(ctx, &r.encoding, cases[i].text, &pair, &n) != KN_OK);
        assert_string_equal(kn_message(ctx), cases[i].sentence);
        assert_true(n == 0 && !pair);
    }
    rows_clear(&r);
    r = rows_of("a:b\tc\n1\t0\n2\t1\n3\t0\n", NULL, NULL, false); /* a name with a colon */
    assert_ok(ctx, kn_encoding_interactions(ctx, &r.encoding, "c:a:b", &pair, &n));
    assert_true(n == 1 && pair[0].category == 1);
    kn_free(pair);
    rows_clear(&r);
}

static int enter(void **state)
{
    ctx = kn_ctx_new();
    kn_set_log(ctx, logged_take, &said);
    return scratch_enter(state);
}

static int leave(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_grouping, enter, leave)
{
    rows families = rows_of(FAMILIES, NULL, "family", true), pixels = pictures(10, 0, 4);
    for (int way = 0; way < 3; way++)
        for (long k = 1;; k++) {
            const rows *r = way == 1 ? &pixels : &families;
            kn_group_source from = {r->table, r->row, r->id, &r->encoding, r->X};
            kn_grouping g = {0};
            kn_interaction *pair = NULL;
            ptrdiff_t n;
            kn_fail_allocation(ctx, k);
            kn_status s = way < 2
                              ? kn_grouping_find(ctx, &from, way ? "auto" : "family", &g)
                              : kn_encoding_interactions(ctx, &r->encoding, "site:age", &pair, &n);
            kn_fail_allocation(ctx, 0);
            kn_grouping_clear(&g);
            kn_free(pair);
            if (s == KN_OK) {
                assert_true(k > 3);
                break;
            }
            assert_int_equal(s, KN_ERR_MEMORY);
        }
    rows_clear(&families);
    rows_clear(&pixels);
}

TEST_PROGRAM(data_grouping)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_makes_groups),
        cmocka_unit_test(groups_without_information_are_no_groups),
        cmocka_unit_test(a_group_column_that_does_not_fit_is_a_sentence),
        cmocka_unit_test(ids_that_repeat_are_one_participant),
        cmocka_unit_test(rows_with_many_equal_covariates_are_one_stimulus),
        cmocka_unit_test(participants_are_grouped_for_the_additive_model),
        cmocka_unit_test(ids_may_repeat_where_nothing_is_matched_by_them),
        cmocka_unit_test(new_participants_name_their_group),
        cmocka_unit_test(interactions_are_pairs_of_columns),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
