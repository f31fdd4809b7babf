/* The visual experiment: splits, results on disk, the figure. */
#include "support/scratch.h"
#include "support/test.h"

#include "base/options/options.h"
#include "io/table/table.h"
#include "paper/internal.h"

static kn_ctx *ctx;

/* n random rows, three a pattern, then m figures; X and Y are of no interest to a split. */
static kn_visual rows_of_three(ptrdiff_t n, ptrdiff_t m)
{
    kn_visual v = {.n = n + m, .n_random = n};
    assert_int_equal(kn_alloc_i(ctx, v.n, &v.pattern), KN_OK);
    for (ptrdiff_t i = 0; i < v.n; i++)
        v.pattern[i] = i < n ? i - i % 3 : i;
    return v;
}

static void a_split_has_every_row_once_and_no_figure_trains(void **state)
{
    (void)state;
    kn_visual v = rows_of_three(1320, 720);
    for (int by = 0; by < KN_N_SPLITS; by++) {
        kn_split s;
        int seen[2040] = {0};
        assert_int_equal(kn_split_new(ctx, &v, (kn_split_by)by, 1, 1, &s), KN_OK);
        assert_true(s.n_train == 600 && s.n_normal == 720 && s.n_test == 1440);
        for (ptrdiff_t i = 0; i < s.n_train; i++) {
            assert_true(s.train[i] < v.n_random);
            seen[s.train[i]]++;
        }
        for (ptrdiff_t i = 0; i < s.n_test; i++) {
            assert_true((s.test[i] < v.n_random) == (i < s.n_normal));
            seen[s.test[i]]++;
        }
        for (ptrdiff_t i = 0; i < v.n; i++)
            assert_int_equal(seen[i], 1);
        kn_split_clear(&s);
    }
    kn_visual_clear(&v);
}

/* Patterns of which some but not all scans train. */
static int torn(const kn_visual *v, const kn_split *s)
{
    int train[128] = {0}, n = 0;
    for (ptrdiff_t i = 0; i < s->n_train; i++)
        train[v->pattern[s->train[i]] / 3]++;
    for (ptrdiff_t p = 0; p < v->n_random / 3; p++)
        n += train[p] > 0 && train[p] < 3;
    return n;
}

static void patterns_stay_together_when_split_by_pattern(void **state)
{
    (void)state;
    kn_visual v = rows_of_three(120, 60);
    kn_split scan, pattern;
    for (int repeat = 1; repeat <= 5; repeat++) {
        assert_int_equal(kn_split_new(ctx, &v, KN_BY_SCAN, 1, repeat, &scan), KN_OK);
        assert_int_equal(kn_split_new(ctx, &v, KN_BY_PATTERN, 1, repeat, &pattern), KN_OK);
        assert_true(torn(&v, &scan) > 10);
        assert_int_equal(torn(&v, &pattern), 0);
        assert_true(scan.n_train == 55 && pattern.n_train == 54); /* 55 is no multiple of 3 */
        kn_split_clear(&scan);
        kn_split_clear(&pattern);
    }
    kn_visual_clear(&v);
}

static void splits_depend_on_nothing_but_seed_and_repeat(void **state)
{
    (void)state;
    kn_visual v = rows_of_three(120, 60);
    kn_split a, b, c, d;
    assert_int_equal(kn_split_new(ctx, &v, KN_BY_SCAN, 1, 1, &a), KN_OK);
    assert_int_equal(kn_split_new(ctx, &v, KN_BY_SCAN, 1, 1, &b), KN_OK);
    assert_int_equal(kn_split_new(ctx, &v, KN_BY_SCAN, 1, 2, &c), KN_OK);
    assert_int_equal(kn_split_new(ctx, &v, KN_BY_SCAN, 2, 1, &d), KN_OK);
    size_t bytes = (size_t)a.n_train * sizeof *a.train;
    assert_memory_equal(a.train, b.train, bytes);
    assert_true(memcmp(a.train, c.train, bytes) != 0 && memcmp(a.train, d.train, bytes) != 0);
    kn_split_clear(&a);
    kn_split_clear(&b);
    kn_split_clear(&c);
    kn_split_clear(&d);
    kn_visual_clear(&v);
}

static void too_few_scans_are_refused(void **state)
{
    (void)state;
    kn_visual v = rows_of_three(18, 6);
    kn_split s;
    assert_refused(ctx, kn_split_new(ctx, &v, KN_BY_SCAN, 1, 1, &s), KN_ERR_DATA,
                   "18 scans of random patterns are too few");
    kn_visual_clear(&v);
    v = rows_of_three(120, 6);
    for (ptrdiff_t i = 0; i < v.n_random; i++)
        v.pattern[i] = 0; /* one in all */
    assert_refused(ctx, kn_split_new(ctx, &v, KN_BY_PATTERN, 1, 1, &s), KN_ERR_DATA,
                   "cannot be split by pattern");
    kn_visual_clear(&v);
}

