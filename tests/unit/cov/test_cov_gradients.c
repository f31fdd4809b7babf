/* Covariances as lists of terms: gradients, the search and a whole fit with a kernel that the
 * library has never heard of. */
#include "support/own_kernels.h"

#include "gp/methods/fit_steps.h"
#include "gp/predict/predict.h"
#include "gp/search/internal.h"

/* ---- the engine's gradient --------------------------------------------------------------------
 */

/* The pivots of the first evaluation stay, far from enough as they may be. */
static kn_status nested(kn_engine *e, const double *x, double *lml, double *g)
{
    kn_cov_point at = kn_cov_point_at(&e->cov, x);
    e->low.tol = e->low.n_set > 0 ? 1 : 0;
    return kn_engine_nested(ctx, e, &at, lml, g);
}

/* LML of iso noise at x with the inside parameters held. */
static double fixed_inside(kn_engine *e, const double *x, const double *inside)
{
    double r0[KN_COV_THETA] = {0}, theta[KN_THETA], lml;
    kn_cov_point at = kn_cov_point_at(&e->cov, x);
    kn_cov_theta(&e->cov, &at, r0);
    kn_spec_join(&e->spec, r0, inside, theta);
    assert_ok(ctx, kn_engine_joint(ctx, e, theta, &lml, NULL));
    return lml;
}

/* The derivative of a maximum is the one with the inside parameters held at it. The profiles of
 * structured noise are exact, and differences of the maximum itself are taken. The search inside
 * iso noise ends within rounding of the maximal likelihood, which leaves its parameters off by the
 * root of that over the curvature, and with few samples there is next to no curvature: so they are
 * held for the differences, and the inner maximum is checked by its value. */
static void check_gradient(setting s)
{
    ref_term ref[MAX_TERMS];
    kn_spec spec = spec_of(s, ref);
    ptrdiff_t P = s.N < 4 ? 1 : 3;
    kn_mat X = ref_normal(&rng, s.N, F), Z = ref_normal(&rng, s.N, P);
    double x[KN_COV_OUTER], g[KN_COV_OUTER], none[KN_COV_OUTER], inside[KN_THETA], lml, h = 1e-3;
    kn_engine e;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, P + 2, 1.5, 10, &e));
    e.inside_tolerance = 1e-13;
    for (int i = 0; i < kn_cov_n_outer(&e.cov); i++)
        x[i] = 0.4 * kn_rng_normal(&rng);
    assert_ok(ctx, nested(&e, x, &lml, g));
    assert_ok(ctx, nested(&e, x, &lml, g));
    memcpy(inside, e.inside, sizeof inside);
    if (s.iso)
        assert_close(fixed_inside(&e, x, inside), lml, 1e-10);
    for (int i = 0; i < kn_cov_n_outer(&e.cov); i++) {
        double t = x[i], slope = NAN, change = INFINITY;
        /* Five points, of fourth order in the step. The step is halved until the slope stays:
         * within a large one the profile of a component may leave the bound of its range, or turn
         * to another maximum, where the likelihood has a kink. */
        for (double step = h; !(change <= 1e-7 * fmax(fabs(slope), 1)) && step > 1e-6; step /= 2) {
            double f[4], before = slope;
            for (int k = 0; k < 4; k++) {
                x[i] = t + step * (k < 2 ? k - 2 : k - 1);
                if (s.iso)
                    f[k] = fixed_inside(&e, x, inside);
                else
                    assert_ok(ctx, nested(&e, x, &f[k], none));
            }
            slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step);
            change = fabs(slope - before);
        }
        x[i] = t;
        assert_close(g[i], slope, 1e-6);
    }
    for (int k = 0; s.iso && k < 20; k++) { /* nothing near is better */
        double near[KN_THETA];
        for (int i = 0; i < e.iso.n_inside; i++)
            near[i] =
                fmin(fmax(inside[i] + 0.1 * kn_rng_normal(&rng), kn_theta_lower), kn_theta_upper);
        assert_true(fixed_inside(&e, x, near) <= lml + 1e-8 * (1 + fabs(lml)));
    }
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

