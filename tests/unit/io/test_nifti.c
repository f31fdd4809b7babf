#include "support/images.h"

#include <sys/stat.h>

#include "io/image/image.h"
#include "io/image/mask.h"

static unsigned char file[IMAGE_ROOM], packed[IMAGE_ROOM];

static kn_status open_bytes(kn_ctx *ctx, size_t n, kn_image *out)
{
    return kn_image_open_memory(ctx, "x.nii", file, (ptrdiff_t)n, out);
}

/* A 2 x 2 x 2 image of which a test then spoils a field. */
static size_t cube(void)
{
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    kn_nifti_header h = image_header(2, 2, 2);
    return image_bytes(&h, 0, values, 8, file);
}

static void set16(int offset, int value)
{
    kn_store16(file + offset, (uint16_t)value, KN_BIG_ENDIAN);
}

static void setf(int offset, float value)
{
    kn_store_f32(file + offset, value, KN_BIG_ENDIAN);
}

static void voxels_come_in_file_order(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    kn_image_reader *reader;
    const ptrdiff_t index[3] = {7, 0, 2};
    float out[8];
    size_t n = cube();
    assert_ok(ctx, open_bytes(ctx, n, &image));
    assert_ok(ctx, kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
    assert_ok(ctx, kn_image_read(ctx, reader, &image, 0, NULL, 8, out));
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == (float)(i + 1));
    assert_ok(ctx, kn_image_read(ctx, reader, &image, 0, index, 3, out));
    assert_true(out[0] == 8 && out[1] == 1 && out[2] == 3);
    assert_sentence(ctx, kn_image_read(ctx, reader, &image, 1, NULL, 8, out), KN_ERR_ARGUMENT,
                    "x.nii: volume 2 of 1 was asked for");
    kn_image_reader_free(reader);
    kn_image_clear(&image);
    kn_ctx_free(ctx);
}

/* Whole through libdeflate, streamed through zlib, forwards and backwards: the same values. */
static void every_way_of_reading_gives_the_same(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    float values[60], out[12];
    for (int i = 0; i < 60; i++)
        values[i] = (float)i / 7;
    kn_nifti_header h = image_header(3, 2, 2);
    image_file("x.nii", &h, 5, values, 60);
    image_file("x.nii.gz", &h, 5, values, 60);
    static const char *const names[2] = {"x.nii", "x.nii.gz"};
    static const int order[7] = {0, 1, 2, 4, 3, 0, 4};
    for (int f = 0; f < 2; f++)
        for (ptrdiff_t memory = 1; memory < 1000000; memory *= 1000) {
            kn_image image;
            kn_image_reader *reader;
            assert_ok(ctx, kn_image_open(ctx, names[f], &image));
            assert_int_equal(image.header.volumes, 5);
            assert_ok(ctx, kn_image_reader_new(ctx, memory, &reader));
            for (int k = 0; k < 7; k++) {
                assert_ok(ctx, kn_image_read(ctx, reader, &image, order[k], NULL, 12, out));
                assert_memory_equal(out, values + 12 * order[k], sizeof out);
            }
            kn_image_reader_free(reader);
            kn_image_clear(&image);
        }
    kn_ctx_free(ctx);
}