static kn_results some_results(void)
{
    kn_results r = {.seed = 7, .fingerprint = 0xfedcba9876543210u, .voxels = 200};
    for (int repeat = 1; repeat <= 2; repeat++)
        for (int method = 0; method < 2; method++) {
            kn_result row = {.run = {method, KN_VAR_DEFAULT, KN_BY_SCAN, method ? 0 : 25, repeat}};
            for (int q = 0; q < KN_N_QUANTITIES; q++)
                row.value[q] = 0.1 * (q + 1) * repeat;
            row.value[KN_Q_AUC_DEVIANCE] = method ? NAN : 0.8;
            assert_int_equal(kn_results_add(ctx, &r, &row), KN_OK);
        }
    return r;
}

static void results_come_back_from_disk_as_they_were(void **state)
{
    (void)state;
    kn_results r = some_results(),
               back = {.seed = r.seed, .fingerprint = r.fingerprint, .voxels = 200};
    assert_int_equal(kn_results_resume(ctx, ".", &back), KN_OK);
    assert_int_equal(back.n, 0); /* nothing there yet */
    assert_int_equal(kn_results_write(ctx, &r, "."), KN_OK);
    assert_int_equal(kn_results_resume(ctx, ".", &back), KN_OK);
    assert_int_equal(back.n, r.n);
    for (ptrdiff_t i = 0; i < r.n; i++) {
        const kn_result *found = kn_results_find(&back, &r.row[i].run);
        assert_ptr_equal(found, &back.row[i]);
        for (int q = 0; q < KN_N_QUANTITIES; q++)
            assert_true(found->value[q] == r.row[i].value[q] ||
                        (isnan(found->value[q]) && isnan(r.row[i].value[q])));
    }
    kn_results other = {.seed = 8, .fingerprint = r.fingerprint};
    assert_refused(ctx, kn_results_resume(ctx, ".", &other), KN_ERR_DATA, "another seed");
    kn_results_clear(&other);
    other = (kn_results){.seed = 7, .fingerprint = 1};
    assert_refused(ctx, kn_results_resume(ctx, ".", &other), KN_ERR_DATA, "other data");
    kn_results_clear(&other);
    kn_results_clear(&back);
    kn_results_clear(&r);
    scratch_empty();
}

static void groups_have_mean_and_sd_over_repeats(void **state)
{
    (void)state;
    kn_results r = some_results();
    kn_group *g;
    ptrdiff_t n;
    assert_int_equal(kn_results_group(ctx, &r, &g, &n), KN_OK);
    assert_int_equal(n, 2);
    assert_true(g[0].run.method == 0 && g[0].run.repeat == 2 && g[1].run.method == 1);
    assert_close(g[0].mean[KN_Q_R2], 0.15, 1e-15);
    assert_close(g[0].sd[KN_Q_R2], 0.1 / sqrt(2), 1e-15);
    assert_true(isnan(g[1].mean[KN_Q_AUC_DEVIANCE]));
    kn_free(g);
    kn_results_clear(&r);
}

static void refusals_come_back_from_disk(void **state)
{
    (void)state;
    kn_results r = some_results(), back = {.seed = r.seed, .fingerprint = r.fingerprint};
    kn_group *g;
    ptrdiff_t n;
    kn_result row = {.run = {KN_RUN_KRONSUM, KN_VAR_DEFAULT, KN_BY_SCAN, 0, 1},
                     .refused = "T is \"too\" large, use --basis"};
    for (int q = 0; q < KN_N_QUANTITIES; q++)
        row.value[q] = NAN;
    assert_int_equal(kn_results_add(ctx, &r, &row), KN_OK);
    assert_int_equal(kn_results_write(ctx, &r, "."), KN_OK);
    assert_int_equal(kn_results_resume(ctx, ".", &back), KN_OK);
    assert_string_equal(kn_results_find(&back, &row.run)->refused, row.refused);
    assert_string_equal(back.row[0].refused, "");
    assert_int_equal(kn_results_group(ctx, &back, &g, &n), KN_OK);
    assert_true(n == 3 && isnan(g[2].mean[KN_Q_R2]));
    assert_string_equal(g[2].refused, row.refused);
    kn_free(g);
    kn_results_clear(&back);
    kn_results_clear(&r);
    scratch_empty();
}

