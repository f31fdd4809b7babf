#include <sys/stat.h>
#include <unistd.h>

#include "support/failing.h"
#include "support/scratch.h"

#include "io/safetensors/safetensors.h"

enum { ROOM = 1 << 16 };

/* The bytes of a file of this header (padded or not, as given) and so many bytes of data. */
static size_t make(const char *header, size_t data, unsigned char *out)
{
    size_t n = strlen(header);
    memset(out, 0, 8);
    out[0] = (unsigned char)n;
    out[1] = (unsigned char)(n >> 8);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < data; i++)
        out[8 + n + i] = (unsigned char)(i + 1);
    return 8 + n + data;
}

static const double f64[6] = {1, -0.0, 1.0 / 3, 4e300, NAN, -INFINITY};
static const float f32[3] = {1, 1.0f / 3, -2};
static const int64_t i64[2] = {INT64_MIN, INT64_MAX};
static const int32_t i32[4] = {INT32_MIN, -1, 0, INT32_MAX};
static const uint8_t u8[5] = {0, 1, 127, 128, 255};

/* Row-major counting numbers. */
static kn_status count_up(kn_ctx *ctx, void *user, ptrdiff_t first, ptrdiff_t n, void *out)
{
    (void)ctx;
    for (ptrdiff_t i = 0; i < n; i++)
        ((int32_t *)out)[i] = (int32_t)(first + i);
    *(ptrdiff_t *)user += n;
    return KN_OK;
}

static kn_status write_all(kn_ctx *ctx, const char *path)
{
    static double columns[6] = {1, 2, 3, 4, 5, 6}; /* 2 x 3, and with ld 3 the upper 2 x 2 */
    ptrdiff_t filled = 0;
    kn_st_writer *w = NULL;
    kn_write_options options = {.force = true};
    kn_status status;
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(kn_st_set_metadata(ctx, w, "format", "1"));
    KN_TRY(kn_st_set_metadata(ctx, w, "note", "a \"quoted\" caf\xc3\xa9\n"));
    KN_TRY(kn_st_add(ctx, w, "bytes", KN_ST_U8, 1, (ptrdiff_t[]){5}, u8));
    KN_TRY(kn_st_add(ctx, w, "ints", KN_ST_I32, 4, (ptrdiff_t[]){2, 1, 2, 1}, i32));
    KN_TRY(kn_st_add(ctx, w, "floats", KN_ST_F32, 3, (ptrdiff_t[]){1, 3, 1}, f32));
    KN_TRY(kn_st_add(ctx, w, "longs", KN_ST_I64, 1, (ptrdiff_t[]){2}, i64));
    KN_TRY(kn_st_add(ctx, w, "doubles", KN_ST_F64, 2, (ptrdiff_t[]){3, 2}, f64));
    KN_TRY(kn_st_add(ctx, w, "scalar", KN_ST_F64, 0, NULL, f64 + 2));
    KN_TRY(kn_st_add(ctx, w, "empty", KN_ST_F32, 2, (ptrdiff_t[]){0, 7}, NULL));
    KN_TRY(kn_st_add_text(ctx, w, "text", "age, sex"));
    KN_TRY(kn_st_add_text(ctx, w, "nothing", ""));
    KN_TRY(kn_st_add_mat(ctx, w, "M", kn_mat_cols(columns, 2, 3), KN_ST_F64));
    KN_TRY(kn_st_add_mat(ctx, w, "S", (kn_mat){columns, 2, 2, 3}, KN_ST_F32));
    KN_TRY(kn_st_add_view(ctx, w, "V", kn_view_rows_f32(f32, 1, 3), KN_ST_F64));
    KN_TRY(kn_st_add_fill(ctx, w, "filled", KN_ST_I32, 2, (ptrdiff_t[]){3, 4}, count_up, &filled));
    KN_TRY(kn_st_write(ctx, w, path, &options));
    assert_int_equal(filled, 12);
out:
    kn_st_writer_free(w);
    return status;
}