static void a_bad_header_is_a_sentence(void **state)
{
    (void)state;
    enum { DIM = 40, DATATYPE = 70, OFFSET = 108, SLOPE = 112, INTER = 116, SROW = 280 };
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    size_t n = cube();

    assert_sentence(ctx, open_bytes(ctx, 100, &image), KN_ERR_FORMAT,
                    "x.nii: 100 bytes are too few for a NIfTI header");
    assert_sentence(ctx, open_bytes(ctx, 0, &image), KN_ERR_FORMAT,
                    "x.nii: 0 bytes are too few for a NIfTI header");
    assert_sentence(ctx, open_bytes(ctx, n - 1, &image), KN_ERR_FORMAT,
                    "x.nii: the header declares 384 bytes, but the file has 383 bytes");
    assert_sentence(ctx, open_bytes(ctx, 352, &image), KN_ERR_FORMAT,
                    "x.nii: the header declares 384 bytes, but the file has 352 bytes");
    file[0] ^= 1;
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT, "x.nii is not a NIfTI file");
    cube();
    set16(DIM, 0);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the image has 0 dimensions, but must have 1 to 7");
    cube();
    set16(DIM + 4, -3);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: dimension 2 has length -3");
    cube();
    set16(DIM, 5);
    set16(DIM + 10, 3);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: dimension 5 has length 3, but images must have 3 or 4 dimensions");
    cube();
    set16(DATATYPE, 1792);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the voxels have type complex128 (code 1792), but must be integers or "
                    "floats of up to 64 bits");
    cube();
    setf(OFFSET, 12);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the data cannot start at byte 12");
    setf(OFFSET, NAN);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the data cannot start at byte nan");
    cube();
    setf(SLOPE, -INFINITY);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the intensity scaling in the header (scl_slope) is -inf, but must be a "
                    "finite number; write the image again");
    cube();
    setf(SLOPE, 2);
    setf(INTER, INFINITY);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: scl_slope is 2 but scl_inter is not finite");
    cube();
    setf(SROW + 4, NAN);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: row 1 column 2 of the affine is not finite");
    cube();
    memcpy(file + 344, "ni1", 4);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: its data are in another file");
    cube();
    memset(file + 252, 0, 96); /* no magic, and no origin where SPM had one */
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii is an ANALYZE 7.5 header, which does not define the position of the "
                    "image; convert it to NIfTI");
    kn_ctx_free(ctx);
}

static void a_promise_of_gigabytes_is_refused_at_once(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    kn_nifti_header h = image_header(3000, 3000, 500);
    float few[6] = {0};
    size_t n = image_bytes(&h, 0, few, 6, file) + 1;
    assert_int_equal(n, 377);
    assert_sentence(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT,
                    "x.nii: the header declares 18.0 GB, but the file has 377 bytes");
    size_t m = image_gzip(file, n, packed);
    char sentence[128];
    snprintf(sentence, sizeof sentence,
             "x.nii.gz: the header declares 18.0 GB, but the compressed file cannot hold more than "
             "%.1f kB",
             (double)m * 1.032);
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.nii.gz", packed, (ptrdiff_t)m, &image),
                    KN_ERR_FORMAT, sentence);

    h = image_header(20, 20, 20); /* within what deflate could hold, but not there */
    n = image_bytes(&h, 0, few, 6, file);
    m = image_gzip(file, n, packed);
    assert_sentence(
        ctx, kn_image_open_memory(ctx, "x.nii.gz", packed, (ptrdiff_t)m, &image), KN_ERR_FORMAT,
        "x.nii.gz: the header declares 32.4 kB, but the decompressed file has 376 bytes");

    h = image_header(INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2);
    n = image_bytes(&h, 0, few, 6, file);
    assert_refused(ctx, open_bytes(ctx, n, &image), KN_ERR_FORMAT, "voxels cannot exist");
    kn_ctx_free(ctx);
}

static void a_compressed_file_cut_short_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    float values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = (float)(i * 7919 % 1000);
    kn_nifti_header h = image_header(10, 10, 10);
    size_t n = image_bytes(&h, 0, values, 1000, file), m = image_gzip(file, n, packed);
    for (size_t cut = 40; cut < m; cut += 13)
        assert_refused(ctx, kn_image_open_memory(ctx, "x.nii.gz", packed, (ptrdiff_t)cut, &image),
                       KN_ERR_FORMAT, "x.nii.gz: ");
    assert_sentence(
        ctx, kn_image_open_memory(ctx, "x.nii.gz", packed, (ptrdiff_t)m - 9, &image), KN_ERR_FORMAT,
        "x.nii.gz: the compressed data end too early, so the file is incomplete; get it again");
    kn_image_reader *reader;
    packed[m / 2] ^= 0x10; /* the trailer still promises the right length */
    packed[m / 2 + 1] ^= 0xff;
    assert_ok(ctx, kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
    assert_ok(ctx, kn_image_open_memory(ctx, "x.nii.gz", packed, (ptrdiff_t)m, &image));
    assert_refused(ctx, kn_image_read(ctx, reader, &image, 0, NULL, 1000, values), KN_ERR_FORMAT,
                   "x.nii.gz: the compressed data are damaged");
    kn_image_reader_free(reader);
    kn_image_clear(&image);
    kn_ctx_free(ctx);
}

