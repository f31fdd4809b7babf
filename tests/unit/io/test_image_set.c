#include "support/failing.h"
#include "support/images.h"

#include <sys/stat.h>

#include "io/image/image_set.h"
#include "io/image/internal.h"
#include "io/image/mask.h"

enum { N = 9, V = 24 };
static float cohort[N * V];

/* N images of 4 x 3 x 2, as a list with ids, as 4D files. */
static void make_cohort(void)
{
    char name[64], list[N * 64] = "", line[160];
    kn_nifti_header h = image_header(4, 3, 2);
    for (int i = 0; i < N * V; i++)
        cohort[i] = (float)(i * 7919 % 1013) / 3;
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "img%d.nii%s", i, i % 2 ? ".gz" : "");
        image_file(name, &h, 0, cohort + i * V, V);
        snprintf(line, sizeof line, "person %d\t%s\n", i, name);
        strcat(list, line);
    }
    scratch_text("list.txt", list);
    image_file("all.nii", &h, N, cohort, N * V);
    image_file("all.nii.gz", &h, N, cohort, N * V);
}

static void rows_are_the_same_for_every_source_and_thread_count(void **state)
{
    (void)state;
    static const char *const names[] = {"list.txt", "all.nii", "all.nii.gz"};
    const ptrdiff_t index[4] = {3, 0, 23, 11};
    kn_ctx *ctx = kn_ctx_new();
    make_cohort();
    for (int s = 0; s < 3; s++)
        for (int threads = 1; threads <= 4; threads++)
            for (ptrdiff_t memory = 0; memory < 2; memory++) {
                kn_images *images;
                float out[N * 4], some[3 * 4];
                kn_set_threads(ctx, threads);
                assert_ok(ctx, kn_images_open(ctx, names[s], memory, &images));
                assert_int_equal(kn_images_count(images), N);
                assert_int_equal(kn_images_is_list(images), s == 0);
                assert_ok(ctx, kn_images_read(ctx, images, index, 4, out));
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < 4; j++)
                        assert_true(out[4 * i + j] == cohort[i * V + index[j]]);
                assert_ok(ctx, kn_images_read_rows(ctx, images, 5, 3, index, 4, some));
                assert_memory_equal(some, out + 5 * 4, sizeof some);
                assert_ok(ctx, kn_images_read_rows(ctx, images, 1, 3, index, 4, some));
                assert_memory_equal(some, out + 1 * 4, sizeof some);
                assert_sentence(ctx, kn_images_read_rows(ctx, images, 7, 3, index, 4, some),
                                KN_ERR_ARGUMENT, "images 8 to 10 of 9 were asked for");
                kn_images_free(images);
            }
    kn_ctx_free(ctx);
}

