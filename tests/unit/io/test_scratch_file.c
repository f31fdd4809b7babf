/* The file that takes responses for which there is no room. */
#include "support/calls.h"
#include "support/needs.h"
#include "support/scratch.h"

#include "commands/fit/fit.h"
#include "io/file/scratch_file.h"

static void rows_put_into_a_file_come_back_and_leave_no_name(void **state)
{
    (void)state;
    enum { ROWS = 37, COLS = 5000 };
    kn_ctx *ctx = kn_ctx_new();
    static float rows[ROWS * COLS];
    kn_scratch s;
    int before = scratch_count();
    for (int i = 0; i < ROWS * COLS; i++)
        rows[i] = (float)i;
    assert_ok(ctx, kn_scratch_new(ctx, ".", ROWS, COLS, KN_F32, false, &s));
    assert_int_equal(scratch_count(), before);
    kn_scratch_write_rows(ctx, &s, 0, 20, rows);
    kn_scratch_write_rows(ctx, &s, 20, ROWS - 20, rows + 20 * COLS);
    for (ptrdiff_t i = 0; i < ROWS; i++)
        for (ptrdiff_t j = 0; j < COLS; j++)
            assert_true(kn_view_at(s.view, i, j) == rows[i * COLS + j]);
    kn_view_done(ctx, s.view, 0, COLS); /* and once more from the file */
    assert_true(kn_view_at(s.view, 36, 4999) == rows[36 * COLS + 4999]);
    kn_view ordinary = kn_view_rows_f32(rows, ROWS, COLS);
    kn_view_done(ctx, ordinary, 0, COLS);
    assert_true(rows[1] == 1); /* memory that belongs to no file stays */
    kn_scratch_clear(&s);
    assert_false(kn_mmap_hint(ctx, rows));
    kn_ctx_free(ctx);
}

/* A .npy of N x T numbers that tell their place, in rows or in columns, as floats or doubles. */
static void write_array(const char *path, ptrdiff_t N, ptrdiff_t T, bool fortran, bool doubles)
{
    char header[128] = {0};
    FILE *f = fopen(path, "wb");
    int n = snprintf(header, sizeof header,
                     "{'descr': '%s', 'fortran_order': %s, 'shape': (%td, %td), }\n",
                     doubles ? "<f8" : "<f4", fortran ? "True" : "False", N, T);
    unsigned char length[2] = {(unsigned char)n, 0};
    assert_non_null(f);
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fwrite(length, 1, 2, f);
    fwrite(header, 1, (size_t)n, f);
    for (ptrdiff_t k = 0; k < N * T; k++) {
        ptrdiff_t i = fortran ? k % N : k / T, j = fortran ? k / N : k % T;
        double x = (double)(1000 * i + j);
        float y = (float)x;
        fwrite(doubles ? (void *)&x : (void *)&y, doubles ? 8 : 4, 1, f);
    }
    fclose(f);
}

static void arrays_of_every_order_are_the_same_from_a_file(void **state)
{
    (void)state;
    enum { N = 20, T = 900 };
    kn_ctx *ctx = kn_ctx_new();
    kn_options *o = options_of(
        ctx, "fit",
        "covariates=people.csv responses=y.npy missing=drop scratch=. "
        "components=2 sample_kernel=linear+se group=none calibrate=none basis_axes=given");
    kn_settings s;
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    kn_set_threads(ctx, 1);
    FILE *f = fopen("people.csv", "w");
    fputs("age\n", f);
    for (int i = 0; i < N; i++)
        fprintf(f, i == 7 ? "n/a\n" : "%d\n", 20 + i); /* row 7 is dropped */
    fclose(f);
    for (int kind = 0; kind < 4; kind++) {
        kn_data *data;
        kn_sample memory, file;
        write_array("y.npy", N, T, kind & 1, kind & 2);
        kn_problem_size shape = {.method = &kn_method_smtgpr,
                                 .N = N - 1,
                                 .T = T,
                                 .F = 1,
                                 .P = 2,
                                 .M = N - 1,
                                 .folds = 10,
                                 .top = s.top,
                                 .value = kind & 2 ? 8 : 4,
                                 .threads = 1};
        kn_command_memory room;
        assert_ok(ctx, kn_memory_policy_fit(ctx, &s, &room));
        assert_ok(ctx, kn_data_read(ctx, o, &data));
        assert_ok(ctx, kn_sample_train(ctx, data, &s, &room.policy, &memory));
        assert_null(memory.scratch.data);
        kn_set_memory(ctx, (size_t)total(shape) - 1);
        assert_ok(ctx, kn_memory_policy_fit(ctx, &s, &room));
        assert_ok(ctx, kn_sample_train(ctx, data, &s, &room.policy, &file));
        kn_set_memory(ctx, 0);
        assert_non_null(file.scratch.data);
        assert_int_equal(file.Y.type, kind & 2 ? KN_F64 : KN_F32);
        assert_int_equal(file.Y.rows, N - 1);
        for (ptrdiff_t i = 0; i < N - 1; i++)
            for (ptrdiff_t j = 0; j < T; j++) {
                assert_true(kn_view_at(file.Y, i, j) == (double)(1000 * (i + (i >= 7)) + j));
                assert_true(kn_view_at(memory.Y, i, j) == kn_view_at(file.Y, i, j));
            }
        kn_sample_clear(&memory);
        kn_sample_clear(&file);
        kn_data_free(data);
    }
    kn_options_free(o);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_scratch_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_put_into_a_file_come_back_and_leave_no_name),
        cmocka_unit_test(arrays_of_every_order_are_the_same_from_a_file),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