static const kn_st_tensor *look(const kn_st_file *file, const char *name, kn_st_type type, int ndim,
                                ptrdiff_t count)
{
    const kn_st_tensor *t = kn_st_find(file, name);
    assert_non_null(t);
    assert_int_equal(t->type, type);
    assert_int_equal(t->ndim, ndim);
    assert_int_equal(t->count, count);
    return t;
}

/* An array has exactly these values, and so has each part of it. */
static void check_values(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                         const void *expected)
{
    ptrdiff_t size = kn_st_type_size(t->type);
    char found[64];
    assert_true(t->count * size <= (ptrdiff_t)sizeof found);
    for (ptrdiff_t first = 0; first < t->count; first++) {
        ptrdiff_t n = t->count - first;
        assert_ok(ctx, kn_st_values(ctx, file, t, first, n, found));
        assert_memory_equal(found, (const char *)expected + first * size, (size_t)(n * size));
    }
}

static void check_all(kn_ctx *ctx, const kn_st_file *file)
{
    static const char *const order[] = {"bytes",  "ints",  "floats", "longs",   "doubles",
                                        "scalar", "empty", "text",   "nothing", "M",
                                        "S",      "V",     "filled"};
    kn_mat M;
    double *d;
    int64_t *k;
    char *text;
    ptrdiff_t n;
    const char *key, *value;
    assert_int_equal(kn_st_count(file), 13);
    for (int i = 0; i < 13; i++)
        assert_string_equal(kn_st_at(file, i)->name, order[i]);
    check_values(ctx, file, look(file, "bytes", KN_ST_U8, 1, 5), u8);
    check_values(ctx, file, look(file, "ints", KN_ST_I32, 4, 4), i32);
    assert_int_equal(kn_st_find(file, "ints")->shape[2], 2);
    check_values(ctx, file, look(file, "floats", KN_ST_F32, 3, 3), f32);
    check_values(ctx, file, look(file, "longs", KN_ST_I64, 1, 2), i64);
    check_values(ctx, file, look(file, "doubles", KN_ST_F64, 2, 6), f64);
    check_values(ctx, file, look(file, "scalar", KN_ST_F64, 0, 1), f64 + 2);
    assert_int_equal(look(file, "empty", KN_ST_F32, 2, 0)->shape[1], 7);
    assert_null(kn_st_find(file, "__metadata__"));

    assert_int_equal(kn_st_metadata_count(file), 2);
    kn_st_metadata_at(file, 1, &key, &value);
    assert_string_equal(key, "note");
    assert_string_equal(value, "a \"quoted\" caf\xc3\xa9\n");
    assert_string_equal(kn_st_metadata(file, "format"), "1");
    assert_null(kn_st_metadata(file, "colour"));

    assert_ok(ctx, kn_st_read_mat(ctx, file, "M", 2, -1, &M));
    assert_int_equal(M.cols, 3);
    for (int i = 0; i < 6; i++)
        assert_true(M.data[i] == i + 1);
    kn_mat_clear(&M);
    assert_ok(ctx, kn_st_read_mat(ctx, file, "S", -1, 2, &M));
    assert_true(kn_at(M, 0, 1) == 4 && kn_at(M, 1, 0) == 2 && kn_at(M, 1, 1) == 5);
    kn_mat_clear(&M);
    assert_ok(ctx, kn_st_read_mat(ctx, file, "empty", 0, 7, &M));
    kn_mat_clear(&M);
    assert_ok(ctx, kn_st_read_doubles(ctx, file, "V", 3, &d, NULL));
    for (int i = 0; i < 3; i++)
        assert_true(d[i] == (double)f32[i]);
    kn_free(d);
    assert_ok(ctx, kn_st_read_doubles(ctx, file, "M", -1, &d, &n));
    assert_true(n == 6 && d[1] == 3 && d[3] == 2);
    kn_free(d);
    assert_ok(ctx, kn_st_read_doubles(ctx, file, "scalar", 1, &d, NULL));
    assert_true(*d == f64[2]);
    kn_free(d);
    assert_ok(ctx, kn_st_read_i64(ctx, file, "filled", 12, &k, NULL));
    for (int i = 0; i < 12; i++)
        assert_int_equal(k[i], i);
    kn_free(k);
    assert_ok(ctx, kn_st_read_i64(ctx, file, "bytes", -1, &k, &n));
    assert_true(n == 5 && k[4] == 255);
    kn_free(k);
    assert_ok(ctx, kn_st_read_i64(ctx, file, "longs", -1, &k, &n));
    assert_true(k[0] == INT64_MIN && k[1] == INT64_MAX);
    kn_free(k);
    assert_ok(ctx, kn_st_read_text(ctx, file, "text", &text));
    assert_string_equal(text, "age, sex");
    kn_free(text);
    assert_ok(ctx, kn_st_read_text(ctx, file, "nothing", &text));
    assert_string_equal(text, "");
    kn_free(text);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *bytes = malloc(ROOM);
    kn_st_file *file;
    assert_ok(ctx, write_all(ctx, "all.safetensors"));
    assert_ok(ctx, kn_st_open(ctx, "all.safetensors", &file));
    assert_string_equal(kn_st_name(file), "all.safetensors");
    check_all(ctx, file);
    kn_st_close(file);
    size_t n = scratch_read("all.safetensors", bytes, ROOM);
    assert_int_equal((8 + bytes[0] + 256 * bytes[1]) % 64, 0);
    assert_ok(ctx, kn_st_parse(ctx, "x", bytes, (ptrdiff_t)n, &file));
    check_all(ctx, file);
    kn_st_close(file);
    free(bytes);
    kn_ctx_free(ctx);
}