/* 2 x 2 x 2 shorts 1 .. 8, twice as high each frame, 2 mm, x to the left. */
static size_t mgh(int frames)
{
    enum { OFFSET = 284 };
    const int dims[4] = {2, 2, 2, frames};
    static const float about[15] = {2, 2, 2, -1, 0, 0, 0, 0, -1, 0, 1, 0, 10, 20, 30};
    memset(file, 0, OFFSET);
    kn_store32(file, 1, !KN_BIG_ENDIAN);
    for (int i = 0; i < 4; i++)
        kn_store32(file + 4 + 4 * i, (uint32_t)dims[i], !KN_BIG_ENDIAN);
    kn_store32(file + 20, 4, !KN_BIG_ENDIAN);
    kn_store16(file + 28, 1, !KN_BIG_ENDIAN);
    for (int i = 0; i < 15; i++)
        kn_store_f32(file + 30 + 4 * i, about[i], !KN_BIG_ENDIAN);
    for (int i = 0; i < 8 * frames; i++)
        kn_store16(file + OFFSET + 2 * i, (uint16_t)((i % 8 + 1) << i / 8), !KN_BIG_ENDIAN);
    return OFFSET + 16 * (size_t)frames;
}

static void an_mgh_file_is_an_image(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    kn_image_reader *reader;
    kn_geometry again;
    static const double affine[3][4] = {{-2, 0, 0, 12}, {0, 0, 2, 18}, {0, -2, 0, 32}};
    float out[8];
    size_t n = mgh(3), m = image_gzip(file, n, packed);
    scratch_file("x.mgh", file, n);
    scratch_file("x.mgz", packed, m);
    static const char *const names[2] = {"x.mgh", "x.mgz"};
    for (int f = 0; f < 2; f++) {
        assert_ok(ctx, kn_image_open(ctx, names[f], &image));
        assert_ok(ctx, kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
        assert_int_equal(image.header.volumes, 3);
        assert_memory_equal(image.geometry.affine, affine, sizeof affine);
        assert_ok(ctx, kn_image_read(ctx, reader, &image, 2, NULL, 8, out));
        for (int i = 0; i < 8; i++)
            assert_true(out[i] == (float)(4 * (i + 1)));
        assert_ok(ctx, kn_geometry_from_header(ctx, "x", image.geometry.header,
                                               image.geometry.header_size, &again));
        assert_ok(ctx, kn_geometry_compare(ctx, "x", &again, "y", &image.geometry));
        kn_image_reader_free(reader);
        kn_image_clear(&image);
    }
    kn_ctx_free(ctx);
}

static void a_bad_mgh_file_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    ptrdiff_t n = (ptrdiff_t)mgh(1);
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.mgh", file, 283, &image), KN_ERR_FORMAT,
                    "x.mgh: 283 bytes are too few for an MGH header");
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.mgh", file, n - 1, &image), KN_ERR_FORMAT,
                    "x.mgh: the header declares 300 bytes, but the file has 299 bytes");
    file[3] = 2;
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.mgh", file, n, &image), KN_ERR_FORMAT,
                    "x.mgh is not an MGH file");
    mgh(1);
    file[23] = 2;
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.mgh", file, n, &image), KN_ERR_FORMAT,
                    "x.mgh: the voxels have type 2, but must have type 0 (uchar), 1 (int), 3 "
                    "(float), 4 (short) or 10 (ushort)");
    mgh(1);
    memset(file + 8, 0xff, 4);
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.mgh", file, n, &image), KN_ERR_FORMAT,
                    "x.mgh: dimension 2 has length -1");
    mgh(1);
    memset(file + 4, 0x7f, 16);
    assert_refused(ctx, kn_image_open_memory(ctx, "x.mgh", file, n, &image), KN_ERR_FORMAT,
                   "voxels cannot exist");
    mgh(1);
    memset(file + 30, 0x7f, 60);
    assert_refused(ctx, kn_image_open_memory(ctx, "x.mgh", file, n, &image), KN_ERR_FORMAT,
                   "of the affine is not finite");
    kn_ctx_free(ctx);
}

