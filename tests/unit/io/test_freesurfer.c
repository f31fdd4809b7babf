#include "support/failing.h"
#include "support/scratch.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "io/freesurfer/long_tables.h"
#include "io/freesurfer/measures.h"
#include "io/freesurfer/stats_file.h"
#include "io/freesurfer/subjects_folder.h"

static const char STATS[] =
    "# Table of FreeSurfer cortical parcellation anatomical statistics\r\n"
    "# Measure Cortex, MeanThickness, Mean Thickness, 2.4715, mm\r\n"
    "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume, "
    "1500000.5, "
    "mm^3\r\n"
    "# ColHeaders StructName NumVert SurfArea GrayVol ThickAvg ThickStd\r\n"
    "bankssts                                 1000  700  1800  2.500 0.500\r\n"
    "cuneus 2000 1400 2900 2.100 0.600\r\n\r\n";

static kn_status parse(kn_ctx *ctx, const char *text, const char *column, kn_stats_file *f)
{
    return kn_stats_parse(ctx, "lh.aparc.stats", text, (ptrdiff_t)strlen(text), column, f);
}

static void a_stats_file_has_regions_and_measures(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_stats_file f;
    assert_ok(ctx, parse(ctx, STATS, "ThickAvg", &f));
    assert_int_equal(f.n_regions, 2);
    assert_string_equal(f.region[1].name, "cuneus");
    assert_string_equal(f.region[1].value, "2.100");
    assert_int_equal(f.n_measures, 2);
    assert_string_equal(f.measure[0].name, "MeanThickness");
    assert_string_equal(f.measure[0].value, "2.4715");
    assert_string_equal(f.measure[1].name, "eTIV");
    kn_stats_clear(&f);
    kn_ctx_free(ctx);
}

static void a_bad_stats_file_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } CASES[] = {
        {"", "lh.aparc.stats has no rows, expected a .stats file of recon-all"},
        {"bankssts 1\n",
         "lh.aparc.stats line 1: a row before '# ColHeaders', expected a .stats file of recon-all"},
        {"# ColHeaders NumVert ThickAvg\n",
         "lh.aparc.stats line 1: ColHeaders have no column StructName"},
        {"\n# ColHeaders StructName NumVert\n",
         "lh.aparc.stats line 2: ColHeaders have no column ThickAvg"},
        {"# ColHeaders StructName ThickAvg\nbankssts\n",
         "lh.aparc.stats line 2: 1 fields, expected 2 as in ColHeaders"},
        {"# ColHeaders StructName ThickAvg\nbankssts x\n",
         "lh.aparc.stats line 2: ThickAvg of bankssts is 'x', but must be a number"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        kn_stats_file f;
        assert_int_equal(parse(ctx, CASES[k].text, "ThickAvg", &f), KN_ERR_FORMAT);
        assert_string_equal(kn_message(ctx), CASES[k].sentence);
        assert_null(f.region);
    }
    kn_ctx_free(ctx);
}

static void rows_with_other_columns_have_gaps(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_wide w = {0};
    char *text;
    assert_ok(ctx, kn_wide_row(ctx, &w, "p1"));
    assert_ok(ctx, kn_wide_cell_add(ctx, &w, "a", "1"));
    assert_ok(ctx, kn_wide_cell_add(ctx, &w, "b", "2"));
    assert_ok(ctx, kn_wide_row(ctx, &w, "p2"));
    assert_ok(ctx, kn_wide_cell_add(ctx, &w, "b", "3"));
    assert_ok(ctx, kn_wide_cell_add(ctx, &w, "c", "4"));
    assert_ok(ctx, kn_wide_text(ctx, &w, "id", &text));
    assert_string_equal(text, "id\ta\tb\tc\np1\t1\t2\tn/a\np2\tn/a\t3\t4\n");
    kn_free(text);
    kn_wide_clear(&w);
    kn_ctx_free(ctx);
}

static void a_name_that_would_change_the_table_is_refused(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"a\nb", "a\tb", "a\"b", "a\177"};
    kn_ctx *ctx = kn_ctx_new();
    kn_wide w = {0};
    assert_ok(ctx, kn_wide_row(ctx, &w, "p\xc3\xa9 1"));
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        assert_int_equal(kn_wide_row(ctx, &w, NAMES[k]), KN_ERR_DATA);
        assert_int_equal(kn_wide_cell_add(ctx, &w, NAMES[k], "1"), KN_ERR_DATA);
        assert_int_equal(kn_wide_cell_add(ctx, &w, "a", NAMES[k]), KN_ERR_DATA);
    }
    assert_int_equal(w.rows, 1);
    assert_int_equal(w.cells, 0);
    kn_wide_clear(&w);
    kn_ctx_free(ctx);
}

