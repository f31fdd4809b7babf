#include "io/formats/gifti.h"

#include "io/image/image.h"
#include "support/images.h"

#define ARRAY(TYPE, DIMS, ENCODING, ENDIAN, ORDER, DATA)                                           \
    "<DataArray Intent=\"NIFTI_INTENT_NONE\" DataType=\"" TYPE "\" " DIMS " Encoding=\"" ENCODING  \
    "\" Endian=\"" ENDIAN "\" ArrayIndexingOrder=\"" ORDER "\" ExternalFileName=\"x.dat\" "        \
    "ExternalFileOffset=\"2\"><Data>" DATA "</Data></DataArray>"
#define FILE_OF(ARRAYS)     "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\">" ARRAYS "</GIFTI>"
#define FLAT(N)             "Dimensionality=\"1\" Dim0=\"" N "\""
#define TABLE(N, M)         "Dimensionality=\"2\" Dim0=\"" N "\" Dim1=\"" M "\""
#define TEXT(TYPE, N, DATA) ARRAY(TYPE, FLAT(N), "ASCII", "LittleEndian", "RowMajorOrder", DATA)
#define F32                 "NIFTI_TYPE_FLOAT32"
#define I32                 "NIFTI_TYPE_INT32"
#define U8                  "NIFTI_TYPE_UINT8"

static kn_status parse(kn_ctx *ctx, const char *text, bool others, kn_gifti *out)
{
    kn_byte_source source = kn_byte_source_of("x.gii", text, (ptrdiff_t)strlen(text));
    return kn_gifti_read_source(ctx, &source, others, out);
}

static void refuse(const char *text, const char *sentence)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_gifti g;
    assert_sentence(ctx, parse(ctx, text, false, &g), KN_ERR_FORMAT, sentence);
    assert_null(g.array);
    kn_ctx_free(ctx);
}

/* The numbers 1, 2, 3, 4 as every encoding has them. */
static void every_encoding_gives_the_same_values(void **state)
{
    (void)state;
    static const char *const texts[] = {
        FILE_OF(TEXT(I32, "4", " 1 2\n3\t4 ")),
        FILE_OF(ARRAY(I32, FLAT("4"), "Base64Binary", "LittleEndian", "RowMajorOrder",
                      "AQAAAAIAAAAD\n AAAABAAAAA==")),
        FILE_OF(ARRAY(I32, FLAT("4"), "GIFTI_ENCODING_B64BIN", "GIFTI_ENDIAN_BIG",
                      "GIFTI_IND_ORD_ROW_MAJOR", "AAAAAQAAAAIAAAADAAAABA==")),
        FILE_OF(ARRAY(I32, FLAT("4"), "GZipBase64Binary", "LittleEndian", "ColumnMajorOrder",
                      "eJxjZGBgYAJiZiBmAWIAAGAACw==")),
        FILE_OF(ARRAY(I32, TABLE("4", "1"), "ExternalFileBinary", "LittleEndian",
                      "ColumnMajorOrder", "")),
        FILE_OF(
            ARRAY(I32, TABLE("2", "2"), "ASCII", "LittleEndian", "ColumnMajorOrder", "1 3 2 4")),
    };
    static const int32_t expected[4] = {1, 2, 3, 4};
    scratch_file("x.dat", "\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 18);
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kn_gifti g;
        assert_ok(ctx, parse(ctx, texts[i], true, &g));
        assert_int_equal(g.count, 1);
        assert_int_equal(g.array[0].dim[0] * g.array[0].dim[1], 4);
        assert_string_equal(g.array[0].intent, "NIFTI_INTENT_NONE");
        assert_memory_equal(g.array[0].data, expected, sizeof expected);
        kn_gifti_clear(&g);
    }
    kn_ctx_free(ctx);
}