static void files_that_are_not_images_are_sentences(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    size_t n = cube();
    assert_sentence(ctx, kn_image_open(ctx, "x.mnc", &image), KN_ERR_FORMAT,
                    "x.mnc is not an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii)");
    assert_sentence(ctx, kn_image_open(ctx, "none.nii", &image), KN_ERR_IO,
                    "none.nii cannot be opened: no such file or directory");
    assert_int_equal(mkdir("folder.nii", 0755), 0);
    assert_sentence(ctx, kn_image_open(ctx, "folder.nii", &image), KN_ERR_IO,
                    "folder.nii is a folder; give the name of a file");
    memcpy(file + 344, "ni1", 4);
    setf(108, 0);
    scratch_file("p.hdr", file, 348);
    assert_sentence(ctx, kn_image_open(ctx, "p.hdr", &image), KN_ERR_IO,
                    "p.hdr: the other file of the pair, p.img, is missing");
    scratch_file("p.nii", file, 348);
    assert_sentence(ctx, kn_image_open(ctx, "p.nii", &image), KN_ERR_FORMAT,
                    "p.nii is the header of a .hdr/.img pair without data");
    scratch_file("p.img", file + 352, n - 352 - 4);
    assert_sentence(ctx, kn_image_open(ctx, "p.hdr", &image), KN_ERR_FORMAT,
                    "p.img: the header declares 32 bytes, but the file has 28 bytes");
    scratch_file("p.img", file + 352, n - 352);
    assert_ok(ctx, kn_image_open(ctx, "p.img", &image));
    kn_image_clear(&image);
    scratch_file("q.img", file + 352, n - 352);
    assert_sentence(ctx, kn_image_open(ctx, "q.img", &image), KN_ERR_IO,
                    "q.img: the other file of the pair, q.hdr, is missing");
    kn_ctx_free(ctx);
}

static void geometries_are_compared_to_a_thousandth_of_a_millimetre(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header a = image_header(4, 5, 6), b = a;
    kn_geometry ga, gb;
    assert_ok(ctx, kn_geometry_of(ctx, "a.nii", &a, &ga));
    b.srow[1][3] += 0.0009;
    assert_ok(ctx, kn_geometry_of(ctx, "b.nii", &b, &gb));
    assert_ok(ctx, kn_geometry_compare(ctx, "b.nii", &gb, "a.nii", &ga));
    b.srow[1][3] = -18.5;
    assert_ok(ctx, kn_geometry_of(ctx, "b.nii", &b, &gb));
    assert_sentence(ctx, kn_geometry_compare(ctx, "b.nii", &gb, "a.nii", &ga), KN_ERR_SHAPE,
                    "b.nii: row 2, column 4 of the affine is -18.5, but -20 in a.nii; resample the "
                    "images to one space");
    b.dim[2] = 7;
    assert_ok(ctx, kn_geometry_of(ctx, "b.nii", &b, &gb));
    assert_sentence(ctx, kn_geometry_compare(ctx, "b.nii", &gb, "a.nii", &ga), KN_ERR_SHAPE,
                    "b.nii: the image has 4 x 5 x 7 voxels instead of the 4 x 5 x 6 of a.nii; "
                    "resample the images to one space");
    assert_ok(ctx, kn_geometry_from_header(ctx, "model", ga.header, ga.header_size, &gb));
    assert_memory_equal(&ga, &gb, sizeof ga);
    kn_ctx_free(ctx);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header h = image_header(3, 2, 2);
    kn_geometry g;
    const ptrdiff_t index[3] = {1, 5, 11};
    const float values[6] = {1.5f, NAN, -3, 4, 5, 6};
    float out[12];
    static const char *const names[2] = {"w.nii", "w.nii.gz"};
    assert_ok(ctx, kn_geometry_of(ctx, "h", &h, &g));
    for (int k = 0; k < 2; k++) {
        kn_image_writer *w;
        kn_image_reader *reader;
        kn_image image;
        assert_ok(ctx, kn_image_writer_new(
                           ctx, names[k],
                           &(kn_image_target){.geometry = &g, .volumes = 2, .description = "z"},
                           NULL, &w));
        assert_ok(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, index, 3, 0}));
        assert_sentence(ctx, kn_image_writer_commit(ctx, w), KN_ERR_ARGUMENT,
                        k == 0 ? "w.nii: 1 volumes are missing"
                               : "w.nii.gz: 1 volumes are missing");
        assert_ok(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 2, index, 3, -1}));
        assert_refused(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, index, 3, -1}),
                       KN_ERR_ARGUMENT, "more volumes than were announced");
        assert_ok(ctx, kn_image_writer_commit(ctx, w));
        kn_image_writer_free(w);
        assert_ok(ctx, kn_image_open(ctx, names[k], &image));
        assert_int_equal(image.header.volumes, 2);
        assert_memory_equal(&image.geometry, &g, sizeof g);
        assert_ok(ctx, kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
        assert_ok(ctx, kn_image_read(ctx, reader, &image, 0, NULL, 12, out));
        assert_true(out[0] == 0 && out[1] == 1.5f && isnan(out[5]) && out[11] == -3);
        assert_ok(ctx, kn_image_read(ctx, reader, &image, 1, NULL, 12, out));
        assert_true(out[0] == -1 && out[1] == 1.5f && out[5] == -3 && out[11] == 5);
        kn_image_reader_free(reader);
        kn_image_clear(&image);
    }
    kn_image_writer *w;
    assert_sentence(ctx,
                    kn_image_writer_new(ctx, "w.img",
                                        &(kn_image_target){.geometry = &g, .description = ""}, NULL,
                                        &w),
                    KN_ERR_ARGUMENT,
                    "w.img cannot be an image; name it .nii, .nii.gz, .mgh, .mgz or .gii");
    kn_ctx_free(ctx);
}