/* The values do not depend on where the bytes lie: every offset of the start is tried. */
static void unaligned_arrays_read_the_same(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *bytes = malloc(ROOM + 16);
    kn_st_file *file;
    assert_ok(ctx, write_all(ctx, "all.safetensors"));
    for (int shift = 0; shift < 9; shift++) {
        size_t n = scratch_read("all.safetensors", bytes + shift, ROOM);
        assert_ok(ctx, kn_st_parse(ctx, "x", bytes + shift, (ptrdiff_t)n, &file));
        check_all(ctx, file);
        kn_st_close(file);
    }
    free(bytes);
    kn_ctx_free(ctx);
}

static void the_same_calls_give_the_same_bytes(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *a = malloc(ROOM), *b = malloc(ROOM);
    assert_ok(ctx, write_all(ctx, "a.safetensors"));
    assert_ok(ctx, write_all(ctx, "b.safetensors"));
    size_t n = scratch_read("a.safetensors", a, ROOM);
    assert_int_equal(scratch_read("b.safetensors", b, ROOM), n);
    assert_memory_equal(a, b, n);
    static const char start[] =
        "{\"__metadata__\":{\"format\":\"1\",\"note\":\"a \\\"quoted\\\" caf\xc3\xa9\\n\"},"
        "\"bytes\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[";
    assert_memory_equal(a + 8, start, sizeof start - 1);
    free(a);
    free(b);
    kn_ctx_free(ctx);
}

static void a_file_without_tensors_is_one(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_st_writer *w;
    kn_st_file *file;
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_st_write(ctx, w, "none.safetensors", NULL));
    assert_sentence(ctx, kn_st_write(ctx, w, "none.safetensors", NULL), KN_ERR_IO,
                    "none.safetensors already exists; use {force} to replace it");
    kn_st_writer_free(w);
    assert_ok(ctx, kn_st_open(ctx, "none.safetensors", &file));
    assert_int_equal(kn_st_count(file), 0);
    assert_int_equal(kn_st_metadata_count(file), 0);
    kn_st_close(file);
    kn_ctx_free(ctx);
}