static void nested_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++)
        for (int iso = 0; iso < 2; iso++)
            for (int s = 0; s < N_SIZES; s++)
                for (int n = 1; n <= MAX_TERMS; n++)
                    check_gradient((setting){SIZES[s], n, iso, low});
}

static void joint_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++)
        for (int n = 1; n <= MAX_TERMS; n++) {
            setting s = {20, n, true, low};
            ref_term ref[MAX_TERMS];
            kn_spec spec = spec_of(s, ref);
            kn_mat X = ref_normal(&rng, s.N, F), Z = ref_normal(&rng, s.N, 3);
            double theta[KN_THETA], g[KN_THETA], lml, h = 1e-4;
            kn_engine e;
            assert_ok(ctx, engine_over(ctx, &spec, X, Z, 5, 1.5, 10, &e));
            for (int i = 0; i < kn_spec_n_theta(&spec); i++)
                theta[i] = 0.3 * kn_rng_normal(&rng) - 0.4;
            e.low.tol = 0;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            e.low.tol = 1;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            for (int i = 0; i < kn_spec_n_theta(&spec); i++) {
                double f[4], t = theta[i];
                for (int k = 0; k < 4; k++) {
                    theta[i] = t + h * (k < 2 ? k - 2 : k - 1);
                    assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &f[k], NULL));
                }
                theta[i] = t;
                assert_close(g[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
            }
            kn_engine_clear(&e);
            free(X.data), free(Z.data);
        }
}

static void all_pivots_are_the_dense_likelihood(void **state)
{
    (void)state;
    for (int n = 1; n <= MAX_TERMS; n++) {
        ref_term ref[MAX_TERMS];
        kn_spec spec = spec_of((setting){30, n, false, false}, ref);
        kn_mat X = ref_normal(&rng, 30, F), Z = ref_normal(&rng, 30, 3);
        double x[KN_COV_OUTER], lml[2], g[2][KN_COV_OUTER];
        for (int i = 0; i < KN_COV_OUTER; i++)
            x[i] = 0.4 * kn_rng_normal(&rng);
        for (int dense = 0; dense < 2; dense++) {
            kn_engine e;
            spec.rank = dense ? 0 : 30;
            assert_ok(ctx, engine_over(ctx, &spec, X, Z, 5, 2, 10, &e));
            kn_cov_point at = kn_cov_point_at(&e.cov, x);
            assert_ok(ctx, kn_engine_nested(ctx, &e, &at, &lml[dense], g[dense]));
            kn_engine_clear(&e);
        }
        assert_close(lml[0], lml[1], 1e-9);
        for (int i = 0; i < kn_cov_n_outer(&spec.sample); i++)
            assert_close(g[0][i], g[1][i], 1e-6);
        free(X.data), free(Z.data);
    }
}

/* ---- a whole fit with three terms -------------------------------------------------------------
 */

enum { N = 80, NS = 9, P = 3 };

/* Components that follow the third term's columns, smoothly, under noise. */
static kn_mat smooth(kn_mat X)
{
    kn_mat Z = ref_new(X.rows, P);
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(Z, p)[i] = 2 * sin(kn_at(X, i, 1) - kn_at(X, i, 2) + (double)p) +
                              0.5 * kn_at(X, i, 0) + 0.4 * kn_rng_normal(&rng);
    return Z;
}

