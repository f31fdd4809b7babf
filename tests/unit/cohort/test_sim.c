#include "support/failing.h"
#include "support/folders.h"

#include <signal.h>
#include <sys/resource.h>

#include "cohort/simulate.h"
#include "io/image/image.h"
#include "io/image/image_set.h"
#include "io/image/mask.h"
#include "io/table/table.h"
#include "paper/visual/internal.h"
#include "paper/visual/miyawaki.h"

enum { SAMPLES = 15, PATIENTS = 4, COHORT_FILES = SAMPLES + PATIENTS + 10 + 4 /* sidecars */ };

static kn_cohort_options small_cohort(const char *dir)
{
    kn_cohort_options o;
    kn_cohort_options_init(&o);
    o.samples = SAMPLES;
    o.patients = PATIENTS;
    o.dir = dir;
    return o;
}

static void cohort_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("one");
    kn_set_threads(ctx, 1);
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    o.dir = "two/";
    kn_set_threads(ctx, 2);
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    assert_int_equal(folder_compare("one", "two"), COHORT_FILES);
    assert_int_equal(folder_files("two"), COHORT_FILES);

    o.dir = "other";
    o.seed = 2;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    unsigned char a[256], b[256];
    size_t n = scratch_read("one/participants.tsv", a, sizeof a);
    assert_true(n != scratch_read("other/participants.tsv", b, sizeof b) || memcmp(a, b, n) != 0);
    folder_remove("one");
    folder_remove("two");
    folder_remove("other");
    kn_ctx_free(ctx);
}

/* Every row of the table has its image, found by id; the lists have an order of their own. */
static void check_part(kn_ctx *ctx, const char *prefix, ptrdiff_t rows, ptrdiff_t patients)
{
    char name[64];
    kn_table *table;
    kn_images *images;
    kn_mask mask = {0};
    snprintf(name, sizeof name, "cohort/%sparticipants.tsv", prefix);
    assert_ok(ctx, kn_table_read(ctx, name, &table));
    snprintf(name, sizeof name, "cohort/%simages.txt", prefix);
    assert_ok(ctx, kn_images_open(ctx, name, 0, &images));
    assert_int_equal(kn_table_rows(table), rows);
    assert_int_equal(kn_images_count(images), rows);
    ptrdiff_t group = kn_table_find(table, "group"), found = 0, ill = 0;
    bool same_order = true;
    for (ptrdiff_t i = 0; i < rows; i++) {
        const char *id = kn_table_cell(table, i, 0);
        double age;
        assert_int_equal(kn_table_number(table, i, 1, &age), KN_CELL_NUMBER);
        assert_true(age >= 20 && age <= 80);
        for (ptrdiff_t k = 0; k < rows; k++)
            found += strcmp(kn_images_id(images, k), id) == 0;
        same_order = same_order && strcmp(kn_images_id(images, i), id) == 0;
        ill += group >= 0 && strcmp(kn_table_cell(table, i, group), "patient") == 0;
    }
    assert_int_equal(found, rows);
    assert_int_equal(ill, patients);
    assert_false(same_order);
    assert_ok(ctx,
              kn_mask_read(ctx, "cohort/mask.nii.gz", name, kn_images_geometry(images), &mask));
    assert_int_equal(mask.count, 3560);
    kn_mask_clear(&mask);
    kn_images_free(images);
    kn_table_free(table);
}

static void cohort_is_read_by_our_readers(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("cohort");
    kn_cohort_summary s;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, &s));
    assert_int_equal(s.train, 12);
    assert_int_equal(s.test, 7);
    assert_int_equal(s.voxels, 3560);
    assert_true(s.r2 > 0.2 && s.r2 < 0.3);
    check_part(ctx, "", SAMPLES + PATIENTS, PATIENTS);
    check_part(ctx, "train_", s.train, 0);
    check_part(ctx, "test_", s.test, PATIENTS);
    folder_remove("cohort");
    kn_ctx_free(ctx);
}

static void read_cohort(kn_ctx *ctx, const char *list, kn_mask *mask, ptrdiff_t n, float *out)
{
    kn_images *images;
    assert_ok(ctx, kn_images_open(ctx, list, 0, &images));
    assert_int_equal(kn_images_count(images), n);
    assert_ok(ctx, kn_images_read(ctx, images, mask->index, mask->count, out));
    kn_images_free(images);
}

