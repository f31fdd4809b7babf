/* How much memory there is, how much a fit takes, and the file that takes responses instead. */
#include "calls.h"
#include "scratch.h"

#include <sys/stat.h>

#include "base/ram.h"
#include "gp/smtgpr.h"
#include "io/scratch.h"
#include "work/room.h"

static const kn_need_shape PLAIN = {.method = &kn_method_smtgpr,
                                    .N = 600,
                                    .T = 100000,
                                    .F = 5,
                                    .P = 25,
                                    .M = 600,
                                    .folds = 10,
                                    .top = 0.05,
                                    .value = 4,
                                    .threads = 2};

static double total(kn_need_shape s)
{
    kn_need need;
    kn_need_of(&s, &need);
    return kn_need_total(&need);
}

static void parts_are_the_matrices_that_are_alive(void **state)
{
    (void)state;
    kn_need need;
    kn_need_of(&PLAIN, &need);
    assert_close(need.responses, 4.0 * 600 * 100000, 1e-15);
    assert_close(need.basis, 8.0 * 100000 * 25, 1e-15);
    assert_string_equal(need.stage, "deviance");
    assert_close(need.reference, 2 * 4.0 * 600 * 100000 + 2.5 * 8 * 100000 * 128, 1e-15);
    assert_close(need.samples, 8.0 * 600 * 600 * 5, 1e-15);
}

static void z_beyond_a_gigabyte_are_not_kept(void **state)
{
    (void)state;
    kn_need_shape s = PLAIN;
    kn_need need;
    s.T = 500000; /* 1.2 GB of z */
    kn_need_of(&s, &need);
    assert_true(need.reference < 4.0 * 600 * 500000 + 2.5 * 8 * 500000 * 128);
}

static void more_of_anything_never_needs_less(void **state)
{
    (void)state;
    for (int method = 0; method < kn_method_count(); method++)
        for (int folds = 0; folds <= 10; folds += 10) {
            kn_need_shape s = PLAIN;
            s.method = kn_method_at(method);
            s.iso = s.method->identity;
            s.folds = folds;
            s.T = 1000;
            double before = total(s);
            s.T = 2000;
            assert_true(total(s) > before);
            before = total(s);
            s.N = s.M = 1200;
            assert_true(total(s) > before);
            before = total(s);
            s.threads = 8;
            assert_true(total(s) > before);
        }
}

static void a_low_rank_with_a_range_finder_has_no_square_of_samples(void **state)
{
    (void)state;
    kn_need_shape s = PLAIN, twice;
    s.N = 50000;
    s.M = s.range = 100;
    s.T = 10;
    s.folds = 0;
    twice = s;
    twice.N = 100000;
    assert_true(total(twice) < 2.01 * total(s));
    s.M = s.N;
    assert_true(total(s) > 6 * 8.0 * 50000 * 50000);
}

static void auto_allows_for_the_top_of_its_ladder(void **state)
{
    (void)state;
    kn_need_shape s = PLAIN, top = PLAIN;
    s.P = 0;
    top.P = 280; /* the last below 600/2 */
    assert_true(total(s) >= total(top));
}