static void ids_come_from_the_list_or_the_paths(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image_list list;
    static const struct {
        const char *text, *first;
    } cases[] = {
        {"a b\tx.nii\nc\ty.nii\n", "a b"},
        {"sub-01/anat/sub-01_T1w.nii\r\nsub-02/anat/sub-02_T1w.nii\r\n", "sub-01"},
        {"\xef\xbb\xbfsub-01.nii\n\n  \nsub-02.nii", "sub-01"},
        {"sub-01/sub-02.nii\nsub-03.nii\n", NULL}, /* two labels on one line */
        {"sub-01.nii\nmean.nii\n", NULL},
        {"sub-.nii\nsub-1.nii\n", NULL},
        {"absub-1.nii\nabsub-2.nii\n", NULL},
        {"map_sub-A1_z.nii\nmap_sub-A2_z.nii\n", "sub-A1"},
        {"sub-1_a.nii\nsub-1_b.nii\n", "sub-1"},
        {"path\nsub-1.nii\nsub-2.nii\n", "sub-1"},
        {"participant_id\tPath\na\tx.nii\nb\ty.nii\n", "a"},
        {"id path\nx.nii\n  y.nii\n", NULL},
        {"path\npath\nx.nii\n", NULL}, /* one header, and a file of that name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        assert_ok(ctx,
                  kn_image_list_parse(ctx, "dir/list.txt", text, (ptrdiff_t)strlen(text), &list));
        assert_int_equal(list.count, 2);
        assert_int_equal(list.id != NULL, cases[i].first != NULL);
        if (cases[i].first)
            assert_string_equal(list.id[0], cases[i].first);
        assert_int_equal(strncmp(list.path[0], "dir/", 4), 0);
        kn_image_list_clear(&list);
    }
    static const char visits[] = "sub-1/ses-2/z.nii\nsub-1/ses-10/z.nii\n";
    assert_ok(ctx, kn_image_list_parse(ctx, "l.txt", visits, sizeof visits - 1, &list));
    assert_string_equal(list.id[1], "sub-1");
    assert_string_equal(list.session[1], "ses-10");
    kn_image_list_clear(&list);
    assert_ok(ctx, kn_image_list_parse(ctx, "dir/list.txt", "/abs/x.nii", 10, &list));
    assert_string_equal(list.path[0], "/abs/x.nii");
    kn_image_list_clear(&list);
    kn_ctx_free(ctx);
}

static void a_bad_list_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kn_status status;
        const char *sentence;
    } cases[] = {
        {"", KN_ERR_FORMAT, "list.txt lists no images"},
        {"\n\n", KN_ERR_FORMAT, "list.txt lists no images"},
        {"a\tx.nii\ny.nii\n", KN_ERR_FORMAT,
         "list.txt line 2 has a path without an ID, unlike the previous lines"},
        {"x.nii\n\na\ty.nii\n", KN_ERR_FORMAT,
         "list.txt line 3 has an ID and a path, unlike the previous lines"},
        {"a\tb\tx.nii\ty.nii\n", KN_ERR_FORMAT,
         "list.txt line 1 must have an ID, one tab and a path"},
        {"a\t\tx.nii\n", KN_ERR_FORMAT, "list.txt line 1 must have an ID, one tab and a path"},
        {"a\tx.nii\ty.nii\nb\tx.nii\n", KN_ERR_FORMAT,
         "list.txt line 2 has one path, unlike the previous lines"},
        {"x.nii\nx.nii\ty.nii\n", KN_ERR_FORMAT,
         "list.txt line 2 has two paths, unlike the previous lines"},
        {"\tx.nii\n", KN_ERR_FORMAT, "list.txt line 1 must have an ID, one tab and a path"},
    };
    kn_ctx *ctx = kn_ctx_new();
    kn_image_list list;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_sentence(ctx,
                        kn_image_list_parse(ctx, "list.txt", cases[i].text,
                                            (ptrdiff_t)strlen(cases[i].text), &list),
                        cases[i].status, cases[i].sentence);
    assert_sentence(ctx, kn_image_list_parse(ctx, "list.txt", "a\0b", 3, &list), KN_ERR_FORMAT,
                    "list.txt contains a NUL byte, so it is not a list of images");
    kn_ctx_free(ctx);
}

static void the_odd_image_is_named(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_images *images;
    kn_nifti_header shifted = image_header(4, 3, 2), longer = image_header(4, 3, 3);
    float values[48] = {0};
    make_cohort();
    shifted.srow[0][3] = -12;
    image_file("shifted.nii.gz", &shifted, 0, values, 24);
    image_file("longer.nii", &longer, 0, values, 36);
    image_file("four.nii", &shifted, 2, values, 48);
    scratch_text("odd.txt", "img0.nii\nimg1.nii.gz\nshifted.nii.gz\n");
    assert_sentence(ctx, kn_images_open(ctx, "odd.txt", 0, &images), KN_ERR_SHAPE,
                    "odd.txt line 3: shifted.nii.gz: row 1, column 4 of the affine is -12, but -10 "
                    "in img0.nii; resample the images to one space");
    assert_null(images);
    scratch_text("odd.txt", "img0.nii\n\nlonger.nii\n");
    assert_sentence(ctx, kn_images_open(ctx, "odd.txt", 0, &images), KN_ERR_SHAPE,
                    "odd.txt line 3: longer.nii: the image has 4 x 3 x 3 voxels instead of the 4 x "
                    "3 x 2 of img0.nii; resample the images to one space");
    scratch_text("odd.txt", "four.nii\n");
    assert_sentence(
        ctx, kn_images_open(ctx, "odd.txt", 0, &images), KN_ERR_SHAPE,
        "odd.txt line 1: four.nii has 2 volumes, but each image of a list must have one");
    scratch_text("odd.txt", "img0.nii\nnone.nii\n");
    assert_sentence(ctx, kn_images_open(ctx, "odd.txt", 0, &images), KN_ERR_IO,
                    "odd.txt line 2: none.nii cannot be opened: no such file or directory");
    assert_sentence(ctx, kn_images_open(ctx, "cohort.zip", 0, &images), KN_ERR_FORMAT,
                    "cohort.zip is neither an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii) "
                    "nor a .txt list of images");
    kn_ctx_free(ctx);
}

static void the_first_failing_image_is_named_by_any_thread(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    float out[N * V];
    make_cohort();
    for (int threads = 1; threads <= 3; threads++) {
        kn_images *images;
        make_cohort();
        assert_ok(ctx, kn_images_open(ctx, "list.txt", 0, &images));
        kn_set_threads(ctx, threads);
        assert_int_equal(truncate("img6.nii", 360), 0);
        assert_int_equal(truncate("img4.nii", 360), 0);
        assert_sentence(ctx, kn_images_read(ctx, images, NULL, V, out), KN_ERR_IO,
                        "img4.nii changed while it was read; run again when it is complete");
        kn_images_free(images);
    }
    kn_ctx_free(ctx);
}

static void cancelling_stops_the_reading(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_images *images;
    float out[N * V];
    make_cohort();
    assert_ok(ctx, kn_images_open(ctx, "list.txt", 0, &images));
    kn_cancel(ctx);
    assert_refused(ctx, kn_images_read(ctx, images, NULL, V, out), KN_ERR_CANCELLED, "stopped");
    kn_images_free(images);
    assert_refused(ctx, kn_images_open(ctx, "list.txt", 0, &images), KN_ERR_CANCELLED, "stopped");
    kn_ctx_free(ctx);
}

static void the_default_mask_leaves_out_constant_and_missing(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header h = image_header(4, 3, 2);
    make_cohort();
    for (int i = 0; i < N; i++) {
        cohort[i * V + 3] = 5;
        cohort[i * V + 4] = i == 8 ? 5 : 5.5f;
        cohort[i * V + 10] = i % 2 ? 0.0f : -0.0f;
    }
    cohort[0 * V + 7] = NAN;
    cohort[8 * V + 8] = -INFINITY;
    image_file("holes.nii", &h, N, cohort, N * V);
    image_file("holes.nii.gz", &h, N, cohort, N * V);
    for (int k = 0; k < 3; k++)
        for (int threads = 1; threads <= 3; threads++) {
            kn_images *images;
            kn_mask mask;
            kn_set_threads(ctx, threads);
            assert_ok(ctx, kn_images_open(ctx, k ? "holes.nii.gz" : "holes.nii", k == 2, &images));
            assert_ok(ctx, kn_mask_observed(ctx, images, PTRDIFF_MAX, &mask));
            assert_int_equal(mask.count, V - 4);
            for (ptrdiff_t i = 0; i < mask.count; i++) {
                ptrdiff_t v = mask.index[i];
                assert_true(v != 3 && v != 7 && v != 8 && v != 10);
                assert_true(i == 0 || v > mask.index[i - 1]);
            }
            kn_mask_clear(&mask);
            /* a voxel that one image lacks has a value in all others, and is in by these */
            assert_ok(ctx, kn_mask_observed(ctx, images, N - 1, &mask));
            assert_int_equal(mask.count, V - 2);
            for (ptrdiff_t i = 0; i < mask.count; i++)
                assert_true(mask.index[i] != 3 && mask.index[i] != 10);
            kn_mask_clear(&mask);
            assert_ok(ctx, kn_mask_observed(ctx, images, N, &mask));
            assert_int_equal(mask.count, V - 4);
            kn_mask_clear(&mask);
            kn_images_free(images);
        }
    float flat[2 * V] = {0};
    kn_images *images;
    kn_mask mask;
    image_file("flat.nii", &h, 2, flat, 2 * V);
    assert_ok(ctx, kn_images_open(ctx, "flat.nii", 0, &images));
    assert_sentence(ctx, kn_mask_observed(ctx, images, PTRDIFF_MAX, &mask), KN_ERR_DATA,
                    "flat.nii: no voxel is finite in all images and varies between them");
    kn_images_free(images);
    flat[1] = NAN; /* a single image varies nowhere: its finite voxels count */
    image_file("single.nii", &h, 0, flat, V);
    assert_ok(ctx, kn_images_open(ctx, "single.nii", 0, &images));
    assert_ok(ctx, kn_mask_observed(ctx, images, PTRDIFF_MAX, &mask));
    assert_int_equal(mask.count, V - 1);
    kn_mask_clear(&mask);
    kn_images_free(images);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Every allocation may fail: a sentence each time, and nothing leaks (the sanitizer looks). */
FAILING_CASE(io_image_set, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    make_cohort();
    kn_set_threads(ctx, 1);
    for (long k = 1;; k++) {
        kn_images *images = NULL;
        kn_mask mask = {0};
        kn_fail_allocation(ctx, k);
        kn_status s = kn_images_open(ctx, "list.txt", 0, &images);
        if (s == KN_OK)
            s = kn_mask_observed(ctx, images, PTRDIFF_MAX, &mask);
        kn_fail_allocation(ctx, 0);
        kn_mask_clear(&mask);
        kn_images_free(images);
        if (s == KN_OK) {
            assert_true(k > 20);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
    }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_image_set)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same_for_every_source_and_thread_count),
        cmocka_unit_test(ids_come_from_the_list_or_the_paths),
        cmocka_unit_test(a_bad_list_is_a_sentence),
        cmocka_unit_test(the_odd_image_is_named),
        cmocka_unit_test(the_first_failing_image_is_named_by_any_thread),
        cmocka_unit_test(cancelling_stops_the_reading),
        cmocka_unit_test(the_default_mask_leaves_out_constant_and_missing),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