/* The same seed with and without lesion: the difference is the lesion, in patients alone. */
static void patients_differ_by_nothing_but_the_lesion(void **state)
{
    (void)state;
    enum { N = SAMPLES + PATIENTS };
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("ill");
    kn_cohort_summary s;
    kn_mask mask = {0};
    assert_ok(ctx, kn_sim_cohort(ctx, &o, &s));
    assert_true(s.lesion_voxels > s.voxels / 50 && s.lesion_voxels < s.voxels / 20);
    o.dir = "well";
    o.lesion = 0;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    assert_ok(ctx, kn_mask_read(ctx, "ill/mask.nii.gz", NULL, NULL, &mask));
    ptrdiff_t T = mask.count, ill = 0;
    float *a = malloc(sizeof *a * (size_t)(N * T)), *b = malloc(sizeof *b * (size_t)(N * T));
    float *effect = malloc(sizeof *effect * (size_t)T);
    read_cohort(ctx, "ill/images.txt", &mask, N, a);
    read_cohort(ctx, "well/images.txt", &mask, N, b);
    scratch_text("lesion.txt", "ill/truth/lesion.nii.gz\n");
    read_cohort(ctx, "lesion.txt", &mask, 1, effect);
    for (ptrdiff_t i = 0; i < N; i++) {
        double dot = 0, square = 0, rest = 0;
        for (ptrdiff_t v = 0; v < T; v++) {
            double d = (double)(a[i * T + v] - b[i * T + v]), e = (double)effect[v];
            dot += d * e;
            square += e * e;
        }
        double strength = dot / square; /* of the mean */
        for (ptrdiff_t v = 0; v < T; v++)
            rest = fmax(rest,
                        fabs((double)(a[i * T + v] - b[i * T + v]) - strength * (double)effect[v]));
        assert_true(rest < 1e-6);
        assert_true(strength == 0 || (strength > 0.74 && strength < 1.26));
        ill += strength > 0;
    }
    assert_int_equal(ill, PATIENTS);
    free(a);
    free(b);
    free(effect);
    kn_mask_clear(&mask);
    folder_remove("ill");
    folder_remove("well");
    kn_ctx_free(ctx);
}

static void a_folder_with_something_in_it_is_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("full");
    assert_int_equal(mkdir("full", 0777), 0);
    scratch_text("full/notes.txt", "mine");
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "full is not empty; use {force} to write there");
    assert_int_equal(folder_files("full"), 1);
    o.force = true;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    assert_int_equal(folder_files("full"), 1 + COHORT_FILES);
    folder_remove("full");

    assert_int_equal(mkdir("full", 0777), 0); /* an empty one will do */
    o.force = false;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    folder_remove("full");
    kn_ctx_free(ctx);
}

static void folders_that_cannot_be_are_sentences(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("none/cohort");
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "none/cohort cannot be created: no such file or directory");
    scratch_text("file", "");
    o.dir = "file";
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "file is a file; give the name of a folder");
    o.dir = NULL;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "no output folder was named");
    assert_int_equal(mkdir("locked", 0555), 0);
    o.dir = "locked";
    if (geteuid() != 0) /* root may write anywhere */
        assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                        "locked cannot be written: permission denied");
    o.dir = "cohort";
    o.samples = 9;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "9 healthy participants were requested, but 10 to 100000 are allowed");
    o = small_cohort("cohort");
    o.patients = -1;
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT, "-1 patients");
    o = small_cohort("cohort");
    o.lesion = NAN;
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT, "lesion strength is nan");
    assert_int_not_equal(access("cohort", F_OK), 0);
    scratch_empty();
    kn_ctx_free(ctx);
}

/* A limit on file size simulates a full disk. */
static void a_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("cohort");
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    kn_set_threads(ctx, 1);
    kn_status s = kn_sim_cohort(ctx, &o, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_sentence(ctx, s, KN_ERR_IO,
                    "cohort/images/sub-0001.nii.gz cannot be written: file too large");
    assert_int_not_equal(access("cohort", F_OK), 0);

    assert_int_equal(mkdir("cohort", 0777), 0); /* found there: stays, empty */
    assert_int_equal(mkdir("cohort/mask.nii.gz", 0777), 0);
    o.force = true;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "cohort/mask.nii.gz is a folder; give the name of a file");
    assert_int_equal(folder_files("cohort"), 0);
    assert_int_not_equal(access("cohort/images", F_OK), 0);
    folder_remove("cohort");

    kn_cancel(ctx);
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_CANCELLED, "stopped");
    assert_int_not_equal(access("cohort", F_OK), 0);
    kn_cancel_clear(ctx);
    kn_ctx_free(ctx);
}

/* ---- the experiment ------------------------------------------------------------------------ */

enum { RUNS = 4 + 2, MIYAWAKI_FILES = 2 * RUNS + 39 + 5 };

static kn_miyawaki_options small_miyawaki(const char *dir)
{
    kn_miyawaki_options o;
    kn_miyawaki_options_init(&o);
    o.size = KN_MIYAWAKI_SMALL;
    o.dir = dir;
    return o;
}

