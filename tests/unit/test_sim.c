#include "folders.h"

#include <signal.h>
#include <sys/resource.h>

#include "io/images.h"
#include "io/mask.h"
#include "io/table.h"
#include "sim/cohort.h"

enum { SAMPLES = 15, PATIENTS = 4, COHORT_FILES = SAMPLES + PATIENTS + 10 };

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
static void patients_differ_by_the_lesion_alone(void **state)
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
                    "full: is not empty (use --force to write there)");
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
                    "none/cohort: cannot be made: no such file or directory");
    scratch_text("file", "");
    o.dir = "file";
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "file: is a file, expected a folder");
    o.dir = NULL;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "no folder to write to was named");
    assert_int_equal(mkdir("locked", 0555), 0);
    o.dir = "locked";
    if (geteuid() != 0) /* root may write anywhere */
        assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                        "locked: cannot be written: permission denied");
    o.dir = "cohort";
    o.samples = 9;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "9 normal subjects, expected 10 to 100000");
    o = small_cohort("cohort");
    o.patients = -1;
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT, "-1 patients");
    o = small_cohort("cohort");
    o.lesion = NAN;
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT, "lesion strength nan");
    assert_int_not_equal(access("cohort", F_OK), 0);
    scratch_empty();
    kn_ctx_free(ctx);
}

/* A limit on file size stands for a full disk. */
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
                    "cohort/images/sub-0001.nii.gz: cannot be written: file too large");
    assert_int_not_equal(access("cohort", F_OK), 0);

    assert_int_equal(mkdir("cohort", 0777), 0); /* found there: stays, empty */
    assert_int_equal(mkdir("cohort/mask.nii.gz", 0777), 0);
    o.force = true;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_IO,
                    "cohort/mask.nii.gz: is a directory, expected a file name");
    assert_int_equal(folder_files("cohort"), 0);
    assert_int_not_equal(access("cohort/images", F_OK), 0);
    folder_remove("cohort");

    kn_cancel(ctx);
    assert_refused(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_CANCELLED, "stopped");
    assert_int_not_equal(access("cohort", F_OK), 0);
    kn_cancel_clear(ctx);
    for (long k = 1; k < 12; k++) {
        kn_fail_allocation(ctx, k);
        kn_status status = kn_sim_cohort(ctx, &o, NULL);
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_int_not_equal(access("cohort", F_OK), 0);
    }
    kn_fail_allocation(ctx, 0);
    kn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cohort_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(cohort_is_read_by_our_readers),
        cmocka_unit_test(patients_differ_by_the_lesion_alone),
        cmocka_unit_test(a_folder_with_something_in_it_is_refused),
        cmocka_unit_test(folders_that_cannot_be_are_sentences),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
