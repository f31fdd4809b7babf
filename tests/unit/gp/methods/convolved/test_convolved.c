/* Convolved processes: golden numbers, dense Gaussians, limits, gradients. */
#include "support/test.h"

#include <float.h>

#include "base/random.h"
#include "gp/methods/convolved/internal.h"
#include "ref/convolved.h"

static kn_ctx *ctx;
static kn_rng rng;

static const kn_conv_form *const FORM[] = {&kn_conv_bound, &kn_conv_pitc, &kn_conv_dense};
static const ref_conv_kind KIND[] = {REF_INDUCED, REF_PITC, REF_EXACT};
enum { FORMS = 3 };

/* A problem in the library's terms and in the oracle's. */
typedef struct problem {
    kn_mat X, Y, Z, Xs;
    kn_conv c;
    kn_conv_data d;
    ref_conv ref;
} problem;

static kn_mat distances(kn_mat A, kn_mat B)
{
    kn_mat D2 = ref_new(A.rows, B.rows);
    kn_conv_distances(A, B, D2);
    return D2;
}

static void settle(problem *p)
{
    p->d =
        (kn_conv_data){p->Y, distances(p->X, p->Z), distances(p->Z, p->Z), distances(p->X, p->X)};
    p->ref = (ref_conv){p->c.S, p->c.tau, p->c.nu, p->c.s2, p->Z, p->c.jitter};
}

static void release(problem *p)
{
    free(p->X.data), free(p->Y.data), free(p->Z.data), free(p->Xs.data);
    free(p->d.fu.data), free(p->d.uu.data), free(p->d.ff.data);
    kn_conv_clear(&p->c);
}

typedef struct shape {
    ptrdiff_t N, T, Q, M, F;
} shape;

static problem draw(shape s)
{
    problem p = {.X = ref_normal(&rng, s.N, s.F),
                 .Y = ref_normal(&rng, s.N, s.T),
                 .Z = ref_normal(&rng, s.M, s.F),
                 .Xs = ref_normal(&rng, 4, s.F)};
    assert_ok(ctx, kn_conv_new(ctx, s.T, s.Q, s.M, s.F, &p.c));
    for (ptrdiff_t i = 0; i < s.T * s.Q; i++) {
        p.c.S.data[i] = kn_rng_normal(&rng);
        p.c.tau.data[i] = exp(0.5 * kn_rng_normal(&rng) - 1);
    }
    for (ptrdiff_t q = 0; q < s.Q; q++)
        p.c.nu[q] = exp(0.5 * kn_rng_normal(&rng) - 1.5);
    for (ptrdiff_t t = 0; t < s.T; t++)
        p.c.s2[t] = exp(0.3 * kn_rng_normal(&rng) - 1);
    p.c.jitter = 1e-6;
    settle(&p);
    return p;
}