static void arrays_are_volumes(void **state)
{
    (void)state;
    const char *text = FILE_OF(TEXT(F32, "3", "1 nan -inf") TEXT(F32, "3", "4 5 6.5"));
    static unsigned char packed[IMAGE_ROOM];
    kn_ctx *ctx = kn_ctx_new();
    scratch_text("x.gii", text);
    scratch_file("x.gii.gz", packed, image_gzip((const unsigned char *)text, strlen(text), packed));
    static const char *const names[2] = {"x.gii", "x.gii.gz"};
    for (int f = 0; f < 2; f++) {
        kn_image image;
        kn_image_reader *reader;
        const ptrdiff_t index[2] = {2, 0};
        float out[3];
        assert_true(kn_image_is_name(names[f]));
        assert_ok(ctx, kn_image_open(ctx, names[f], &image));
        assert_ok(ctx, kn_image_reader_new(ctx, 1, &reader));
        assert_int_equal(image.header.volumes, 2);
        assert_int_equal(image.geometry.dim[0], 3);
        assert_ok(ctx, kn_image_read(ctx, reader, &image, 1, index, 2, out));
        assert_true(out[0] == 6.5F && out[1] == 4);
        assert_ok(ctx, kn_image_read(ctx, reader, &image, 0, NULL, 3, out));
        assert_true(out[0] == 1 && isnan(out[1]) && out[2] == -INFINITY);
        kn_image_reader_free(reader);
        assert_ok(ctx, kn_image_reader_new(ctx, 1, &reader));
        scratch_text(names[f], FILE_OF(TEXT(F32, "2", "1 2")));
        assert_refused(ctx, kn_image_read(ctx, reader, &image, 0, NULL, 3, out), KN_ERR_IO,
                       "changed while it was read");
        kn_image_reader_free(reader);
        kn_image_clear(&image);
    }
    kn_ctx_free(ctx);
}

static void not_images(const char *text, kn_status expected, const char *sentence)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    assert_sentence(ctx, kn_image_open_memory(ctx, "x.gii", text, (ptrdiff_t)strlen(text), &image),
                    expected, sentence);
    kn_ctx_free(ctx);
}

static void what_is_no_image_is_a_sentence(void **state)
{
    (void)state;
    not_images(FILE_OF(""), KN_ERR_FORMAT, "x.gii has no data arrays");
    not_images(FILE_OF(
                   ARRAY(F32, TABLE("1", "3"), "ASCII", "LittleEndian", "RowMajorOrder", "1 2 3")),
               KN_ERR_SHAPE, "x.gii: data array 1 is 1 x 3; it must have one value per vertex");
    not_images(FILE_OF(TEXT(F32, "1", "1") TEXT(F32, "2", "1 2")), KN_ERR_SHAPE,
               "x.gii: data array 2 has 2 values, but the first has 1");
    not_images(FILE_OF(TEXT(F32, "1", "1") TEXT(U8, "1", "1")), KN_ERR_FORMAT,
               "x.gii: data array 2 has type uint8, but the first has float32");
}

static void a_bad_file_is_a_sentence(void **state)
{
    (void)state;
    const char *whole = FILE_OF(TEXT(F32, "1", "1"));
    kn_ctx *ctx = kn_ctx_new();
    kn_gifti g;
    for (ptrdiff_t n = 0; n < (ptrdiff_t)strlen(whole); n++) {
        kn_byte_source source = kn_byte_source_of("x.gii", whole, n);
        assert_sentence(ctx, kn_gifti_read_source(ctx, &source, false, &g), KN_ERR_FORMAT,
                        "x.gii: the XML ends too early, so the file is incomplete; get it again");
    }
    kn_ctx_free(ctx);
    refuse("hello", "x.gii line 1: invalid XML (syntax error)");
    refuse("<html></html>", "x.gii is not a GIFTI file");
    refuse("<!DOCTYPE GIFTI [<!ENTITY a \"aaaa\">]><GIFTI/>",
           "x.gii declares entities, which are not supported");
    refuse(FILE_OF("<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"
                   "<a><a><a><a><a><a><a><a>"),
           "x.gii: elements are nested more than 32 deep");
    refuse(FILE_OF("<DataArray/>"), "x.gii: data array 1 has no DataType");
    refuse(FILE_OF(TEXT("NIFTI_TYPE_RGB24", "1", "1")),
           "x.gii: data array 1 has DataType NIFTI_TYPE_RGB24, which is not supported");
    refuse(FILE_OF(TEXT(F32, "-1", "1")),
           "x.gii: data array 1 has Dim0 -1, which is not supported");
    refuse(FILE_OF(TEXT(F32, "99999999999999999999", "1")),
           "x.gii: data array 1 has Dim0 99999999999999999999, which is not supported");
    refuse(FILE_OF(ARRAY(F32, TABLE("4000000000", "4000000000"), "ASCII", "LittleEndian",
                         "RowMajorOrder", "1")),
           "x.gii: data array 1: 4000000000 x 4000000000 numbers cannot exist");
}