/* Wide enough for parts of a row, tall enough for many blocks. */
static void large_matrices_are_written_by_blocks(void **state)
{
    (void)state;
    static const ptrdiff_t shapes[][2] = {{3, (1 << 22) + 5}, {300001, 3}, {20, 30011}, {1, 1}};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        ptrdiff_t rows = shapes[s][0], cols = shapes[s][1];
        kn_mat A = {0}, B = {0};
        kn_st_writer *w;
        kn_st_file *file;
        kn_write_options force = {.force = true};
        assert_ok(ctx, kn_mat_new(ctx, rows, cols, &A));
        for (ptrdiff_t i = 0; i < rows * cols; i++)
            A.data[i] = (double)i;
        assert_ok(ctx, kn_st_writer_new(ctx, &w));
        assert_ok(ctx, kn_st_add_mat(ctx, w, "A", A, KN_ST_F32));
        assert_ok(ctx, kn_st_write(ctx, w, "large.safetensors", &force));
        kn_st_writer_free(w);
        assert_ok(ctx, kn_st_open(ctx, "large.safetensors", &file));
        assert_ok(ctx, kn_st_read_mat(ctx, file, "A", rows, cols, &B));
        kn_st_close(file);
        assert_memory_equal(A.data, B.data, (size_t)(rows * cols) * sizeof(double));
        kn_mat_clear(&A);
        kn_mat_clear(&B);
    }
    kn_ctx_free(ctx);
}

static kn_status refuse(kn_ctx *ctx, void *user, ptrdiff_t first, ptrdiff_t n, void *out)
{
    (void)user, (void)first, (void)n, (void)out;
    return kn_fail(ctx, KN_ERR_DATA, "no more values");
}

