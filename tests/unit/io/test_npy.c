#include "support/scratch.h"

#include "io/file/byte_order.h"
#include "io/npy/npy.h"

/* A version 1.0 file of this literal and so many bytes of data. */
static size_t make(const char *literal, size_t data, unsigned char *out)
{
    size_t n = strlen(literal);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)n;
    out[9] = 0;
    memcpy(out + 10, literal, n);
    memset(out + 10 + n, 0, data);
    return 10 + n + data;
}

static void rows_and_columns_are_where_they_should_be(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char file[256];
    float f[6] = {1, 2, 3, 4, 5, 6};
    kn_npy npy;
    static const char *const orders[2] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{\"shape\": (2L, 3L), \"fortran_order\": True, \"descr\": \"<f4\"}"};
    for (int i = 0; i < 2; i++) {
        size_t n = make(orders[i], 24, file);
        memcpy(file + n - 24, f, 24);
        assert_ok(ctx, kn_npy_parse(ctx, "x.npy", file, (ptrdiff_t)n, &npy));
        assert_int_equal(npy.view.rows, 2);
        assert_int_equal(npy.view.cols, 3);
        assert_int_equal(npy.view.type, KN_F32);
        assert_true(kn_view_at(npy.view, 0, 1) == (i == 0 ? 2 : 3));
        assert_true(kn_view_at(npy.view, 1, 2) == 6);
        kn_npy_clear(&npy);
    }
    kn_ctx_free(ctx);
}

static void a_bad_array_is_a_sentence(void **state)
{
    (void)state;
    static const char not_plain[] =
        "x.npy: the header is not that of a plain array ('descr', 'fortran_order', 'shape')";
    static const struct {
        const char *literal;
        size_t data;
        kn_status status;
        const char *sentence;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }", 8,
         KN_ERR_FORMAT, "x.npy: the header declares 8.0 TB of data, but the file has 8 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", 8,
         KN_ERR_FORMAT,
         "x.npy: the header is not that of a plain array ('descr', 'fortran_order', 'shape')"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (900000000000000000, 9), }", 8,
         KN_ERR_FORMAT, "x.npy: the header declares 64.8 EB of data, but the file has 8 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 15, KN_ERR_FORMAT,
         "x.npy: the header declares 16 bytes of data, but the file has 15 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 17, KN_ERR_FORMAT,
         "x.npy: the header declares 16 bytes of data, but the file has 17 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4), }", 192, KN_ERR_SHAPE,
         "x.npy: the array has 3 dimensions, but must have 1 or 2"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }", 0, KN_ERR_SHAPE,
         "x.npy: an array of 0 x 4 has no values"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", 4, KN_ERR_FORMAT,
         "x.npy: the elements have type '<f2', but must be float32, float64, integers or bool"},
        {"{'descr': '|f8', 'fortran_order': False, 'shape': (2,), }", 16, KN_ERR_FORMAT,
         "x.npy: the elements have type '|f8', but must be float32, float64, integers or bool"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2), }", 16, KN_ERR_FORMAT, not_plain},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }", 16, KN_ERR_FORMAT, not_plain},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }", 16, KN_ERR_FORMAT,
         not_plain},
        {"{'descr': '<f8', 'fortran_order': False}", 16, KN_ERR_FORMAT, not_plain},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 16,
         KN_ERR_FORMAT, not_plain},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } x", 16, KN_ERR_FORMAT,
         not_plain},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", 16, KN_ERR_FORMAT,
         not_plain},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)", 16, KN_ERR_FORMAT, not_plain},
        {"", 16, KN_ERR_FORMAT, not_plain},
    };
    kn_ctx *ctx = kn_ctx_new();
    unsigned char file[512];
    kn_npy npy;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = make(cases[i].literal, cases[i].data, file);
        assert_sentence(ctx, kn_npy_parse(ctx, "x.npy", file, (ptrdiff_t)n, &npy), cases[i].status,
                        cases[i].sentence);
        assert_null(npy.data);
    }
    size_t n = make("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16, file);
    file[6] = 4;
    assert_sentence(ctx, kn_npy_parse(ctx, "x.npy", file, (ptrdiff_t)n, &npy), KN_ERR_FORMAT,
                    "x.npy has .npy version 4.0, but must have 1.0, 2.0 or 3.0");
    file[6] = 2; /* two more bytes of length, which are those of the literal */
    assert_refused(ctx, kn_npy_parse(ctx, "x.npy", file, (ptrdiff_t)n, &npy), KN_ERR_FORMAT,
                   "x.npy: the header's length of 662372409 bytes is not plausible");
    file[0] = 'x';
    assert_sentence(ctx, kn_npy_parse(ctx, "x.npy", file, (ptrdiff_t)n, &npy), KN_ERR_FORMAT,
                    "x.npy does not start as a .npy file");
    assert_sentence(ctx, kn_npy_parse(ctx, "x.npy", file, 5, &npy), KN_ERR_FORMAT,
                    "x.npy: 5 bytes are too few for a .npy file");
    assert_sentence(ctx, kn_npy_read(ctx, "none.npy", &npy), KN_ERR_IO,
                    "none.npy cannot be opened: no such file or directory");
    kn_ctx_free(ctx);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    double x[6] = {1, 2, 1.0 / 3, -0.0, NAN, INFINITY};
    kn_npy npy;
    assert_ok(ctx, kn_npy_write(ctx, "y.npy", kn_view_cols(x, 2, 3), KN_F64, NULL));
    assert_ok(ctx, kn_npy_read(ctx, "y.npy", &npy));
    for (int i = 0; i < 6; i++) {
        double y = kn_view_at(npy.view, i % 2, i / 2);
        assert_true(isnan(x[i]) ? isnan(y) : y == x[i] && signbit(y) == signbit(x[i]));
    }
    kn_npy_clear(&npy);
    assert_sentence(ctx, kn_npy_write(ctx, "y.npy", kn_view_cols(x, 2, 3), KN_F32, NULL), KN_ERR_IO,
                    "y.npy already exists; use {force} to replace it");
    kn_ctx_free(ctx);
}