static const shape SHAPES[] = {{3, 1, 1, 1, 1}, {3, 4, 1, 2, 1},  {3, 2, 2, 3, 2}, {9, 3, 2, 4, 1},
                               {6, 5, 1, 6, 3}, {12, 2, 3, 3, 4}, {1, 2, 1, 1, 1}, {5, 1, 2, 8, 2}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static double value_of(const kn_conv_form *form, const problem *p)
{
    double value;
    assert_ok(ctx, form->value(ctx, &p->c, &p->d, &value, NULL, NULL));
    return value;
}

static kn_conv gradient_of(const kn_conv_form *form, const problem *p)
{
    kn_conv g;
    double value;
    assert_ok(ctx, kn_conv_new(ctx, p->c.T, p->c.Q, p->c.M, p->c.F, &g));
    assert_ok(ctx, form->value(ctx, &p->c, &p->d, &value, &g, NULL));
    return g;
}

static void predict(const kn_conv_form *form, const problem *p, kn_mat mean, kn_mat var)
{
    kn_conv_posterior post = {0};
    double value;
    kn_conv_query who = {distances(p->Xs, p->Z), distances(p->Xs, p->X), mean, var};
    assert_ok(ctx, form->value(ctx, &p->c, &p->d, &value, NULL, &post));
    assert_ok(ctx, form->predict(ctx, &p->c, &p->d, &post, &who));
    kn_conv_posterior_clear(&post);
    free(who.fu.data), free(who.ff.data);
}

/* ---- golden numbers ---- */

static problem golden(const char *dir)
{
    problem p = {.X = golden_matrix(dir, "X"),
                 .Y = golden_matrix(dir, "Y"),
                 .Z = golden_matrix(dir, "Z"),
                 .Xs = golden_matrix(dir, "Xstar")};
    kn_mat S = golden_matrix(dir, "S"), tau = golden_matrix(dir, "tau"),
           nu = golden_matrix(dir, "nu"), s2 = golden_matrix(dir, "s2");
    assert_ok(ctx, kn_conv_new(ctx, S.rows, S.cols, p.Z.rows, p.Z.cols, &p.c));
    kn_mat_set(p.c.S, S);
    kn_mat_set(p.c.tau, tau);
    for (ptrdiff_t q = 0; q < S.cols; q++)
        p.c.nu[q] = nu.data[q];
    for (ptrdiff_t t = 0; t < S.rows; t++)
        p.c.s2[t] = s2.data[t];
    free(S.data), free(tau.data), free(nu.data), free(s2.data);
    settle(&p);
    return p;
}

static void same_as_golden(kn_mat a, const char *dir, const char *name)
{
    kn_mat b = golden_matrix(dir, name);
    kn_mat flat = kn_mat_cols(b.data, a.rows, a.cols); /* a row of a file may stand for a column */
    assert_int_equal(a.rows * a.cols, b.rows * b.cols);
    assert_same(a, flat, 1e-10);
    free(b.data);
}

static void matches_golden(const char *dir)
{
    static const char *const MEAN[] = {"mean", "pitc_mean", "exact_mean"};
    static const char *const VAR[] = {"var_model", "pitc_var_model", "exact_var_model"};
    static const char *const LML[] = {"bound", "pitc_lml", "exact_lml"};
    problem p = golden(dir);
    json_t *expected = golden_json(dir, "expected");
    for (int k = 0; k < FORMS; k++) {
        kn_mat mean = ref_new(p.Xs.rows, p.c.T), var = ref_new(p.Xs.rows, p.c.T);
        assert_close(value_of(FORM[k], &p), golden_number(expected, LML[k]), 1e-10);
        predict(FORM[k], &p, mean, var);
        same_as_golden(mean, dir, MEAN[k]);
        same_as_golden(var, dir, VAR[k]);
        free(mean.data), free(var.data);
    }
    kn_conv g = gradient_of(&kn_conv_bound, &p);
    same_as_golden(g.S, dir, "grad_S");
    same_as_golden(g.tau, dir, "grad_ln_tau");
    same_as_golden(kn_mat_cols(g.nu, p.c.Q, 1), dir, "grad_ln_nu");
    same_as_golden(kn_mat_cols(g.s2, p.c.T, 1), dir, "grad_ln_s2");
    kn_conv_clear(&g);
    /* without the term of the trace, of which the bound is short */
    double trace = 0;
    kn_mat Q = ref_conv_cov(&p.ref, REF_INDUCED, p.X, p.X);
    for (ptrdiff_t t = 0; t < p.c.T; t++)
        for (ptrdiff_t i = 0; i < p.X.rows; i++)
            trace += (kn_conv_variance(&p.c, t) - kn_at(Q, t * p.X.rows + i, t * p.X.rows + i)) /
                     p.c.s2[t];
    assert_close(value_of(&kn_conv_bound, &p) + 0.5 * trace, golden_number(expected, "dtc"), 1e-10);
    free(Q.data);
    json_decref(expected);
    release(&p);
}

static void values_gradients_and_predictions_match_golden(void **state)
{
    (void)state;
    matches_golden("models/convolved/case1");
    matches_golden("models/convolved/case2");
}

/* tau = nu for every task and an inducing input at every sample: the bound is the exact LML of a
 * linear model of coregionalisation. */
static void widths_all_alike_are_the_linear_model_of_coregionalisation(void **state)
{
    (void)state;
    static const char *const DIRS[] = {"models/convolved/case1", "models/convolved/case2"};
    for (int k = 0; k < 2; k++) {
        problem p = golden(DIRS[k]);
        json_t *expected = golden_json(DIRS[k], "expected");
        free(p.Z.data), free(p.d.fu.data), free(p.d.uu.data), free(p.d.ff.data);
        p.Z = ref_new(p.X.rows, p.X.cols);
        kn_mat_set(p.Z, p.X);
        p.c.M = p.X.rows;
        for (ptrdiff_t q = 0; q < p.c.Q; q++)
            for (ptrdiff_t t = 0; t < p.c.T; t++)
                kn_col(p.c.tau, q)[t] = p.c.nu[q];
        settle(&p);
        double lmc = golden_number(expected, "lmc_limit_lml");
        assert_close(value_of(&kn_conv_bound, &p), lmc, 1e-9);
        assert_close(value_of(&kn_conv_pitc, &p), lmc, 1e-9);
        assert_close(value_of(&kn_conv_dense, &p), lmc, 1e-10);
        json_decref(expected);
        release(&p);
    }
}

/* One latent process and one width: C = ss' beside an SE covariance of length^2 2 nu. */
static void one_latent_process_of_one_width_is_intrinsic_coregionalisation(void **state)
{
    (void)state;
    problem p = draw((shape){7, 3, 1, 2, 2});
    ptrdiff_t N = 7, T = 3;
    kn_mat C = ref_new(T, T), R = ref_new(N, N);
    for (ptrdiff_t t = 0; t < T; t++)
        kn_col(p.c.tau, 0)[t] = p.c.nu[0];
    for (ptrdiff_t t = 0; t < T * T; t++)
        C.data[t] = p.c.S.data[t % T] * p.c.S.data[t / T];
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++)
            kn_col(R, j)[i] = exp(-kn_at(p.d.ff, i, j) / (2 * 2 * p.c.nu[0]));
    kn_mat K = ref_kron(C, R);
    for (ptrdiff_t i = 0; i < N * T; i++)
        kn_col(K, i)[i] += p.c.s2[i / N];
    double lml = ref_log_density(K, p.Y.data);
    assert_close(value_of(&kn_conv_dense, &p), lml, 1e-10);
    free(C.data), free(R.data), free(K.data);
    release(&p);
}