static void a_bad_request_is_a_sentence_and_leaves_nothing(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_st_writer *w;
    double big[2] = {1, 1e300};
    ptrdiff_t one = 1;
    scratch_empty();
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_st_add(ctx, w, "U", KN_ST_F64, 1, &one, big));
    assert_sentence(ctx, kn_st_add(ctx, w, "U", KN_ST_F64, 1, &one, big), KN_ERR_ARGUMENT,
                    "the tensor name 'U' is taken");
    assert_sentence(ctx, kn_st_add_text(ctx, w, "__metadata__", "x"), KN_ERR_ARGUMENT,
                    "the tensor name '__metadata__' is taken");
    assert_refused(ctx, kn_st_add_text(ctx, w, "\xff", "x"), KN_ERR_ARGUMENT, "is not UTF-8");
    assert_sentence(ctx, kn_st_add(ctx, w, "V", KN_ST_U8, 5, (ptrdiff_t[]){1, 1, 1, 1, 1}, big),
                    KN_ERR_ARGUMENT, "tensor 'V' has 5 dimensions, expected 0 to 4");
    assert_sentence(ctx,
                    kn_st_add(ctx, w, "V", KN_ST_F64, 2, (ptrdiff_t[]){PTRDIFF_MAX / 4, 2}, big),
                    KN_ERR_SHAPE, "tensor 'V' has a shape that cannot exist");
    assert_sentence(ctx, kn_st_add(ctx, w, "V", KN_ST_F64, 1, (ptrdiff_t[]){-1}, big), KN_ERR_SHAPE,
                    "tensor 'V' has a shape that cannot exist");
    assert_sentence(ctx, kn_st_add_mat(ctx, w, "V", kn_mat_cols(big, 1, 2), KN_ST_I32),
                    KN_ERR_ARGUMENT, "tensor 'V': a matrix is stored as F64 or F32");
    assert_ok(ctx, kn_st_set_metadata(ctx, w, "format", "1"));
    assert_sentence(ctx, kn_st_set_metadata(ctx, w, "format", "2"), KN_ERR_ARGUMENT,
                    "metadata 'format' is given twice");
    assert_sentence(ctx, kn_st_set_metadata(ctx, w, "bad", "\xff"), KN_ERR_ARGUMENT,
                    "metadata 'bad' is not UTF-8");
    assert_ok(ctx, kn_st_add_mat(ctx, w, "B", kn_mat_cols(big, 1, 2), KN_ST_F32));
    assert_sentence(ctx, kn_st_write(ctx, w, "x.safetensors", NULL), KN_ERR_NUMERIC,
                    "x.safetensors: tensor 'B' row 1 column 2: 1e+300 is beyond float32");
    assert_sentence(ctx, kn_st_write(ctx, w, "no/x.safetensors", NULL), KN_ERR_IO,
                    "no/x.safetensors cannot be written: no such file or directory");
    kn_st_writer_free(w);

    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_st_add_fill(ctx, w, "U", KN_ST_F64, 1, &one, refuse, NULL));
    assert_sentence(ctx, kn_st_write(ctx, w, "x.safetensors", NULL), KN_ERR_DATA, "no more values");
    kn_cancel(ctx);
    assert_refused(ctx, kn_st_write(ctx, w, "x.safetensors", NULL), KN_ERR_CANCELLED, "stopped");
    kn_st_writer_free(w);
    assert_int_equal(scratch_count(), 0);
    kn_ctx_free(ctx);
}

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void a_bad_file_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *sentence;
    } cases[] = {
        {"{" ENTRY("B", "F64", "[2]", "[0,16]") "," ENTRY("U", "F64", "[2]", "[8,24]") "}", 24,
         "x: tensor 'U' overlaps 'B'"},
        {"{" ENTRY("B", "F64", "[2]", "[0,16]") "," ENTRY("U", "F64", "[2]", "[0,16]") "}", 16,
         "x: tensor 'U' overlaps 'B'"},
        {"{" ENTRY("B", "F64", "[2]", "[0,16]") "," ENTRY("U", "F64", "[0]", "[8,8]") "}", 16,
         "x: tensor 'U' overlaps 'B'"},
        {"{" ENTRY("U", "F64", "[1]", "[16,24]") "," ENTRY("B", "F64", "[1]", "[0,8]") "}", 24,
         "x: 8 bytes before tensor 'U' belong to none"},
        {"{" ENTRY("U", "F64", "[1]", "[1,9]") "}", 9,
         "x: 1 bytes before tensor 'U' belong to none"},
        {"{" ENTRY("U", "F64", "[2]", "[0,16]") "}", 17,
         "x: 1 bytes after the last tensor belong to none"},
        {"{}", 3, "x: 3 bytes after the last tensor belong to none"},
        {"{" ENTRY("U", "F64", "[2]", "[0,16]") "}", 15, "x: the file ends after 78 of 79 bytes"},
        {"{" ENTRY("U", "F64", "[1000,1000000]", "[0,8000000000]") "}", 8,
         "x: the file ends after 90 of 8000000082 bytes"},
        {"{" ENTRY("U", "F64", "[4294967296,4294967296]", "[0,0]") "}", 0,
         "x: tensor 'U' has a shape that cannot exist"},
        {"{" ENTRY("U", "F64", "[4294967296,4294967296,0]", "[0,0]") "}", 0,
         "x: tensor 'U' has a shape that cannot exist"},
        {"{" ENTRY("U", "F64", "[2305843009213693952]", "[0,0]") "}", 0,
         "x: tensor 'U' has a shape that cannot exist"},
        {"{" ENTRY("U", "F64", "[-1,-1]", "[0,8]") "}", 8,
         "x: tensor 'U' has a shape that cannot exist"},
        {"{" ENTRY("U", "U8", "[9223372036854775807]", "[0,9223372036854775807]") "}", 8,
         "x: tensor 'U' has impossible offsets 0 to 9223372036854775807"},
        {"{" ENTRY("U", "U8", "[99223372036854775807]", "[0,8]") "}", 8,
         "x: the header is not valid JSON, near byte 56"},
        {"{" ENTRY("U", "F64", "[1]", "[8,0]") "}", 8,
         "x: tensor 'U' has impossible offsets 8 to 0"},
        {"{" ENTRY("U", "F64", "[1]", "[-8,0]") "}", 8,
         "x: tensor 'U' has impossible offsets -8 to 0"},
        {"{" ENTRY("U", "F64", "[1]", "[0,16]") "}", 16,
         "x: tensor 'U' has 16 bytes, its shape and dtype need 8"},
        {"{" ENTRY("U", "F64", "[1]", "[0]") "}", 8,
         "x: tensor 'U' has no data_offsets [begin, end]"},
        {"{" ENTRY("U", "F64", "[1]", "[0,8.0]") "}", 8,
         "x: tensor 'U' has no data_offsets [begin, end]"},
        {"{" ENTRY("U", "F64", "[1]", "7") "}", 8,
         "x: tensor 'U' has no data_offsets [begin, end]"},
        {"{" ENTRY("U", "F64", "[1.0]", "[0,8]") "}", 8,
         "x: tensor 'U' has a shape that is not whole numbers"},
        {"{" ENTRY("U", "F64", "null", "[0,8]") "}", 8, "x: tensor 'U' has no shape"},
        {"{" ENTRY("U", "F64", "[1,1,1,1,1]", "[0,8]") "}", 8,
         "x: tensor 'U' has 5 dimensions, expected 0 to 4"},
        {"{" ENTRY("U", "BF16", "[4]", "[0,8]") "}", 8,
         "x: tensor 'U' has dtype 'BF16', expected F64, F32, I64, I32 or U8"},
        {"{" ENTRY("U", "\\u001b[2J", "[4]", "[0,8]") "}", 8,
         "x: tensor 'U' has dtype '(not printable)', expected F64, F32, I64, I32 or U8"},
        {"{\"U\":{\"shape\":[],\"data_offsets\":[0,8]}}", 8, "x: tensor 'U' has no dtype"},
        {"{\"U\":7}", 0, "x: tensor 'U' is not an object"},
        {"{" ENTRY("U", "F64", "[]", "[0,8]") "," ENTRY("U", "F64", "[]", "[8,16]") "}", 16,
         "x: the header has a duplicate key near byte 64"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0,
         "x: the header has a duplicate key near byte 36"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "x: metadata 'a' is not a text"},
        {"{\"__metadata__\":[]}", 0, "x: the metadata are not an object"},
        {"{\"U\":", 0, "x: the header is not valid JSON, near byte 13"},
        {"{} x", 0, "x: the header is not valid JSON, near byte 12"},
        {"{\"\\u0000\":{}}", 0, "x: the header is not valid JSON, near byte 17"},
        {"{\"\xff\":{}}", 0, "x: the header is not valid JSON, near byte 10"},
        {"[]", 0, "x is not a safetensors file"},
        {" {}", 0, "x is not a safetensors file"},
        {"", 0, "x is not a safetensors file"},
        {"", 20, "x is not a safetensors file"},
    };
    kn_ctx *ctx = kn_ctx_new();
    unsigned char bytes[512];
    kn_st_file *file;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = make(cases[i].header, cases[i].data, bytes);
        assert_sentence(ctx, kn_st_parse(ctx, "x", bytes, (ptrdiff_t)n, &file), KN_ERR_FORMAT,
                        cases[i].sentence);
        assert_null(file);
    }
    size_t n = make("{}", 0, bytes);
    bytes[4] = 1; /* 4 GB of header */
    assert_sentence(ctx, kn_st_parse(ctx, "x", bytes, (ptrdiff_t)n, &file), KN_ERR_FORMAT,
                    "x is not a safetensors file");
    n = make("{}", 0, bytes);
    bytes[1] = 1;
    assert_sentence(
        ctx, kn_st_parse(ctx, "x", bytes, (ptrdiff_t)n, &file), KN_ERR_FORMAT,
        "x: the file ends after 10 bytes, within a header of 258 bytes; get the file again");
    assert_sentence(ctx, kn_st_open(ctx, "none", &file), KN_ERR_IO,
                    "none cannot be opened: no such file or directory");
    assert_sentence(ctx, kn_st_open(ctx, ".", &file), KN_ERR_IO,
                    ". is a folder; give the name of a file");
    scratch_text("empty", "");
    assert_sentence(ctx, kn_st_open(ctx, "empty", &file), KN_ERR_FORMAT,
                    "empty is not a safetensors file; 0 bytes are too few for one");
    scratch_text("table.csv", "age,sex\n20,F\n");
    assert_sentence(ctx, kn_st_open(ctx, "table.csv", &file), KN_ERR_FORMAT,
                    "table.csv is not a safetensors file");
    assert_null(file);
    kn_ctx_free(ctx);
}

