/* The factors of whitened noise against the fixed point one step after the other. */
#include "support/whiteneds.h"

#include "data/scaling.h"
#include "gp/methods/smtgpr/internal.h"
#include "la/la.h"

/* Ten steps of the fixed point on the T x T covariance, as METHOD writes it. */
static void slow_factors(kn_mat Y, const double *mean, ptrdiff_t P, double *psi, kn_mat B)
{
    ptrdiff_t N = Y.rows, T = Y.cols;
    kn_mat S = ref_new(T, T), W = ref_new(T, T);
    double *w = calloc((size_t)T, sizeof *w);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++)
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(S, a)[b] +=
                    (kn_at(Y, i, a) - mean[a]) * (kn_at(Y, i, b) - mean[b]) / (double)N;
    for (ptrdiff_t j = 0; j < T; j++)
        psi[j] = kn_at(S, j, j) / 2;
    for (int round = 0; round <= 10; round++) {
        for (ptrdiff_t a = 0; a < T; a++)
            for (ptrdiff_t b = 0; b < T; b++)
                kn_col(W, a)[b] = kn_at(S, b, a) / sqrt(psi[a] * psi[b]);
        assert_ok(ctx, kn_eig(ctx, W, w));
        for (ptrdiff_t j = 0; round < 10 && j < T; j++) {
            double loadings = 0;
            for (ptrdiff_t p = 0; p < P; p++)
                loadings += psi[j] * kn_at(W, j, T - 1 - p) * kn_at(W, j, T - 1 - p) *
                            fmax(w[T - 1 - p] - 1, 0);
            psi[j] = fmax(kn_at(S, j, j) - loadings, 1e-3 * kn_at(S, j, j));
        }
    }
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(B, p)[j] = kn_at(W, j, T - 1 - p);
    free(S.data), free(W.data), free(w);
}

static void check_factors(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    kn_mat X, Y, B = ref_new(T, P);
    double psi[64], mean[64];
    kn_scaling s;
    kn_factors f;
    participants(rng, N, T, &X, &Y);
    for (ptrdiff_t j = 0; j < T; j++) {
        mean[j] = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean[j] += kn_at(Y, i, j) / (double)N;
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), false, &s));
    kn_responses responses = kn_responses_of(view(Y), &s);
    assert_ok(ctx, kn_factors_new(ctx, &responses, mean, P, &f));
    slow_factors(Y, mean, P, psi, B);
    assert_int_equal(f.B.cols, P);
    assert_same(kn_mat_cols(f.psi, T, 1), kn_mat_cols(psi, T, 1), 1e-10);
    double total = 0;
    for (ptrdiff_t p = 0; p < P; p++) {
        double dot = 0;
        for (ptrdiff_t j = 0; j < T; j++)
            dot += kn_at(B, j, p) * kn_at(f.B, j, p);
        assert_close(fabs(dot), 1, 1e-9);
        for (ptrdiff_t i = 0; i < N; i++) {
            double z = 0;
            for (ptrdiff_t j = 0; j < T; j++)
                z += (kn_at(Y, i, j) - mean[j]) / sqrt(psi[j]) * kn_at(B, j, p);
            assert_close(kn_at(f.Z, i, p), dot > 0 ? z : -z, 1e-9);
        }
    }
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            total += (kn_at(Y, i, j) - mean[j]) * (kn_at(Y, i, j) - mean[j]) / psi[j];
    assert_close(f.total, total, 1e-10);
    kn_factors_clear(&f);
    kn_scaling_clear(&s);
    free(X.data), free(Y.data), free(B.data);
}

static void factors_are_ten_steps_of_the_fixed_point(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][3] = {{20, 7, 2}, {20, 7, 7}, {20, 7, 0},  {8, 15, 3},
                                         {8, 15, 6}, {8, 15, 0}, {12, 12, 4}, {30, 1, 1},
                                         {5, 40, 1}, {9, 9, 7}};
    kn_rng rng;
    ref_rng_init(&rng, 11, 1);
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++)
        check_factors(&rng, SHAPE[k][0], SHAPE[k][1], SHAPE[k][2]);
}

/* Of responses that others determine something is left outside the basis, unless it is all. */
static void as_many_factors_as_leave_noise(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 12, 1);
    kn_mat Y = ref_normal(&rng, 15, 6);
    kn_scaling s;
    kn_factors f;
    for (ptrdiff_t i = 0; i < 15; i++) {
        kn_col(Y, 4)[i] = kn_at(Y, i, 0) + kn_at(Y, i, 1);
        kn_col(Y, 5)[i] = kn_at(Y, i, 2) - kn_at(Y, i, 3);
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), true, &s));
    kn_responses responses = kn_responses_of(view(Y), &s);
    assert_ok(ctx, kn_factors_new(ctx, &responses, NULL, 5, &f));
    assert_int_equal(f.B.cols, 3);
    kn_factors_clear(&f);
    kn_scaling_clear(&s);
    free(Y.data);
}

TEST_PROGRAM(smtgpr_whitened_factors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_ten_steps_of_the_fixed_point),
        cmocka_unit_test(as_many_factors_as_leave_noise),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