static void a_mask_is_where_values_are_not_zero(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header h = image_header(2, 2, 2), other = image_header(2, 2, 3);
    kn_geometry g;
    kn_mask mask;
    const float in[8] = {0, 1, NAN, -2, 0, INFINITY, 0.5f, 0}, none[8] = {0, NAN};
    assert_ok(ctx, kn_geometry_of(ctx, "h", &h, &g));
    image_file("mask.nii.gz", &h, 0, in, 8);
    assert_ok(ctx, kn_mask_read(ctx, "mask.nii.gz", "y.nii", &g, &mask));
    assert_int_equal(mask.count, 3);
    assert_true(mask.index[0] == 1 && mask.index[1] == 3 && mask.index[2] == 6);
    kn_mask_clear(&mask);
    assert_ok(ctx, kn_mask_read(ctx, "mask.nii.gz", NULL, NULL, &mask));
    kn_mask_clear(&mask);
    image_file("empty.nii", &h, 0, none, 8);
    assert_sentence(ctx, kn_mask_read(ctx, "empty.nii", "y.nii", &g, &mask), KN_ERR_DATA,
                    "empty.nii: the mask is empty; every voxel is 0");
    float more[12] = {1};
    image_file("other.nii", &other, 0, more, 12);
    assert_sentence(ctx, kn_mask_read(ctx, "other.nii", "y.nii", &g, &mask), KN_ERR_SHAPE,
                    "other.nii: the image has 2 x 2 x 3 voxels instead of the 2 x 2 x 2 of y.nii; "
                    "resample the images to one space");
    float two[16] = {1};
    image_file("two.nii", &h, 2, two, 16);
    assert_sentence(ctx, kn_mask_read(ctx, "two.nii", "y.nii", &g, &mask), KN_ERR_SHAPE,
                    "two.nii has 2 volumes, but a mask must have one");
    assert_null(mask.index);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_nifti)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(voxels_come_in_file_order),
        cmocka_unit_test(every_way_of_reading_gives_the_same),
        cmocka_unit_test(a_bad_header_is_a_sentence),
        cmocka_unit_test(a_promise_of_gigabytes_is_refused_at_once),
        cmocka_unit_test(a_compressed_file_cut_short_is_a_sentence),
        cmocka_unit_test(an_mgh_file_is_an_image),
        cmocka_unit_test(a_bad_mgh_file_is_a_sentence),
        cmocka_unit_test(files_that_are_not_images_are_sentences),
        cmocka_unit_test(geometries_are_compared_to_a_thousandth_of_a_millimetre),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_mask_is_where_values_are_not_zero),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