static void bad_values_are_sentences(void **state)
{
    (void)state;
#define BINARY(N, ENCODING, DATA)                                                                  \
    FILE_OF(ARRAY(F32, FLAT(N), ENCODING, "LittleEndian", "RowMajorOrder", DATA))
    refuse(FILE_OF(TEXT(F32, "1000000000000", "1 2")),
           "x.gii: data array 1 declares 1000000000000 numbers, but its text has 3 characters");
    refuse(FILE_OF(TEXT(F32, "2", "1 2 3")), "x.gii: data array 1 has 3 numbers instead of 2");
    refuse(FILE_OF(TEXT(F32, "2", "1 x")),
           "x.gii: data array 1: number 2 is \"x\", but must be float32");
    refuse(FILE_OF(TEXT(U8, "1", "256")),
           "x.gii: data array 1: number 1 is \"256\", but must be uint8");
    refuse(FILE_OF(TEXT(I32, "1", "1.5")),
           "x.gii: data array 1: number 1 is \"1.5\", but must be int32");
    refuse(BINARY("1", "Base64Binary", "AA?A"), "x.gii: data array 1 is not base64");
    refuse(BINARY("1000000000", "Base64Binary", "AAAA"),
           "x.gii: data array 1 declares 4.0 GB, but its data have at most 3 bytes");
    refuse(BINARY("1", "Base64Binary", "AAAAAAAA"),
           "x.gii: data array 1 has more data than its dimensions allow");
    refuse(BINARY("1000000000", "GZipBase64Binary", "AAAA"),
           "x.gii: data array 1 declares 4.0 GB, but its data have at most 3.1 kB");
    refuse(BINARY("4", "GZipBase64Binary", "eJxjZGBgYAJiZiA="),
           "x.gii: data array 1 is damaged: it cannot be decompressed");
    refuse(BINARY("3", "GZipBase64Binary", "eJxjZGBgYAJiZiBmAWIAAGAACw=="),
           "x.gii: data array 1 has more data than its dimensions allow");
    refuse(BINARY("1", "ExternalFileBinary", ""), "x.gii: data array 1 is in another file");
    kn_ctx *ctx = kn_ctx_new();
    kn_gifti g;
    scratch_file("x.dat", "1234", 4);
    assert_sentence(ctx, parse(ctx, BINARY("1", "ExternalFileBinary", ""), true, &g), KN_ERR_FORMAT,
                    "x.dat: data array 1 of x.gii needs 6 bytes, the file has 4 bytes");
    assert_sentence(ctx,
                    parse(ctx,
                          FILE_OF("<DataArray DataType=\"" F32 "\" " FLAT(
                              "1") " Endian=\""
                                   "LittleEndian\" ArrayIndexingOrder=\"RowMajorOrder\" Encoding=\""
                                   "ExternalFileBinary\" ExternalFileName=\"../x\"/>"),
                          true, &g),
                    KN_ERR_FORMAT,
                    "x.gii: data array 1 is in another file, which must be in the same folder");
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_gifti)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_gives_the_same_values),
        cmocka_unit_test(arrays_are_volumes),
        cmocka_unit_test(what_is_no_image_is_a_sentence),
        cmocka_unit_test(a_bad_file_is_a_sentence),
        cmocka_unit_test(bad_values_are_sentences),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
