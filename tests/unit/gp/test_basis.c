/* Responses as blocks and strips, the Gram matrix in either precision, and the principal components
 * of it. */
#include "data/scaling.h"
#include "support/failing.h"
#include "support/laid_out.h"

static void blocks_and_strips_are_the_same_in_every_layout(void **state)
{
    (void)state;
    static const ptrdiff_t SIZE[][2] = {{2, 1}, {3, 5}, {8, 256}, {9, 257}, {65, 600}};
    for (int s = 0; s < 5; s++)
        for (int layout = 0; layout < N_LAYOUTS; layout++) {
            ptrdiff_t N = SIZE[s][0], T = SIZE[s][1], rows[3] = {1, 0, N - 1};
            kn_mat values = make(N, T, 1, 1, 1, 5);
            if (T > 200) { /* one constant, one not finite: the rest no longer lie side by side */
                for (ptrdiff_t i = 0; i < N; i++)
                    kn_col(values, 100)[i] = 7;
                kn_col(values, 150)[1] = NAN;
            }
            void *memory;
            kn_scaling scaling;
            kn_view view = laid_out(values, layout, &memory);
            assert_ok(ctx, kn_scaling_new(ctx, view, true, &scaling));
            assert_int_equal(scaling.n_kept, T > 200 ? T - 2 : T);
            kn_responses all = kn_responses_of(view, &scaling);
            kn_responses some = kn_responses_rows(&all, rows, 3);
            for (int part = 0; part < 2; part++) {
                const kn_responses *Y = part ? &some : &all;
                ptrdiff_t first = Y->T > 2 ? 1 : 0, count = Y->T - first;
                kn_mat A = plain(Y, NULL), block = ref_new(Y->N, count);
                kn_mat strip = ref_new(count, Y->N), named = ref_new(Y->N, 1);
                kn_fmat narrow;
                assert_ok(ctx, kn_fmat_new(ctx, count, Y->N, &narrow));
                kn_responses_block(ctx, Y, first, block);
                kn_responses_strip(ctx, Y, first, strip);
                kn_responses_strip_f32(ctx, Y, first, narrow);
                kn_responses_columns(ctx, Y, &first, named);
                assert_same(block, kn_cols(A, first, count), 1e-14);
                for (ptrdiff_t i = 0; i < Y->N; i++)
                    for (ptrdiff_t j = 0; j < count; j++) {
                        assert_true(kn_at(strip, j, i) == kn_at(block, i, j));
                        assert_true(kn_fcol(narrow, i)[j] == (float)kn_at(block, i, j));
                        assert_true(j > 0 || kn_at(named, i, 0) == kn_at(block, i, 0));
                    }
                kn_fmat_clear(&narrow);
                free(A.data), free(block.data), free(strip.data), free(named.data);
            }
            kn_scaling_clear(&scaling);
            free(values.data), free(memory);
        }
}

static void moments_far_from_zero_keep_their_digits(void **state)
{
    (void)state;
    enum { N = 1003, T = 3 };
    kn_mat Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < N; i++) { /* far away; a ramp; an outlier first */
        kn_col(Y, 0)[i] = 1e8 + kn_rng_normal(&rng);
        kn_col(Y, 1)[i] = -1e6 + 1e3 * (double)i;
        kn_col(Y, 2)[i] = i == 0 ? 1e9 : kn_rng_normal(&rng);
    }
    kn_scaling s;
    assert_ok(ctx, kn_scaling_new(ctx, kn_view_cols(Y.data, N, T), true, &s));
    for (ptrdiff_t j = 0; j < T; j++) {
        long double mean = 0, S = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += kn_at(Y, i, j) / (long double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            S += (kn_at(Y, i, j) - mean) * (kn_at(Y, i, j) - mean) / (long double)N;
        assert_close(s.mean[j] / (double)mean, 1, 1e-14);
        assert_close(s.sd[j] / (double)sqrtl(S), 1,
                     j == 0 ? 1e-8 : 1e-12); /* 1e8 eps: the data's */
    }
    kn_scaling_clear(&s);
    free(Y.data);
}

/* ---- the Gram matrix ----------------------------------------------------------------------- */

static void a_float32_gram_is_good_to_1e_7_of_its_diagonal(void **state)
{
    (void)state;
    data d = data_of(make(40, 50000, 5, .8, 1, 100), true);
    data_open(&d);
    kn_gram wide, narrow;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F64, &wide));
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &narrow));
    for (ptrdiff_t i = 0; i < 40; i++) {
        for (ptrdiff_t j = 0; j < 40; j++)
            assert_true(fabs(kn_at(narrow.G, i, j) - kn_at(wide.G, i, j)) <=
                        1e-7 * sqrt(kn_at(wide.G, i, i) * kn_at(wide.G, j, j)));
        assert_true(fabs(narrow.s2[i] - wide.s2[i]) <= narrow.noise);
    }
    assert_true(narrow.noise > wide.noise);
    assert_int_equal(narrow.rank, 39);
    assert_int_equal(wide.rank, 39);
    kn_gram_clear(&wide), kn_gram_clear(&narrow);
    data_free(&d);
}