/* Overwrites the file in place, as a copy over it does, with its first n bytes. */
static void rewrite(const char *path, size_t n)
{
    unsigned char bytes[ROOM];
    FILE *f = fopen(path, "rb+");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, n, f), n);
    fclose(f);
    usleep(20000); /* the time of a change has the resolution of the system clock's tick */
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void a_file_that_changes_while_it_is_open_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_st_file *file;
    uint64_t hash;
    double *d;
    assert_ok(ctx, write_all(ctx, "changing.st"));
    assert_ok(ctx, kn_st_open(ctx, "changing.st", &file));
    assert_ok(ctx, kn_st_hash(ctx, file, &hash));
    assert_ok(ctx, kn_st_check_unchanged(ctx, file));
    struct stat s;
    assert_int_equal(stat("changing.st", &s), 0);
    rewrite("changing.st", (size_t)s.st_size);
    assert_ok(ctx, kn_st_read_doubles(ctx, file, "doubles", -1, &d, NULL));
    kn_free(d);
    assert_sentence(ctx, kn_st_check_unchanged(ctx, file), KN_ERR_IO,
                    "changing.st changed while it was read; run again when it is complete");
    rewrite("changing.st", 40);
    assert_sentence(ctx, kn_st_read_doubles(ctx, file, "doubles", -1, &d, NULL), KN_ERR_IO,
                    "changing.st became shorter while it was read; run again when it is complete");
    assert_null(d);
    assert_sentence(ctx, kn_st_hash(ctx, file, &hash), KN_ERR_IO,
                    "changing.st became shorter while it was read; run again when it is complete");
    kn_st_close(file);
    kn_ctx_free(ctx);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *bytes = malloc(ROOM);
    kn_st_file *file;
    assert_ok(ctx, write_all(ctx, "all.safetensors"));
    ptrdiff_t n = (ptrdiff_t)scratch_read("all.safetensors", bytes, ROOM);
    for (ptrdiff_t cut = 0; cut < n; cut++) {
        unsigned char *part =
            malloc(cut ? (size_t)cut : 1); /* so that the sanitizer sees its end */
        memcpy(part, bytes, (size_t)cut);
        assert_int_equal(kn_st_parse(ctx, "x", part, cut, &file), KN_ERR_FORMAT);
        assert_null(file);
        free(part);
    }
    scratch_file("cut.safetensors", bytes, (size_t)n - 1);
    char sentence[80];
    snprintf(sentence, sizeof sentence, "cut.safetensors: the file ends after %td of %td bytes",
             n - 1, n);
    assert_sentence(ctx, kn_st_open(ctx, "cut.safetensors", &file), KN_ERR_FORMAT, sentence);
    free(bytes);
    kn_ctx_free(ctx);
}