static void rows_may_come_a_few_at_a_time(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    double d[12];
    char whole[512], parts[512];
    kn_npy_writer *w;
    for (int i = 0; i < 12; i++) /* the same by columns */
        d[i % 3 * 4 + i / 3] = x[i];
    assert_ok(ctx, kn_npy_write(ctx, "whole.npy", kn_view_rows_f32(x, 4, 3), KN_F32, NULL));
    assert_ok(ctx, kn_npy_writer_new(ctx, "parts.npy", 4, 3, KN_F32, NULL, &w));
    assert_ok(ctx, kn_npy_writer_rows(ctx, w, kn_view_rows_f32(x, 1, 3)));
    assert_sentence(ctx, kn_npy_writer_commit(ctx, w), KN_ERR_ARGUMENT,
                    "parts.npy: 3 rows are missing");
    assert_sentence(ctx, kn_npy_writer_rows(ctx, w, kn_view_rows_f32(x, 4, 3)), KN_ERR_ARGUMENT,
                    "parts.npy: more data than were announced");
    assert_ok(ctx, kn_npy_writer_rows(ctx, w, (kn_view){d + 1, KN_F64, 3, 3, 1, 4}));
    assert_ok(ctx, kn_npy_writer_commit(ctx, w));
    kn_npy_writer_free(w);
    size_t n = scratch_read("whole.npy", whole, sizeof whole);
    assert_int_equal(scratch_read("parts.npy", parts, sizeof parts), n);
    assert_memory_equal(whole, parts, n);
    kn_ctx_free(ctx);
}

enum { MANY = 1200 * 1000 }; /* elements: several blocks of any type */

/* MANY rows of one column, or the other way round, of the values i % 30000 - 15000. */
static void write_many(const char *descr, bool fortran, bool column)
{
    char literal[128];
    int n = snprintf(literal, sizeof literal,
                     "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }", descr,
                     fortran ? "True" : "False", column ? MANY : 1, column ? 1 : MANY);
    int size = descr[2] - '0';
    unsigned char *file = malloc((size_t)(10 + n) + (size_t)MANY * (size_t)size);
    size_t at = make(literal, 0, file);
    for (int i = 0; i < MANY; i++, at += (size_t)size) {
        bool big = descr[0] == '>';
        int x = i % 30000 - 15000;
        if (descr[1] == 'i')
            kn_store16(file + at, (uint16_t)(int16_t)x, big != KN_BIG_ENDIAN);
        else if (size == 4)
            kn_store_f32(file + at, (float)x, big != KN_BIG_ENDIAN);
        else
            kn_store_f64(file + at, x, big != KN_BIG_ENDIAN);
    }
    scratch_file("many.npy", file, at);
    free(file);
}

static void large_arrays_are_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    static const char *const types[] = {"<f4", ">f4", "<f8", ">f8", "<i2", ">i2"};
    kn_ctx *ctx = kn_ctx_new();
    for (int k = 0; k < 6; k++) {
        write_many(types[k], k % 2, k % 3);
        for (int threads = 1; threads <= 3; threads++) {
            kn_npy npy;
            kn_set_threads(ctx, threads);
            assert_ok(ctx, kn_npy_read(ctx, "many.npy", &npy));
            assert_int_equal(npy.view.rows * npy.view.cols, MANY);
            assert_int_equal(npy.view.type, k < 2 ? KN_F32 : KN_F64);
            for (ptrdiff_t i = 0; i < MANY; i++) {
                bool column = k % 3;
                double x = kn_view_at(npy.view, column ? i : 0, column ? 0 : i);
                if (x != (double)(i % 30000 - 15000))
                    fail_msg("%s: element %td is %g on %d threads", types[k], i, x, threads);
            }
            kn_npy_clear(&npy);
        }
    }
    kn_ctx_free(ctx);
}

static void a_file_that_is_cut_while_it_is_read_is_a_sentence(void **state)
{
    (void)state;
    static const char *const types[] = {"<f4", ">f4"};
    kn_ctx *ctx = kn_ctx_new();
    float *out = malloc(MANY * sizeof *out);
    for (int k = 0; k < 2; k++)
        for (int threads = 1; threads <= 2; threads++) {
            kn_npy_file file;
            kn_set_threads(ctx, threads);
            write_many(types[k], false, false);
            assert_ok(ctx, kn_npy_open(ctx, "many.npy", &file));
            assert_int_equal(truncate("many.npy", 2 * MANY), 0);
            assert_sentence(
                ctx, kn_npy_elements(ctx, &file, 0, MANY, out), KN_ERR_IO,
                "many.npy became shorter while it was read; run again when it is complete");
            kn_npy_close(&file);
        }
    free(out);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_npy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_columns_are_where_they_should_be),
        cmocka_unit_test(a_bad_array_is_a_sentence),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(rows_may_come_a_few_at_a_time),
        cmocka_unit_test(large_arrays_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(a_file_that_is_cut_while_it_is_read_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
