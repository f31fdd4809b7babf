/* What the benchmarks rest on: rows that cannot be true fail the program, and a timed evaluation is
 * one with a decomposition. Nothing here depends on how long anything takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evaluate.h"

/* A program whose machine does 1 GFLOP/s and moves 1 GB/s, with any number of threads. */
static bench program(bool quick)
{
    bench b = {.ctx = kn_ctx_new(), .name = "test", .quick = quick, .all = 1, .began = kn_clock()};
    for (int k = 0; k < 2; k++)
        b.dgemm[k] = b.sgemm[k] = b.memory[k] = 1;
    bench_threads(&b, 1);
    bench_table(&b, "row|share");
    return b;
}

static void a_share_of_the_machine_is_from_0_to_110_percent(void **state)
{
    (void)state;
    static const double possible[] = {0, 0.5, 99, 100, 110};
    static const double impossible[] = {-0.1, 110.1, 743, NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof possible / sizeof *possible; k++)
        assert_true(bench_share_is_possible(possible[k]));
    for (size_t k = 0; k < sizeof impossible / sizeof *impossible; k++)
        assert_false(bench_share_is_possible(impossible[k]));
}

static void rows_that_can_be_true_end_a_program_with_0(void **state)
{
    (void)state;
    bench b = program(false);
    bench_row(&b, "half|%.0f", bench_of_dgemm(&b, 1e9, 2));
    bench_row(&b, "half|%.0f", bench_of_gemm(&b, 1e9, 1e9, 4));
    bench_row(&b, "most|%.0f", bench_of_memory(&b, 9e8, 1));
    bench_row(&b, "free|%.0f", bench_cost(&b, "nothing", 0));
    assert_int_equal(b.faults, 0);
    assert_int_equal(bench_end(&b), 0);
}

/* The shares are of no machine: a flop in a second that is none, or in one before the clock's. */
static void each_row_that_cannot_be_true_is_counted_and_ends_a_program_with_1(void **state)
{
    (void)state;
    bench b = program(false);
    bench_row(&b, "more than any machine|%.0f", bench_of_dgemm(&b, 1e9, 1e-30));
    assert_int_equal(b.faults, 1);
    bench_row(&b, "negative|%.0f", bench_of_gemm(&b, 1e9, 1e9, -1));
    assert_int_equal(b.faults, 2);
    bench_row(&b, "more than any memory|%.0f", bench_of_memory(&b, 1e9, 1e-30));
    assert_int_equal(b.faults, 3);
    bench_row(&b, "a cost below 0|%.0f", bench_cost(&b, "a part", -1e-9));
    assert_int_equal(b.faults, 4);
    bench_row(&b, "no cost|%.0f", bench_cost(&b, "a part", NAN));
    assert_int_equal(b.faults, 5);
    bench_row(&b, "more than declared|%.0f", bench_at_most(&b, "memory", 2, 1.5));
    assert_int_equal(b.faults, 6);
    bench_row(&b, "nothing declared|%.0f", bench_at_most(&b, "memory", 2, NAN));
    assert_int_equal(b.faults, 7);
    bench_row(&b, "sound|1|%.0f", bench_at_most(&b, "memory", 1.5, 1.5));
    assert_int_equal(b.faults, 7);
    assert_int_equal(bench_end(&b), 1);
}

static void a_roofline_keeps_the_best_of_its_measurements(void **state)
{
    (void)state;
    bench b = program(true);
    b.dgemm[0] = 1e30;
    b.memory[0] = 0;
    b.peak = 7;
    bench_roofline(&b);
    assert_true(b.dgemm[0] == 1e30);
    assert_true(b.memory[0] > 0);
    assert_true(b.peak >= 7);
    assert_int_equal(kn_threads(b.ctx), 1);
    kn_ctx_free(b.ctx);
}

/* On this program's machine the row would be at 150 %; any real one is faster by far. */
static void a_roofline_that_a_row_exceeds_is_measured_again(void **state)
{
    (void)state;
    bench b = program(false);
    b.dgemm[0] = b.dgemm[1] = 1e-6;
    double percent = bench_of_dgemm(&b, 1.5e3, 1);
    assert_true(percent > 0 && percent < 100);
    assert_int_equal(b.again, 1);
    bench_row(&b, "above the first roofline|%.0f", percent);
    assert_int_equal(bench_end(&b), 0);
}

static void tiny_sizes_are_judged_by_costs_alone(void **state)
{
    (void)state;
    bench b = program(true);
    bench_row(&b, "more than any machine|%.0f", bench_of_dgemm(&b, 1e9, 1e-30));
    assert_int_equal(b.faults, 0);
    bench_row(&b, "a cost below 0|%.0f", bench_cost(&b, "a part", -1));
    assert_int_equal(b.faults, 1);
    assert_int_equal(bench_end(&b), 1);
}

static void a_repetition_without_its_own_decomposition_is_refused(void **state)
{
    (void)state;
    enum { POINTS = 4 };
    for (int dense = 0; dense < 2; dense++) {
        bench b = program(true);
        bench_additive a;
        kn_cov_point at[POINTS];
        bench_evaluation t;
        bench_additive_new(&b, &(bench_shape){.N = 30, .P = 2, .sites = 3, .dense = dense}, &a);
        bench_points(&a.e.cov, &a.box.middle, POINTS, at);
        assert_int_equal(bench_evaluate(&b, &a.e, at, POINTS, &t), KN_OK);
        assert_int_equal(a.e.decompositions, POINTS);
        assert_true(t.whole >= 0 && t.decompose >= 0 && t.maximise >= 0 && t.gradient >= 0);
        at[2] = at[1];
        assert_int_equal(bench_evaluate(&b, &a.e, at, POINTS, &t),
                         dense ? KN_ERR_ARGUMENT : KN_OK); /* a low rank is always made anew */
        bench_additive_clear(&a);
        kn_ctx_free(b.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_the_machine_is_from_0_to_110_percent),
        cmocka_unit_test(rows_that_can_be_true_end_a_program_with_0),
        cmocka_unit_test(each_row_that_cannot_be_true_is_counted_and_ends_a_program_with_1),
        cmocka_unit_test(a_roofline_keeps_the_best_of_its_measurements),
        cmocka_unit_test(a_roofline_that_a_row_exceeds_is_measured_again),
        cmocka_unit_test(tiny_sizes_are_judged_by_costs_alone),
        cmocka_unit_test(a_repetition_without_its_own_decomposition_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