static void a_float32_gram_does_not_take_its_rounding_for_components(void **state)
{
    (void)state;
    data d = data_of(make(150, 3000, 4, .7, 0, 0), false);
    data_open(&d);
    kn_gram gram;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &gram));
    assert_int_equal(gram.rank, 4);
    kn_gram_clear(&gram);
    data_free(&d);
}

static void only_long_work_on_float32_is_done_in_float32(void **state)
{
    (void)state;
    kn_responses Y = {.Y = {.type = KN_F32}, .N = 600, .T = 5438};
    assert_int_equal(kn_gram_precision(&Y), KN_F64);
    Y.N = 2000, Y.T = 200000;
    assert_int_equal(kn_gram_precision(&Y), KN_F32);
    Y.Y.type = KN_F64;
    assert_int_equal(kn_gram_precision(&Y), KN_F64);
}

static void the_basis_of_a_float32_gram_is_exact_in_double(void **state)
{
    (void)state;
    data d = data_of(make(60, 2500, 8, .7, .3, 10), true);
    data_open(&d);
    kn_gram wide, narrow;
    kn_basis exact, b;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F64, &wide));
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &narrow));
    assert_ok(ctx, kn_basis_pca(ctx, &d.Y, &wide, 12, &exact));
    assert_ok(ctx, kn_basis_pca(ctx, &d.Y, &narrow, 12, &b));
    kn_mat A = plain(&d.Y, NULL);
    check_basis(&b, A);
    check_basis(&exact, A);
    assert_true(outside(exact.B, 8, b.B) < 1e-5);
    for (ptrdiff_t p = 0; p < 12; p++)
        assert_close(kn_sumsq(kn_cols(b.Z, p, 1)) / wide.s2[p], 1, 1e-9);
    free(A.data);
    kn_basis_clear(&b), kn_basis_clear(&exact);
    kn_gram_clear(&wide), kn_gram_clear(&narrow);
    data_free(&d);
}

static void held_out_samples_are_projected_with_the_mean_of_the_others(void **state)
{
    (void)state;
    enum { T = 300 };
    data d = data_of(make(60, T, 6, .6, .3, 4), true);
    data_open(&d);
    ptrdiff_t train[40], test[20];
    double mean[T];
    for (ptrdiff_t i = 0; i < 60; i++)
        *(i < 40 ? &train[i] : &test[i - 40]) = i;
    kn_responses tr = kn_responses_rows(&d.Y, train, 40), te = kn_responses_rows(&d.Y, test, 20);
    kn_range_options o = {.centre = true, .passes = KN_RANGE_PASSES, .seed = 3, .mean = mean};
    kn_range_info info;
    kn_basis b, held_out = {0};
    assert_ok(ctx, kn_basis_range(ctx, &tr, 4, &o, &b, &info));
    held_out.B = b.B;
    held_out.Z = ref_new(20, 4);
    assert_ok(ctx, kn_basis_project(ctx, &te, mean, &held_out));
    kn_mat A = plain(&te, mean), Z = ref_mul(0, A, 0, b.B);
    assert_same(held_out.Z, Z, 1e-12);
    assert_close(held_out.total / kn_sumsq(A), 1, 1e-12);
    free(A.data), free(Z.data), free(held_out.Z.data);
    kn_basis_clear(&b);
    data_free(&d);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(gp_basis, setup, teardown)
{
    data d = data_of(make(20, 60, 3, .5, .3, 0), true);
    data_open(&d);
    kn_range_options o = {.centre = true, .passes = 1, .seed = 3};
    kn_range_info info;
    kn_basis b;
    kn_gram gram;
    for (int what = 0; what < 2; what++)
        for (long k = 1;; k++) {
            assert_true(k < 200);
            kn_fail_allocation(ctx, k);
            kn_status s = what ? kn_gram_made(ctx, &d.Y, KN_F32, &gram)
                               : kn_basis_range(ctx, &d.Y, 3, &o, &b, &info);
            kn_fail_allocation(ctx, 0);
            if (s == KN_OK)
                break;
            assert_int_equal(s, KN_ERR_MEMORY);
        }
    kn_gram_clear(&gram);
    kn_basis_clear(&b);
    data_free(&d);
}

TEST_PROGRAM(gp_basis)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_strips_are_the_same_in_every_layout),
        cmocka_unit_test(moments_far_from_zero_keep_their_digits),
        cmocka_unit_test(a_float32_gram_is_good_to_1e_7_of_its_diagonal),
        cmocka_unit_test(a_float32_gram_does_not_take_its_rounding_for_components),
        cmocka_unit_test(only_long_work_on_float32_is_done_in_float32),
        cmocka_unit_test(the_basis_of_a_float32_gram_is_exact_in_double),
        cmocka_unit_test(held_out_samples_are_projected_with_the_mean_of_the_others),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