/* results.tsv of version 0.2 had neither joint nor refused; its rows are results still. */
static void results_of_version_0_2_are_read(void **state)
{
    (void)state;
    kn_results r = some_results(), back = {.seed = r.seed, .fingerprint = r.fingerprint};
    assert_int_equal(kn_results_write(ctx, &r, "."), KN_OK);
    scratch_text("results.tsv", "method\tvariant\tsplit\tcomponents\trepeat\tR2\trho2\trho2_all\t"
                                "MSLL\tz2\tAUC_extreme_z\tAUC_deviance\tlml\tevaluations\t"
                                "seconds_fit\tseconds_predict\n"
                                "kronprod\tdefault\tscan\tn/a\t3\t.1\t.2\t.3\t.4\t.5\t.6\t.7\t"
                                ".8\t9\t1.1\t1.2\n");
    assert_int_equal(kn_results_resume(ctx, ".", &back), KN_OK);
    assert_int_equal(back.n, 1);
    const kn_run run = {KN_RUN_KRONPROD, KN_VAR_DEFAULT, KN_BY_SCAN, 0, 3};
    const kn_result *row = kn_results_find(&back, &run);
    assert_non_null(row);
    assert_true(row->value[KN_Q_Z2] == 0.5 && row->value[KN_Q_AUC_EXTREME_Z] == 0.6 &&
                row->value[KN_Q_SECONDS_PREDICT] == 1.2 && isnan(row->value[KN_Q_JOINT]));
    kn_results_clear(&back);
    kn_results_clear(&r);
    scratch_empty();
}

/* The words of the command are the rows of the table, in its order. */
static void systems_are_called_as_the_command_calls_them(void **state)
{
    (void)state;
    char systems[256] = "", variants[256] = "";
    for (int i = 0; i < KN_N_METHODS; i++)
        snprintf(systems + strlen(systems), sizeof systems - strlen(systems), "%s%s",
                 i > 0 ? "|" : "", kn_systems[i].name);
    for (int i = 0; i < KN_N_VARIANTS; i++)
        snprintf(variants + strlen(variants), sizeof variants - strlen(variants), "%s%s",
                 i > 0 ? "|" : "", kn_variants[i].name);
    assert_string_equal(systems, KN_SYSTEM_WORDS);
    assert_string_equal(variants, KN_VARIANT_WORDS);
    int found = 0;
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const char *key = kn_option_rows[i].key;
        if (strcmp(key, "methods") == 0 || strcmp(key, "variants") == 0) {
            assert_string_equal(kn_option_rows[i].words, key[0] == 'm' ? systems : variants);
            found++;
        }
    }
    assert_int_equal(found, 2);
}

/* Of what the figure must survive: no results, one repeat, nothing with components, NaN. */
static void the_figure_is_drawn_of_whatever_there_is(void **state)
{
    (void)state;
    static char text[1 << 16];
    for (int kind = 0; kind < 4; kind++) {
        kn_results r = some_results();
        for (ptrdiff_t i = 0; i < r.n; i++) {
            r.row[i].run.components = kind == 2 ? 0 : r.row[i].run.components;
            r.row[i].value[KN_Q_SECONDS_FIT] = kind == 3 ? NAN : 1.5;
        }
        r.n = kind == 0 ? 0 : kind == 1 ? 1 : r.n;
        assert_int_equal(kn_paper_figure_write(ctx, &r, "figure.svg"), KN_OK);
        size_t n = scratch_read("figure.svg", text, sizeof text - 1);
        text[n] = '\0';
        assert_true(strstr(text, "</svg>") && !strstr(text, "nan") && !strstr(text, "n/a") &&
                    !strstr(text, "inf"));
        kn_results_clear(&r);
    }
    scratch_empty();
}

static void a_table_without_header_has_every_row(void **state)
{
    (void)state;
    kn_table *t;
    double x;
    scratch_text("bare.csv", "1,0\n-1,-1\n\n0,1\n");
    assert_int_equal(kn_table_read_bare(ctx, "bare.csv", &t), KN_OK);
    assert_true(kn_table_rows(t) == 3 && kn_table_cols(t) == 2);
    assert_int_equal(kn_table_number(t, 0, 0, &x), KN_CELL_NUMBER);
    assert_true(x == 1 && kn_table_line(t, 2) == 4);
    assert_string_equal(kn_table_cell(t, 2, 1), "1");
    assert_true(kn_table_find(t, "1") == -1 && !kn_table_named(t, 0));
    kn_table_free(t);
    scratch_text("bare.csv", "1,0\n1\n");
    assert_refused(ctx, kn_table_read_bare(ctx, "bare.csv", &t), KN_ERR_FORMAT,
                   "line 2 has 1 field, but the first row has 2");
    scratch_empty();
}

TEST_PROGRAM(paper_experiment)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_has_every_row_once_and_no_figure_trains),
        cmocka_unit_test(patterns_stay_together_when_split_by_pattern),
        cmocka_unit_test(splits_depend_on_nothing_but_seed_and_repeat),
        cmocka_unit_test(too_few_scans_are_refused),
        cmocka_unit_test(results_come_back_from_disk_as_they_were),
        cmocka_unit_test(refusals_come_back_from_disk),
        cmocka_unit_test(results_of_version_0_2_are_read),
        cmocka_unit_test(systems_are_called_as_the_command_calls_them),
        cmocka_unit_test(groups_have_mean_and_sd_over_repeats),
        cmocka_unit_test(the_figure_is_drawn_of_whatever_there_is),
        cmocka_unit_test(a_table_without_header_has_every_row),
    };
    int failed = cmocka_run_group_tests_name("experiment", tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