/* tau >= nu: an SE latent of length^2 2 nu smoothed by bumps of width^2 tau - nu, by quadrature. */
static void a_wider_task_is_a_smoothed_latent_function(void **state)
{
    (void)state;
    double nu = 0.3, tau = 0.8, x = 0.4, z = -0.2, sum = 0, own = 0, step = 0.01;
    double w = tau - nu;
    /* f(x) = a int exp(-(x-s)^2/(2w)) u(s) ds, a for unit variance; cov(u(s), u(z)) =
     * exp(-(s-z)^2/(4 nu)) */
    for (double s = -12; s < 12; s += step) {
        sum += step * exp(-(x - s) * (x - s) / (2 * w)) * exp(-(s - z) * (s - z) / (4 * nu));
        for (double v = -12; v < 12; v += 0.05)
            own +=
                step * 0.05 * exp(-(s * s + v * v) / (2 * w)) * exp(-(s - v) * (s - v) / (4 * nu));
    }
    kn_conv c;
    double fu = (x - z) * (x - z), K;
    assert_ok(ctx, kn_conv_new(ctx, 1, 1, 1, 1, &c));
    c.S.data[0] = 1, c.tau.data[0] = tau, c.nu[0] = nu;
    kn_conv_cross(&c, 0, kn_mat_cols(&fu, 1, 1), kn_mat_cols(&K, 1, 1));
    assert_close(sum / sqrt(own), K, 1e-8);
    kn_conv_clear(&c);
}

/* ---- dense Gaussians ---- */

static void predictions_match_dense_gaussians(void **state)
{
    (void)state;
    for (int k = 0; k < FORMS * N_SHAPES; k++) {
        const kn_conv_form *form = FORM[k % FORMS];
        problem p = draw(SHAPES[k / FORMS]);
        kn_mat mean = ref_new(4, p.c.T), var = ref_new(4, p.c.T), m = ref_new(4, p.c.T),
               v = ref_new(4, p.c.T);
        double lml = ref_conv_gp(&p.ref, KIND[k % FORMS], p.X, p.Y, p.Xs, m, v);
        predict(form, &p, mean, var);
        assert_same(mean, m, 1e-9);
        assert_same(var, v, 1e-9);
        if (form != &kn_conv_bound)
            assert_close(value_of(form, &p), lml, 1e-9);
        free(mean.data), free(var.data), free(m.data), free(v.data);
        release(&p);
    }
}

static void the_bound_is_below_the_likelihood_and_what_is_left_is_none_negative(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        problem p = draw(SHAPES[k]);
        ptrdiff_t n = p.X.rows * p.c.T;
        assert_true(value_of(&kn_conv_bound, &p) <= value_of(&kn_conv_dense, &p));
        kn_mat K = ref_conv_cov(&p.ref, REF_EXACT, p.X, p.X);
        kn_mat Q = ref_conv_cov(&p.ref, REF_INDUCED, p.X, p.X);
        for (ptrdiff_t i = 0; i < n * n; i++)
            K.data[i] -= Q.data[i];
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(K, i)[i] += 1e-9;
        assert_true(ref_chol(K));
        free(K.data), free(Q.data);
        release(&p);
    }
}