static void miyawaki_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_miyawaki_options o = small_miyawaki("one");
    kn_set_threads(ctx, 1);
    assert_ok(ctx, kn_sim_miyawaki(ctx, &o, NULL));
    o.dir = "two";
    kn_set_threads(ctx, 2);
    assert_ok(ctx, kn_sim_miyawaki(ctx, &o, NULL));
    assert_int_equal(folder_compare("one", "two"), MIYAWAKI_FILES);
    assert_int_equal(folder_files("two"), MIYAWAKI_FILES);
    folder_remove("one");
    folder_remove("two");
    kn_ctx_free(ctx);
}

/* The run has a scan for each row of its labels, float64, 0 outside the mask alone; *lit and *rows
 * count pixels and rows that are not rest. */
static void check_run(kn_ctx *ctx, const char *kind, int number, ptrdiff_t scans, ptrdiff_t *rows,
                      ptrdiff_t *lit)
{
    enum { ROOM = 1 << 17, VOXELS = 12 * 12 * 6 };
    static char text[ROOM];
    static float voxels[VOXELS];
    char name[64];
    kn_image image;
    kn_image_reader *reader;
    ptrdiff_t lines = 0, inside = 0;

    snprintf(name, sizeof name, "miyawaki/label/data_%s_run%02d_label.csv", kind, number);
    text[scratch_read(name, text, ROOM - 1)] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        int cells = 0, rest = 0;
        for (char *p = line, *end; *p; p = *end ? end + 1 : end, cells++) {
            long x = strtol(p, &end, 10);
            assert_true(end > p && (*end == ',' || *end == '\0') && x >= -1 && x <= 1);
            rest += x < 0;
            *lit += x > 0;
        }
        assert_int_equal(cells, KN_PIXELS);
        assert_true(rest == 0 || rest == KN_PIXELS);
        *rows += rest == 0;
    }
    assert_int_equal(lines, scans);

    snprintf(name, sizeof name, "miyawaki/func/data_%s_run%02d.nii.gz", kind, number);
    assert_ok(ctx, kn_image_open(ctx, name, &image));
    assert_int_equal(image.header.volumes, scans);
    assert_int_equal(image.header.type->code, KN_VOXEL_FLOAT64);
    assert_int_equal(kn_nifti_voxels(&image.header), VOXELS);
    assert_ok(ctx, kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
    assert_ok(ctx, kn_image_read(ctx, reader, &image, scans - 1, NULL, VOXELS, voxels));
    for (int v = 0; v < VOXELS; v++)
        inside += voxels[v] != 0;
    assert_int_equal(inside, 200);
    kn_image_reader_free(reader);
    kn_image_clear(&image);
}

static void miyawaki_has_the_layout_of_the_public_set(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_miyawaki_options o = small_miyawaki("miyawaki");
    kn_miyawaki_summary s;
    kn_mask mask = {0};
    ptrdiff_t rows[2] = {0}, lit[2] = {0};
    assert_ok(ctx, kn_sim_miyawaki(ctx, &o, &s));
    for (int i = 1; i <= s.random_runs; i++)
        check_run(ctx, "random", i, 73, &rows[0], &lit[0]);
    for (int i = 1; i <= s.figure_runs; i++)
        check_run(ctx, "figure", i, 133, &rows[1], &lit[1]);
    assert_int_equal(s.random_runs, 4);
    assert_int_equal(s.figure_runs, 2);
    assert_int_equal(rows[0], s.random_rows);
    assert_int_equal(rows[1], s.figure_rows);
    assert_int_equal(rows[0], 4 * 10 * 3);
    assert_int_equal(rows[1], 2 * 10 * 6);
    for (int k = 0; k < 2; k++) /* the mean fill of what is on the screen is the same in both */
        assert_int_equal(lit[k], 40 * rows[k]);
    assert_close(s.random_fill, 0.4, 1e-12);
    assert_close(s.figure_fill, 0.4, 1e-12);
    assert_true(s.r2 > 0.05 && s.r2 < 0.2);
    assert_ok(ctx, kn_mask_read(ctx, "miyawaki/mask/mask.nii.gz", NULL, NULL, &mask));
    assert_int_equal(mask.count, 200);
    kn_mask_clear(&mask);
    folder_remove("miyawaki");
    kn_ctx_free(ctx);
}