/* R0 between samples, where low rank makes it so by way of the pivots: K_am K_mm^-1 K_mb */
static kn_mat oracle(const kn_decomp *R0, const ref_term *ref, kn_mat X, kn_mat A, kn_mat B)
{
    if (R0->n_pivots == 0)
        return ref_cov(A, B, ref, R0->cov.n, R0->theta);
    kn_mat M = ref_new(R0->n_pivots, F);
    kn_mat_rows(X, R0->pivot, M);
    kn_mat Kmm = ref_cov(M, M, ref, R0->cov.n, R0->theta);
    kn_mat Kmb = ref_cov(M, B, ref, R0->cov.n, R0->theta);
    kn_mat Kam = ref_cov(A, M, ref, R0->cov.n, R0->theta);
    ref_solve(Kmm, Kmb);
    kn_mat K = ref_mul(0, Kam, 0, Kmb);
    free(M.data), free(Kmm.data), free(Kmb.data), free(Kam.data);
    return K;
}

/* One component ~ N(0, c R0 + d I) by the oracle: its likelihood, and what it predicts */
static double check_component(const kn_latent *l, kn_mat Z, int p, const ref_term *ref, kn_mat Xs,
                              kn_mat mean, kn_mat var)
{
    kn_mat K = oracle(&l->cell[0].R0, ref, l->X, l->X, l->X),
           Ks = oracle(&l->cell[0].R0, ref, l->X, Xs, l->X);
    kn_mat Kss = ref_cov(Xs, Xs, ref, l->cell[0].R0.cov.n, l->cell[0].R0.theta);
    kn_mat m = ref_new(NS, 1), v = ref_new(NS, 1);
    double c = l->c[p], kss[NS];
    for (ptrdiff_t i = 0; i < N * N; i++)
        K.data[i] *= c;
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(K, i)[i] += l->d[p];
    for (ptrdiff_t i = 0; i < NS * N; i++)
        Ks.data[i] *= c;
    for (ptrdiff_t i = 0; i < NS; i++)
        kss[i] = c * kn_at(Kss, i, i);
    double lml = ref_gp(K, kn_col(Z, p), Ks, kss, m.data, v.data);
    assert_same(kn_cols(mean, p, 1), m, 1e-9);
    assert_same(kn_cols(var, p, 1), v, 1e-9);
    free(K.data), free(Ks.data), free(Kss.data), free(m.data), free(v.data);
    return lml;
}

/* Nothing is better anywhere else, the vertices included. */
static void check_maximum(const kn_spec *spec, kn_mat X, kn_mat Z, double best)
{
    kn_engine e;
    kn_box box;
    assert_ok(ctx, engine_over(ctx, spec, X, Z, P, 0, 1, &e));
    assert_ok(ctx, kn_box_new(ctx, &e.cov, &e.pairs, X, &box));
    for (int k = 0; k < 100; k++) {
        double x[KN_COV_OUTER], lml;
        for (int i = 0; i < kn_cov_n_outer(&e.cov); i++)
            x[i] = box.lower[i] + kn_rng_uniform(&rng) * (box.upper[i] - box.lower[i]);
        kn_cov_point point = kn_cov_point_at(&e.cov, x);
        for (int m = 0; k < e.cov.n && m < e.cov.n; m++)
            point.w[m] = m == k;
        assert_ok(ctx, kn_engine_nested(ctx, &e, &point, &lml, NULL));
        assert_true(lml <= best + 1e-3);
    }
    kn_engine_clear(&e);
}

/* Components follow the sine of a difference between columns 1 and 2, which the first two terms do
 * not have together. E sin(a - x_2) over x_2 is e^-1/2 sin a, and straight lines explain little of
 * the rest: these terms leave more than half of its variance 2, which is six times the noise's .16.
 * N P/2 ln(1.16/.3) is 160 nats, of which a fifth is asked for. Weights say less: a long length
 * makes se a straight line times a large weight. */
static void check_third_term(kn_mat X, kn_mat Z, ptrdiff_t rank, double lml)
{
    ref_term ref[MAX_TERMS];
    kn_spec spec = spec_of((setting){N, 2, false, false}, ref);
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = NAN, .length = NAN, .seed = 1};
    kn_search_result without;
    kn_engine e;
    spec.rank = rank;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, P, 0, 1, &e));
    assert_ok(ctx, kn_search(ctx, &e, &o, &without));
    assert_true(lml > without.lml + 32);
    kn_engine_clear(&e);
}

