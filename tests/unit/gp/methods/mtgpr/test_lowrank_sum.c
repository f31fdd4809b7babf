/* The low-rank Kronecker sum: value, gradients and EM step against dense Gaussians. */
#include "data/scaling.h"
#include "support/kronsum_lows.h"

static const struct shape {
    ptrdiff_t N, T, P, Q;
    double gamma, iso, noise;
} SHAPES[] = {
    {7, 5, 1, 0, 0, 0, 1},      {4, 9, 2, 0, 0.4, 0, 1},     {6, 4, 3, 0, 0, 0.7, 1},
    {5, 6, 2, 2, 0.2, 0.5, 1},  {8, 3, 2, 2, 0, 0.3, 1},     {6, 5, 0, 2, 0.5, 0, 1},
    {6, 5, 2, 1, 0.1, 0, 1e-6}, {6, 5, 2, 1, 0.1, 0.2, 1e4}, {5, 7, 4, 2, 0, 0, 1},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static kn_lowrank_sum_point shape_point(kn_rng *rng, const struct shape *a)
{
    kn_lowrank_sum_point p = random_point(rng, a->T, a->P, a->Q);
    p.gamma = a->gamma;
    p.iso = a->iso;
    for (ptrdiff_t j = 0; j < a->T; j++)
        p.psi[j] *= a->noise;
    return p;
}

static void value_is_the_dense_gaussians(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        kn_rng rng = seeded((uint64_t)k + 1);
        sample s;
        random_sample(&rng, SHAPES[k].N, SHAPES[k].T, &s);
        kn_lowrank_sum_point p = shape_point(&rng, &SHAPES[k]);
        slopes e = evaluate(&s, p, true);
        assert_close(e.lml, dense_lml(&s, p), SHAPES[k].noise < 1 ? 1e-8 : 1e-10);
        slopes_free(e);
        point_free(p);
        sample_clear(&s);
    }
}

/* Central difference of the value in one number. */
static double difference(const sample *s, kn_lowrank_sum_point p, double *x, bool log_scale)
{
    double h = log_scale ? 1e-5 : 1e-5 * fmax(1, fabs(*x)), at = *x, f[2];
    for (int k = 0; k < 2; k++) {
        double step = k ? -h : h;
        *x = log_scale ? at * exp(step) : at + step;
        slopes e = evaluate(s, p, true);
        f[k] = e.lml;
        slopes_free(e);
    }
    *x = at;
    return (f[0] - f[1]) / (2 * h);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        if (SHAPES[k].noise != 1)
            continue;
        kn_rng rng = seeded((uint64_t)k + 40);
        sample s;
        random_sample(&rng, SHAPES[k].N, SHAPES[k].T, &s);
        kn_lowrank_sum_point p = shape_point(&rng, &SHAPES[k]);
        p.gamma += 0.1; /* away from the edge, where a difference has one side */
        p.iso += 0.1;
        slopes e = evaluate(&s, p, true);
        for (ptrdiff_t i = 0; i < SHAPES[k].T * SHAPES[k].P; i++)
            assert_close(e.g.G.data[i], difference(&s, p, &p.G.data[i], false), 1e-6);
        for (ptrdiff_t i = 0; i < SHAPES[k].T * SHAPES[k].Q; i++)
            assert_close(e.g.H.data[i], difference(&s, p, &p.H.data[i], false), 1e-6);
        for (ptrdiff_t j = 0; j < SHAPES[k].T; j++)
            assert_close(e.g.ln_psi[j], difference(&s, p, &p.psi[j], true), 1e-6);
        for (int which = 0; which < 2; which++) {
            kn_lowrank_sum_point q = p;
            double h = 1e-5, f[2], *x = which ? &q.iso : &q.gamma, at = *x;
            for (int side = 0; side < 2; side++) {
                *x = at + (side ? -h : h);
                slopes o = evaluate(&s, q, true);
                f[side] = o.lml;
                slopes_free(o);
            }
            assert_close(which ? e.g.iso : e.g.gamma, (f[0] - f[1]) / (2 * h), 1e-6);
        }
        slopes_free(e);
        point_free(p);
        sample_clear(&s);
    }
}

/* A U without its last columns, whose r is 0, says the same as the whole one. */
static void directions_outside_u_count(void **state)
{
    (void)state;
    kn_rng rng = seeded(5);
    sample s = {.X = ref_normal(&rng, 9, 2), .Y = ref_normal(&rng, 9, 6)};
    sample_decompose(&s, 0, 1); /* linear: rank 2 */
    for (int k = 0; k < 3; k++) {
        kn_lowrank_sum_point p = random_point(&rng, 6, 2, k > 0 ? 1 : 0);
        p.gamma = k == 2 ? 0.3 : 0;
        p.iso = k > 0 ? 0.4 : 0;
        for (ptrdiff_t i = 0; i < 7; i++)
            assert_true(s.R0.r[i] < 1e-12);
        slopes whole = evaluate(&s, p, k == 2);
        s.s = (kn_lowrank_sum_samples){.U = kn_cols(s.R0.U, 7, 2), .r = s.R0.r + 7};
        slopes low = evaluate(&s, p, k == 2);
        assert_close(low.lml, whole.lml, 1e-11);
        assert_same(low.g.G, whole.g.G, 1e-10);
        if (k > 0)
            assert_same(low.g.H, whole.g.H, 1e-10);
        for (ptrdiff_t j = 0; j < 6; j++)
            assert_close(low.g.ln_psi[j], whole.g.ln_psi[j], 1e-10);
        assert_close(low.g.iso, whole.g.iso, 1e-10);
        if (k == 2)
            assert_close(low.g.gamma, whole.g.gamma, 1e-10);
        s.s = (kn_lowrank_sum_samples){.U = s.R0.U, .r = s.R0.r};
        slopes_free(whole);
        slopes_free(low);
        point_free(p);
    }
    sample_clear(&s);
}