static void the_full_mask_has_5438_voxels_in_areas_and_bands(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header grid;
    kn_visual_voxel *voxel;
    ptrdiff_t T, areas[2][KN_AREAS] = {{0}}, bands[2][KN_BANDS] = {{0}};
    kn_miyawaki_grid(KN_MIYAWAKI_FULL, &grid, &T);
    assert_int_equal(grid.dim[0], 64);
    assert_int_equal(grid.dim[1], 64);
    assert_int_equal(grid.dim[2], 30);
    assert_int_equal(T, 5438);
    assert_ok(ctx, kn_retinotopy_new(ctx, &grid, T, &voxel));
    for (ptrdiff_t i = 0; i < T; i++) {
        const kn_visual_voxel *v = &voxel[i];
        assert_true(i == 0 || v->index > voxel[i - 1].index);
        assert_true(v->index >= 0 && v->index < 64 * 64 * 30);
        assert_true(v->width > 0.4 && v->width < 4);
        if (v->hemisphere == 0) /* the left one sees the right half */
            assert_true(v->place[0] < 0 && v->col >= 4.5);
        else
            assert_true(v->place[0] > 0 && v->col <= 4.5);
        areas[v->hemisphere][v->area]++;
        bands[v->hemisphere][v->band]++;
    }
    for (int h = 0; h < 2; h++) {
        for (int a = 0; a < KN_AREAS; a++)
            assert_true(areas[h][a] > T / 20);
        for (int b = 0; b < KN_BANDS; b++)
            assert_true(bands[h][b] > T / 30);
    }
    kn_free(voxel);
    assert_refused(ctx, kn_retinotopy_new(ctx, &grid, 64 * 64 * 30 + 1, &voxel), KN_ERR_ARGUMENT,
                   "122881 voxels of 122880");
    kn_ctx_free(ctx);
}

static void random_patterns_are_as_full_as_figures(void **state)
{
    (void)state;
    unsigned char x[KN_FIGURES][KN_PIXELS], y[KN_PIXELS];
    kn_rng rng;
    int sum = 0;
    ref_rng_init(&rng, 1, 1);
    for (int f = 0; f < KN_FIGURES; f++) {
        int lit = 0, random = 0;
        kn_pattern_figure(f, x[f]);
        kn_pattern_random(&rng, kn_pattern_fill(f), y);
        for (int i = 0; i < KN_PIXELS; i++) {
            lit += x[f][i];
            random += y[i];
        }
        assert_int_equal(lit, kn_pattern_fill(f));
        assert_int_equal(random, lit);
        sum += lit;
        for (int g = 0; g < f; g++) /* no figure is another one */
            assert_int_not_equal(memcmp(x[f], x[g], KN_PIXELS), 0);
    }
    assert_int_equal(sum, 40 * KN_FIGURES);
}

static void miyawaki_failures_leave_nothing_behind(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_miyawaki_options o = small_miyawaki("miyawaki");
    assert_int_equal(mkdir("miyawaki", 0777), 0);
    assert_int_equal(mkdir("miyawaki/README", 0777), 0);
    assert_sentence(ctx, kn_sim_miyawaki(ctx, &o, NULL), KN_ERR_IO,
                    "miyawaki is not empty; use {force} to write there");
    o.force = true;
    assert_sentence(ctx, kn_sim_miyawaki(ctx, &o, NULL), KN_ERR_IO,
                    "miyawaki/README is a folder; give the name of a file");
    assert_int_equal(folder_files("miyawaki"), 0);
    assert_int_not_equal(access("miyawaki/func", F_OK), 0);
    folder_remove("miyawaki");
    o.strength = -1;
    assert_sentence(ctx, kn_sim_miyawaki(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "abnormality of strength -1, expected 0 or more");
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(cohort_images, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = small_cohort("cohort");
    o.force = true;
    kn_set_threads(ctx, 1);
    for (long k = 1; k < 12; k++) {
        kn_fail_allocation(ctx, k);
        kn_status status = kn_sim_cohort(ctx, &o, NULL);
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_int_not_equal(access("cohort", F_OK), 0);
    }
    kn_fail_allocation(ctx, 0);
    kn_ctx_free(ctx);
}

FAILING_CASE(cohort_miyawaki, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_miyawaki_options o = small_miyawaki("miyawaki");
    o.force = true;
    o.strength = 0.3;
    for (long k = 1; k < 18; k++) {
        kn_fail_allocation(ctx, k);
        kn_status status = kn_sim_miyawaki(ctx, &o, NULL);
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_int_not_equal(access("miyawaki", F_OK), 0);
    }
    kn_fail_allocation(ctx, 0);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(cohort_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cohort_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(cohort_is_read_by_our_readers),
        cmocka_unit_test(patients_differ_by_nothing_but_the_lesion),
        cmocka_unit_test(a_folder_with_something_in_it_is_refused),
        cmocka_unit_test(folders_that_cannot_be_are_sentences),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
        cmocka_unit_test(miyawaki_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(miyawaki_has_the_layout_of_the_public_set),
        cmocka_unit_test(the_full_mask_has_5438_voxels_in_areas_and_bands),
        cmocka_unit_test(random_patterns_are_as_full_as_figures),
        cmocka_unit_test(miyawaki_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