static void what_is_not_as_expected_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char bytes[512];
    kn_st_file *file;
    kn_mat M;
    double *d;
    int64_t *k;
    char *text;
    const char *value;
    size_t n = make(
        "{" ENTRY("U", "F64", "[1,2]", "[0,16]") "," ENTRY("k", "I32", "[2]", "[16,24]") "," ENTRY(
            "t", "U8", "[2,1]", "[24,26]") "," ENTRY("z", "U8", "[2]",
                                                     "[26,28]") "," ENTRY("wide", "F64",
                                                                          "[0,4611686018427387904]",
                                                                          "[28,28]") "}",
        28, bytes);
    bytes[n - 1] = 0;
    assert_ok(ctx, kn_st_parse(ctx, "x", bytes, (ptrdiff_t)n, &file));
    assert_sentence(ctx, kn_st_read_mat(ctx, file, "C", -1, -1, &M), KN_ERR_FORMAT,
                    "x: tensor 'C' is missing");
    assert_sentence(ctx, kn_st_need_metadata(ctx, file, "format", &value), KN_ERR_FORMAT,
                    "x: metadata 'format' is missing");
    assert_sentence(ctx, kn_st_read_mat(ctx, file, "k", -1, -1, &M), KN_ERR_FORMAT,
                    "x: tensor 'k' is I32, expected F64 or F32");
    assert_sentence(ctx, kn_st_read_mat(ctx, file, "U", 2, -1, &M), KN_ERR_FORMAT,
                    "x: tensor 'U' is 1 x 2, expected 2 x any");
    assert_sentence(ctx, kn_st_read_mat(ctx, file, "U", 1, 3, &M), KN_ERR_FORMAT,
                    "x: tensor 'U' is 1 x 2, expected 1 x 3");
    assert_sentence(ctx, kn_st_read_doubles(ctx, file, "U", 3, &d, NULL), KN_ERR_FORMAT,
                    "x: tensor 'U' has 2 values, expected 3");
    assert_sentence(ctx, kn_st_read_doubles(ctx, file, "k", 3, &d, NULL), KN_ERR_FORMAT,
                    "x: tensor 'k' is I32, expected F64 or F32");
    assert_sentence(ctx, kn_st_read_i64(ctx, file, "U", 3, &k, NULL), KN_ERR_FORMAT,
                    "x: tensor 'U' is F64, expected I64, I32 or U8");
    assert_sentence(ctx, kn_st_read_i64(ctx, file, "k", 3, &k, NULL), KN_ERR_FORMAT,
                    "x: tensor 'k' has 2 values, expected 3");
    assert_sentence(ctx, kn_st_read_text(ctx, file, "k", &text), KN_ERR_FORMAT,
                    "x: tensor 'k' is I32, expected U8");
    assert_sentence(ctx, kn_st_read_text(ctx, file, "t", &text), KN_ERR_FORMAT,
                    "x: tensor 't' has 2 dimensions, expected 1");
    assert_sentence(ctx, kn_st_read_text(ctx, file, "z", &text), KN_ERR_FORMAT,
                    "x: tensor 'z' is not a text, because it contains a 0 byte");
    assert_ok(ctx, kn_st_read_mat(ctx, file, "wide", 0, -1, &M));
    kn_mat_clear(&M);
    assert_null(text);
    assert_null(k);
    assert_null(d);
    kn_st_close(file);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Every allocation may fail: a sentence each time, and nothing leaks (the sanitizer looks). */