static void check_fit(ptrdiff_t rank)
{
    ref_term ref[MAX_TERMS];
    kn_spec spec = spec_of((setting){N, 3, false, false}, ref);
    kn_mat X = ref_normal(&rng, N, F), Xs = ref_normal(&rng, NS, F), Z = smooth(X), own;
    kn_mat mean = ref_new(NS, P), var = ref_new(NS, P);
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = NAN, .length = NAN, .seed = 1};
    kn_search_result found;
    kn_engine e;
    kn_latent latent;
    double clamped = 0, lml = 0;
    spec.rank = rank;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, P, 0, 1, &e));
    assert_ok(ctx, kn_search(ctx, &e, &o, &found));
    assert_close(found.at.w[0] + found.at.w[1] + found.at.w[2], 1, 1e-14);
    check_third_term(X, Z, rank, found.lml);
    assert_ok(ctx, kn_mat_copy(ctx, X, &own));
    assert_ok(ctx, kn_fit_latent(ctx, &own, &e, &latent));
    assert_int_equal(latent.cell[0].R0.n_pivots, rank);
    assert_ok(ctx,
              kn_latent_predict(ctx, &latent, &(kn_predict_input){.X = Xs}, mean, var, &clamped));
    for (int p = 0; p < P; p++)
        lml += check_component(&latent, Z, p, ref, Xs, mean, var);
    assert_close(found.lml, lml, 1e-9);
    if (rank == 0) { /* few pivots move with the parameters, and the likelihood jumps */
        assert_int_equal(found.stop, KN_STOP_CONVERGED);
        /* A step along a gradient g gains g^2/(2 h) nats, h the curvature, at most about N P in
         * logarithms of variances and lengths; the search ends where a step gains less than its
         * tolerance. */
        assert_true(found.projected < sqrt(2 * (N * P) * kn_search_tolerance) / N);
        check_maximum(&spec, X, Z, found.lml);
    }
    kn_latent_clear(&latent);
    kn_engine_clear(&e);
    free(X.data), free(Xs.data), free(Z.data), free(mean.data), free(var.data);
}

static void a_new_kernel_is_fitted_and_predicts_as_the_dense_oracle(void **state)
{
    (void)state;
    check_fit(0);
    check_fit(25);
}

/* One term holds all: the search ends at the vertex itself, where no coordinate gets. */
static void a_search_of_three_terms_reaches_a_vertex(void **state)
{
    (void)state;
    kn_spec spec = {0};
    kn_mat X = ref_normal(&rng, 60, 3), Z = ref_new(60, 1);
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = NAN, .length = NAN, .seed = 1};
    kn_search_result found;
    kn_engine e;
    for (int f = 0; f < 3; f++)
        assert_ok(ctx, kn_cov_add(ctx, &spec.sample, &kn_kernel_linear, f, 1));
    for (ptrdiff_t i = 0; i < 60; i++)
        Z.data[i] = 3 * kn_at(X, i, 1);
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 1, 0, 1, &e));
    assert_ok(ctx, kn_search(ctx, &e, &o, &found));
    assert_true(found.at.w[0] == 0 && found.at.w[1] == 1 && found.at.w[2] == 0);
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

TEST_PROGRAM(cov_gradients)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 42, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_gradient_matches_central_differences),
        cmocka_unit_test(joint_gradient_matches_central_differences),
        cmocka_unit_test(all_pivots_are_the_dense_likelihood),
        cmocka_unit_test(a_new_kernel_is_fitted_and_predicts_as_the_dense_oracle),
        cmocka_unit_test(a_search_of_three_terms_reaches_a_vertex),
    };
    int failed = cmocka_run_group_tests_name("cov_fit", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