/* Two folders with lh.aparc.stats and rh.aparc.stats and one without, beside an average. */
static void make_folders(void)
{
    static const char *const FOLDERS[] = {"fs",         "fs/b",         "fs/b/stats",
                                          "fs/a",       "fs/a/stats",   "fs/c",
                                          "fs/c/stats", "fs/fsaverage", "fs/fsaverage/stats"};
    static const char *const FILES[] = {"fs/a/stats/lh.aparc.stats", "fs/b/stats/lh.aparc.stats",
                                        "fs/a/stats/rh.aparc.stats", "fs/b/stats/rh.aparc.stats",
                                        "fs/fsaverage/stats/lh.aparc.stats"};
    for (size_t k = 0; k < sizeof FOLDERS / sizeof *FOLDERS; k++)
        mkdir(FOLDERS[k], 0777);
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++) {
        FILE *f = fopen(FILES[k], "w");
        assert_non_null(f);
        fputs(STATS, f);
        fclose(f);
    }
}

/* Removes the files and folders of make_folders. */
static int remove_folders(void **state)
{
    return system("rm -rf fs") == 0 ? scratch_leave(state) : -1;
}

static void a_folder_becomes_the_table_of_aparcstats2table(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_stats_tables t;
    make_folders();
    assert_true(kn_subjects_is_folder("fs"));
    assert_false(kn_subjects_is_folder("fs/a"));
    assert_ok(ctx, kn_subjects_read(ctx, "fs", "thickness", "aparc", &t));
    assert_int_equal(t.n, 2);
    assert_string_equal(t.text[0],
                        "lh.aparc.thickness\tlh_bankssts_thickness\tlh_cuneus_thickness\t"
                        "lh_MeanThickness_thickness\teTIV\n"
                        "a\t2.500\t2.100\t2.4715\t1500000.5\nb\t2.500\t2.100\t2.4715\t1500000.5\n");
    assert_int_equal(t.n_files, 4);
    kn_stats_tables_clear(&t);
    kn_ctx_free(ctx);
}

static const char LONG[] = "subject_id\tsession_id\tatlas\themisphere\tStructName\tThickAvg\n"
                           "sub-1\t1\taparc\tlh\ta\t2.5\nsub-1\t1\taparc\trh\ta\t2.6\n"
                           "sub-1\t1\tother\tlh\ta\t9\nsub-2\tn/a\taparc\tlh\tb\t2.25\n"
                           "sub-2\tn/a\taparc\trh\ta\t2.75\n";

static void a_long_table_becomes_wide_ones(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_stats_tables t;
    assert_true(kn_long_is_name("x/sub-1_regionsurfacestats.tsv"));
    assert_false(kn_long_is_name("x/sub-1_surfacestats.csv"));
    scratch_text("all_surfacestats.tsv", LONG);
    assert_ok(ctx, kn_long_read(ctx, "all_*.tsv", "thickness", "aparc", &t));
    assert_int_equal(t.n, 2);
    assert_string_equal(t.text[0], "lh.aparc.thickness\tlh_a_thickness\tlh_b_thickness\n"
                                   "sub-1_ses-1\t2.5\tn/a\nsub-2\tn/a\t2.25\n");
    assert_string_equal(t.text[1],
                        "rh.aparc.thickness\trh_a_thickness\nsub-1_ses-1\t2.6\nsub-2\t2.75\n");
    assert_int_equal(t.n_files, 1);
    kn_stats_tables_clear(&t);
    assert_int_equal(kn_long_read(ctx, "all_surfacestats.tsv", "area", "aparc", &t), KN_ERR_FORMAT);
    assert_string_equal(kn_message(ctx), "all_surfacestats.tsv has no column SurfArea, expected a "
                                         "long table of regions");
    kn_ctx_free(ctx);
}

FAILING_CASE(io_long_tables, scratch_enter, scratch_leave)
{
    failing f = failing_by(13);
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_OK;
    scratch_text("all_surfacestats.tsv", LONG);
    while (failing_next(&f, status)) {
        kn_stats_tables t;
        kn_fail_allocation(ctx, f.k);
        status = kn_long_read(ctx, "all_surfacestats.tsv", "thickness", "aparc", &t);
        kn_fail_allocation(ctx, 0);
        kn_stats_tables_clear(&t);
    }
    assert_ok(ctx, status);
    kn_ctx_free(ctx);
}

FAILING_CASE(io_subjects, scratch_enter, remove_folders)
{
    failing f = failing_by(13);
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_OK;
    make_folders();
    while (failing_next(&f, status)) {
        kn_stats_tables t;
        kn_fail_allocation(ctx, f.k);
        status = kn_subjects_read(ctx, "fs", "thickness", "aparc", &t);
        kn_fail_allocation(ctx, 0);
        kn_stats_tables_clear(&t);
    }
    assert_ok(ctx, status);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_freesurfer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stats_file_has_regions_and_measures),
        cmocka_unit_test(a_bad_stats_file_is_a_sentence),
        cmocka_unit_test(rows_with_other_columns_have_gaps),
        cmocka_unit_test(a_name_that_would_change_the_table_is_refused),
        cmocka_unit_test(a_long_table_becomes_wide_ones),
        cmocka_unit_test(a_folder_becomes_the_table_of_aparcstats2table),
    };
    return cmocka_run_group_tests(tests, scratch_enter, remove_folders);
}