static void responses_go_to_a_file_only_when_they_must(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    bool in_file;
    double all = total(PLAIN), rest = all - 4.0 * 600 * 100000 + kn_need_window(&PLAIN);
    kn_allowance a = {all, "{memory} allows", false};
    assert_ok(ctx, kn_place_responses(ctx, &a, &PLAIN, false, &in_file));
    assert_false(in_file);
    a.bytes = all - 1;
    assert_ok(ctx, kn_place_responses(ctx, &a, &PLAIN, false, &in_file));
    assert_true(in_file);
    a.bytes = rest;
    assert_ok(ctx, kn_place_responses(ctx, &a, &PLAIN, false, &in_file));
    assert_true(in_file);
    a.bytes = rest - 1;
    assert_refused(ctx, kn_place_responses(ctx, &a, &PLAIN, false, &in_file), KN_ERR_MEMORY,
                   "with the responses in {scratch} still");
    a = (kn_allowance){all - 1, "the limit of this process (ulimit -v) leaves", true};
    assert_refused(ctx, kn_place_responses(ctx, &a, &PLAIN, false, &in_file), KN_ERR_MEMORY,
                   "(ulimit -v) leaves"); /* a mapped file is address space too */
    kn_ctx_free(ctx);
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_least_limit_above_a_cgroup_counts(void **state)
{
    (void)state;
    static const char *const folders[] = {"root",
                                          "root/proc",
                                          "root/proc/self",
                                          "root/sys",
                                          "root/sys/fs",
                                          "root/sys/fs/cgroup",
                                          "root/sys/fs/cgroup/job",
                                          "root/sys/fs/cgroup/job/step",
                                          "root/sys/fs/cgroup/memory",
                                          "root/sys/fs/cgroup/memory/old"};
    bool limited;
    double machine = kn_ram("nowhere", &limited);
    assert_true(machine > 1e8);
    assert_false(limited);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0777);
    put_text("root/proc/self/cgroup", "0::/job/step\n");
    put_text("root/sys/fs/cgroup/job/step/memory.max", "max\n");
    assert_true(kn_ram("root", &limited) == machine);
    assert_false(limited);
    put_text("root/sys/fs/cgroup/job/memory.max", "1000000\n");
    assert_true(kn_ram("root", &limited) == 1e6);
    assert_true(limited);
    put_text("root/proc/self/cgroup", "7:cpu:/x\n4:memory:/old\n");
    put_text("root/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "2000000\n");
    assert_true(kn_ram("root", &limited) == 2e6);
    assert_int_equal(system("rm -r root"), 0);
}

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
    kn_scratch_put_rows(ctx, &s, 0, 20, rows);
    kn_scratch_put_rows(ctx, &s, 20, ROWS - 20, rows + 20 * COLS);
    for (ptrdiff_t i = 0; i < ROWS; i++)
        for (ptrdiff_t j = 0; j < COLS; j++)
            assert_true(kn_view_at(s.view, i, j) == rows[i * COLS + j]);
    kn_view_done(ctx, s.view, 0, COLS); /* and once more from the file */
    assert_true(kn_view_at(s.view, 36, 4999) == rows[36 * COLS + 4999]);
    kn_view ordinary = kn_view_rows_f32(rows, ROWS, COLS);
    kn_view_done(ctx, ordinary, 0, COLS);
    assert_true(rows[1] == 1); /* memory that is nobody's file stays */
    kn_scratch_clear(&s);
    assert_false(kn_mapped(ctx, rows));
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
    kn_options *o = options_of(ctx, "fit",
                               "covariates=people.csv responses=y.npy missing=drop scratch=. "
                               "components=2");
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
        kn_people memory, file;
        write_array("y.npy", N, T, kind & 1, kind & 2);
        kn_need_shape shape = {.method = &kn_method_smtgpr,
                               .N = N - 1,
                               .T = T,
                               .F = 1,
                               .P = 2,
                               .M = N - 1,
                               .folds = 10,
                               .top = s.top,
                               .value = kind & 2 ? 8 : 4,
                               .threads = 1};
        kn_work_room room;
        assert_ok(ctx, kn_room_to_fit(ctx, &s, &room));
        assert_ok(ctx, kn_data_read(ctx, o, &data));
        assert_ok(ctx, kn_people_train(ctx, data, &s, &room.room, &memory));
        assert_null(memory.scratch.data);
        kn_set_memory(ctx, (size_t)total(shape) - 1);
        assert_ok(ctx, kn_room_to_fit(ctx, &s, &room));
        assert_ok(ctx, kn_people_train(ctx, data, &s, &room.room, &file));
        kn_set_memory(ctx, 0);
        assert_non_null(file.scratch.data);
        assert_int_equal(file.Y.type, kind & 2 ? KN_F64 : KN_F32);
        assert_int_equal(file.Y.rows, N - 1);
        for (ptrdiff_t i = 0; i < N - 1; i++)
            for (ptrdiff_t j = 0; j < T; j++) {
                assert_true(kn_view_at(file.Y, i, j) == (double)(1000 * (i + (i >= 7)) + j));
                assert_true(kn_view_at(memory.Y, i, j) == kn_view_at(file.Y, i, j));
            }
        kn_people_clear(&memory);
        kn_people_clear(&file);
        kn_data_free(data);
    }
    kn_options_free(o);
    kn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_matrices_that_are_alive),
        cmocka_unit_test(z_beyond_a_gigabyte_are_not_kept),
        cmocka_unit_test(more_of_anything_never_needs_less),
        cmocka_unit_test(a_low_rank_with_a_range_finder_has_no_square_of_samples),
        cmocka_unit_test(auto_allows_for_the_top_of_its_ladder),
        cmocka_unit_test(responses_go_to_a_file_only_when_they_must),
        cmocka_unit_test(the_least_limit_above_a_cgroup_counts),
        cmocka_unit_test(rows_put_into_a_file_come_back_and_leave_no_name),
        cmocka_unit_test(arrays_of_every_order_are_the_same_from_a_file),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