/* ---- EM
 * ------------------------------------------------------------------------------------------ */

static void em_never_lowers_the_likelihood(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int low = 0; low < 2; low++) {
            const struct shape *a = &SHAPES[k];
            kn_rng rng = seeded((uint64_t)k + 80);
            sample s = {.X = ref_normal(&rng, a->N, 2), .Y = ref_normal(&rng, a->N, a->T)};
            sample_decompose(&s, low ? 0 : 0.5, 1);
            if (low)
                s.s = (kn_lowrank_sum_samples){.U = kn_cols(s.R0.U, a->N - 2, 2),
                                               .r = s.R0.r + a->N - 2};
            kn_lowrank_sum_point p = shape_point(&rng, a);
            ptrdiff_t columns[2] = {a->P, a->Q};
            double lml, before = -INFINITY, lowest[16];
            for (ptrdiff_t j = 0; j < a->T; j++) {
                lowest[j] = 1e-3 * kn_sumsq(kn_cols(s.Y, j, 1)) / (double)a->N;
                p.psi[j] = fmax(p.psi[j], lowest[j]);
            }
            kn_lowrank_sum w;
            p.gamma = 0;
            assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
            for (int step = 0; step < 60; step++) {
                assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &p, &lml));
                assert_true(lml >= before - 1e-9 * fabs(lml));
                before = lml;
                assert_ok(ctx, kn_lowrank_sum_em(ctx, &w, lowest, &p));
                for (ptrdiff_t j = 0; j < a->T; j++)
                    assert_true(p.psi[j] >= lowest[j]);
            }
            kn_lowrank_sum_clear(&w);
            point_free(p);
            sample_clear(&s);
        }
}

/* At a fixed point of EM the gradient is zero. */
static void em_does_not_move_at_a_maximum(void **state)
{
    (void)state;
    kn_rng rng = seeded(3);
    sample s = {.X = ref_normal(&rng, 40, 2), .Y = ref_normal(&rng, 40, 4)};
    kn_lowrank_sum_point p = random_point(&rng, 4, 1, 0);
    ptrdiff_t columns[2] = {1, 0};
    double lml, lowest[4] = {1e-3, 1e-3, 1e-3, 1e-3};
    kn_lowrank_sum w;
    for (ptrdiff_t i = 0; i < 40; i++) { /* one factor, so that no response is all signal */
        double f = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < 4; j++)
            kn_col(s.Y, j)[i] += f;
    }
    sample_decompose(&s, 0.6, 1.1);
    p.iso = 0.5;
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
    for (int step = 0; step < 5000; step++) {
        assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &p, &lml));
        assert_ok(ctx, kn_lowrank_sum_em(ctx, &w, lowest, &p));
    }
    slopes e = evaluate(&s, p, false);
    for (ptrdiff_t j = 0; j < 4; j++) {
        assert_true(p.psi[j] > 1e-2);
        assert_true(fabs(e.g.G.data[j]) < 1e-6);
        assert_true(fabs(e.g.ln_psi[j]) < 1e-6);
    }
    slopes_free(e);
    kn_lowrank_sum_clear(&w);
    point_free(p);
    sample_clear(&s);
}

static void a_mean_is_taken_off(void **state)
{
    (void)state;
    kn_rng rng = seeded(9);
    sample s;
    random_sample(&rng, 8, 5, &s);
    kn_lowrank_sum_point p = random_point(&rng, 5, 2, 1), q = point_copy(p);
    double mu[5], lml[2], lowest[5] = {0};
    ptrdiff_t columns[2] = {2, 1};
    kn_lowrank_sum w[2];
    kn_scaling scaling;
    kn_mat shifted = ref_new(8, 5);
    for (ptrdiff_t j = 0; j < 5; j++) {
        mu[j] = (double)j - 1.3;
        for (ptrdiff_t i = 0; i < 8; i++)
            kn_col(shifted, j)[i] = kn_at(s.Y, i, j) + mu[j];
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(shifted), false, &scaling));
    kn_responses Y = kn_responses_of(view(shifted), &scaling);
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, true, &w[0]));
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &Y, mu, columns, true, &w[1]));
    for (int k = 0; k < 2; k++) {
        kn_lowrank_sum_point *at = k ? &q : &p;
        assert_ok(ctx, kn_lowrank_sum_value(ctx, &w[k], at, &lml[k]));
        assert_ok(ctx, kn_lowrank_sum_em(ctx, &w[k], lowest, at));
    }
    assert_close(lml[1], lml[0], 1e-12);
    assert_same(q.G, p.G, 1e-11);
    assert_same(q.H, p.H, 1e-11);
    kn_lowrank_sum_clear(&w[0]);
    kn_lowrank_sum_clear(&w[1]);
    kn_scaling_clear(&scaling);
    point_free(p);
    point_free(q);
    free(shifted.data);
    sample_clear(&s);
}

TEST_PROGRAM(mtgpr_lowrank_sum)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_the_dense_gaussians),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(directions_outside_u_count),
        cmocka_unit_test(em_never_lowers_the_likelihood),
        cmocka_unit_test(em_does_not_move_at_a_maximum),
        cmocka_unit_test(a_mean_is_taken_off),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