FAILING_CASE(io_safetensors, scratch_enter, scratch_leave)
{
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *bytes = malloc(ROOM);
    scratch_empty();
    for (long k = 1;; k++) {
        kn_fail_allocation(ctx, k);
        kn_status s = write_all(ctx, "all.safetensors");
        kn_fail_allocation(ctx, 0);
        if (s == KN_OK) {
            assert_true(k > 15);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
        assert_int_equal(scratch_count(), 0);
    }
    ptrdiff_t n = (ptrdiff_t)scratch_read("all.safetensors", bytes + 1, ROOM - 1);
    for (long k = 1;; k++) {
        kn_st_file *file = NULL, *shifted = NULL;
        kn_mat M = {0};
        double *d = NULL;
        int64_t *i = NULL;
        char *text = NULL;
        kn_fail_allocation(ctx, k);
        kn_status s = kn_st_open(ctx, "all.safetensors", &file);
        if (s == KN_OK)
            s = kn_st_parse(ctx, "x", bytes + 1, n, &shifted);
        if (s == KN_OK)
            s = kn_st_read_mat(ctx, file, "M", -1, -1, &M);
        if (s == KN_OK)
            s = kn_st_read_doubles(ctx, file, "M", -1, &d, NULL);
        if (s == KN_OK)
            s = kn_st_read_i64(ctx, file, "ints", -1, &i, NULL);
        if (s == KN_OK)
            s = kn_st_read_text(ctx, file, "text", &text);
        kn_fail_allocation(ctx, 0);
        kn_free(text);
        kn_free(i);
        kn_free(d);
        kn_mat_clear(&M);
        kn_st_close(shifted);
        kn_st_close(file);
        if (s == KN_OK) {
            assert_true(k > 15);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
    }
    free(bytes);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_safetensors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(unaligned_arrays_read_the_same),
        cmocka_unit_test(the_same_calls_give_the_same_bytes),
        cmocka_unit_test(a_file_without_tensors_is_one),
        cmocka_unit_test(large_matrices_are_written_by_blocks),
        cmocka_unit_test(a_bad_request_is_a_sentence_and_leaves_nothing),
        cmocka_unit_test(a_bad_file_is_a_sentence),
        cmocka_unit_test(a_file_that_changes_while_it_is_open_is_a_sentence),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_not_as_expected_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