/* All T values of a sample left out, literally. */
static void leaving_a_sample_out_matches_a_gaussian_without_it(void **state)
{
    (void)state;
    for (int k = 0; k < FORMS * N_SHAPES; k++) {
        const kn_conv_form *form = FORM[k % FORMS];
        problem p = draw(SHAPES[k / FORMS]);
        ptrdiff_t N = p.X.rows, T = p.c.T, F = p.c.F;
        kn_conv_posterior post = {0};
        kn_mat residual = ref_new(N, T), var = ref_new(N, T);
        double value, condition = ((double)kn_conv_m(&p.c) + p.c.jitter) / p.c.jitter;
        /* Both ways pass through K_uu (see check_slope). The factor 16 was set after one seed had
         * 1.9e-8 with clang and with sanitizers, where 1e-8 was allowed. */
        double tol = 1e-8 + 16 * DBL_EPSILON * condition;
        assert_ok(ctx, form->value(ctx, &p.c, &p.d, &value, NULL, &post));
        assert_ok(ctx, form->loo(ctx, &p.c, &p.d, &post, residual, var));
        for (ptrdiff_t n = 0; n < N && N > 1; n++) {
            kn_mat X = ref_new(N - 1, F), Y = ref_new(N - 1, T), x = ref_new(1, F),
                   m = ref_new(1, T), v = ref_new(1, T);
            for (ptrdiff_t i = 0; i < N - 1; i++) {
                for (ptrdiff_t f = 0; f < F; f++)
                    kn_col(X, f)[i] = kn_at(p.X, i + (i >= n), f);
                for (ptrdiff_t t = 0; t < T; t++)
                    kn_col(Y, t)[i] = kn_at(p.Y, i + (i >= n), t);
            }
            for (ptrdiff_t f = 0; f < F; f++)
                x.data[f] = kn_at(p.X, n, f);
            ref_conv_gp(&p.ref, KIND[k % FORMS], X, Y, x, m, v);
            for (ptrdiff_t t = 0; t < T; t++) {
                assert_close(kn_at(residual, n, t), kn_at(p.Y, n, t) - m.data[t], tol);
                assert_close(kn_at(var, n, t), v.data[t], tol);
            }
            free(X.data), free(Y.data), free(x.data), free(m.data), free(v.data);
        }
        kn_conv_posterior_clear(&post);
        free(residual.data), free(var.data);
        release(&p);
    }
}

/* ---- gradients ---- */

static double nudged(const kn_conv_form *form, const problem *p, double *x, bool logarithm,
                     double by)
{
    double was = *x;
    *x = logarithm ? was * exp(by) : was + by;
    double value = value_of(form, p);
    *x = was;
    return value;
}

/* A five-point formula with step H: the truncation error is of order H^4, and the rounding error of
 * the value enters 18/(12 H) times. The value comes by way of K_uu, so that its rounding error is
 * eps times the condition number of K_uu, which is at most (m + jitter)/jitter: K_uu has ones on
 * its diagonal. */
static void check_slope(const kn_conv_form *form, const problem *p, double *x, bool logarithm,
                        double g)
{
    static const double H = 1e-4;
    double near = nudged(form, p, x, logarithm, H) - nudged(form, p, x, logarithm, -H);
    double far = nudged(form, p, x, logarithm, 2 * H) - nudged(form, p, x, logarithm, -2 * H);
    double condition = ((double)kn_conv_m(&p->c) + p->c.jitter) / p->c.jitter;
    double rounding = 1.5 / H * DBL_EPSILON * condition * (1 + fabs(value_of(form, p)));
    assert_close(g, (8 * near - far) / (12 * H), 1e-8 + rounding);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    for (int k = 0; k < FORMS * N_SHAPES; k++) {
        const kn_conv_form *form = FORM[k % FORMS];
        problem p = draw(SHAPES[k / FORMS]);
        p.c.jitter = 1e-2; /* random inducing inputs may lie close together */
        kn_conv g = gradient_of(form, &p);
        for (ptrdiff_t i = 0; i < p.c.T * p.c.Q; i++) {
            check_slope(form, &p, &p.c.S.data[i], false, g.S.data[i]);
            check_slope(form, &p, &p.c.tau.data[i], true, g.tau.data[i]);
        }
        for (ptrdiff_t q = 0; q < p.c.Q; q++)
            check_slope(form, &p, &p.c.nu[q], true, g.nu[q]);
        for (ptrdiff_t t = 0; t < p.c.T; t++)
            check_slope(form, &p, &p.c.s2[t], true, g.s2[t]);
        kn_conv_clear(&g);
        release(&p);
    }
}

TEST_PROGRAM(convolved)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_gradients_and_predictions_match_golden),
        cmocka_unit_test(widths_all_alike_are_the_linear_model_of_coregionalisation),
        cmocka_unit_test(one_latent_process_of_one_width_is_intrinsic_coregionalisation),
        cmocka_unit_test(a_wider_task_is_a_smoothed_latent_function),
        cmocka_unit_test(predictions_match_dense_gaussians),
        cmocka_unit_test(the_bound_is_below_the_likelihood_and_what_is_left_is_none_negative),
        cmocka_unit_test(leaving_a_sample_out_matches_a_gaussian_without_it),
        cmocka_unit_test(gradients_match_central_differences),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
