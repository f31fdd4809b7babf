/* The sinh-arcsinh distribution and its fit: against tests/golden/norms, central differences, and
 * the fit made again. */
#include "support/test.h"

#include "base/random.h"
#include "norm/calibration/internal.h"
#include "norm/calibration/shash_fit.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"
#include "stats/student_t.h"

static kn_ctx *ctx;
static kn_rng rng;
static kn_shash_nodes nodes;

static void distribution_matches_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/expected", ""), *all = json_object_get(j, "sas"), *one;
    size_t k;
    assert_int_equal(json_array_size(all), 3);
    json_array_foreach(all, k, one)
    {
        double theta[2] = {golden_number(one, "a"), log(golden_number(one, "b"))};
        kn_mat z = golden_column(one, "z"), u = golden_column(one, "u");
        kn_mat nll = golden_column(one, "nll"), back = golden_column(one, "back");
        kn_shash distribution = kn_shash_at(&nodes, theta);
        assert_close(distribution.loc, golden_number(one, "m"), 1e-12);
        assert_close(distribution.sc, golden_number(one, "s"), 1e-12);
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double fast = z.data[i];
            assert_close(kn_shash_forward(&distribution, z.data[i]), u.data[i], 1e-12);
            assert_close(kn_shash_inverse(&distribution, u.data[i]), back.data[i], 1e-12);
            assert_close(kn_shash_nll(&distribution, z.data[i]), nll.data[i], 1e-12);
            kn_shash_apply(&distribution, 1, &fast);
            assert_close(fast, u.data[i], 1e-12);
        }
        free(z.data), free(u.data), free(nll.data), free(back.data);
    }
    json_decref(j);
}

static void nodes_integrate_moments_of_the_normal_distribution(void **state)
{
    (void)state;
    double moment[4] = {0};
    for (int k = 0; k < KN_SHASH_NODES; k++) {
        double u = sinh(nodes.asinh_u[k]);
        for (int p = 0; p < 4; p++)
            moment[p] += nodes.w[k] * pow(u, 4 * p);
    }
    assert_close(moment[0], 1, 1e-13);
    assert_close(moment[1], 3, 1e-13);
    assert_close(moment[2], 105, 1e-12);
    assert_close(moment[3], 10395, 1e-12);
}

static kn_shash_sums sums_at(double a, double log_b, ptrdiff_t n, const double *z)
{
    double theta[2] = {a, log_b};
    kn_shash_point at = kn_shash_point_at(&nodes, theta);
    kn_shash_sums s = {0};
    kn_shash_add(&at, n, z, &s);
    return s;
}

static void derivatives_match_central_differences(void **state)
{
    (void)state;
    static const double AT[][2] = {{0, 0},      {0, -0.1}, {0.4, -0.3}, {-0.7, 0.2},
                                   {1.5, -0.8}, {-3, 0.3}, {1.2, -1.2}};
    enum { N = 300 };
    const double h = 2e-6;
    double z[N];
    for (int i = 0; i < N; i++)
        z[i] = kn_rng_normal(&rng) * (i % 50 ? 1 : 4);
    for (size_t k = 0; k < sizeof AT / sizeof *AT; k++) {
        double a = AT[k][0], l = AT[k][1], theta[2] = {a, l}, sum = 0;
        kn_shash distribution = kn_shash_at(&nodes, theta);
        kn_shash_sums s = sums_at(a, l, N, z);
        kn_shash_sums a1 = sums_at(a + h, l, N, z), a0 = sums_at(a - h, l, N, z);
        kn_shash_sums l1 = sums_at(a, l + h, N, z), l0 = sums_at(a, l - h, N, z);
        for (int i = 0; i < N; i++)
            sum += kn_shash_nll(&distribution, z[i]);
        assert_close(s.value, sum, 1e-11);
        assert_close(s.n, N, 0);
        double g = fabs(s.gradient[0]) + fabs(s.gradient[1]) + N;
        double H = fabs(s.hessian[0]) + fabs(s.hessian[2]) + N;
        assert_true(fabs((a1.value - a0.value) / (2 * h) - s.gradient[0]) < 1e-6 * g);
        assert_true(fabs((l1.value - l0.value) / (2 * h) - s.gradient[1]) < 1e-6 * g);
        assert_true(fabs((a1.gradient[0] - a0.gradient[0]) / (2 * h) - s.hessian[0]) < 1e-6 * H);
        assert_true(fabs((l1.gradient[0] - l0.gradient[0]) / (2 * h) - s.hessian[1]) < 1e-6 * H);
        assert_true(fabs((a1.gradient[1] - a0.gradient[1]) / (2 * h) - s.hessian[1]) < 1e-6 * H);
        assert_true(fabs((l1.gradient[1] - l0.gradient[1]) / (2 * h) - s.hessian[2]) < 1e-6 * H);
    }
}

/* zt of chain.json N2b: 60 x 6. */
static kn_mat golden_zt(json_t *j)
{
    kn_mat z = golden_rows(j, "N2b.inputs.z1");
    if (json_object_get(json_object_get(json_object_get(j, "N2b"), "inputs"), "nu"))
        for (ptrdiff_t i = 0; i < z.rows * z.cols; i++)
            z.data[i] = kn_student_to_normal(z.data[i], golden_number(j, "N2b.inputs.nu"));
    return z;
}

static double T_sq_of(kn_mat z)
{
    kn_z2_moments s;
    assert_ok(ctx, kn_z2_moments_init(ctx, z.rows, &s));
    kn_z2_moments_add(&s, z);
    double T_sq = kn_effective_responses(&s);
    kn_z2_moments_clear(&s);
    return T_sq;
}

static void assert_prior(const kn_shash_prior *p, json_t *at)
{
    kn_mat mu = golden_column(at, "prior_mean"), v = golden_column(at, "prior_variance");
    for (int k = 0; k < 2; k++) {
        assert_close(p->mu[k], mu.data[k], 1e-6);
        assert_close(p->v[k] / v.data[k], 1, 1e-6);
    }
    free(mu.data), free(v.data);
}

static void assert_theta(kn_mat theta, json_t *at)
{
    kn_mat a = golden_column(at, "a"), l = golden_column(at, "ln_b");
    assert_int_equal(a.rows, theta.cols);
    for (ptrdiff_t t = 0; t < theta.cols; t++) {
        assert_close(kn_at(theta, 0, t), a.data[t], 1e-7);
        assert_close(kn_at(theta, 1, t), l.data[t], 1e-7);
    }
    free(a.data), free(l.data);
}

static void rounds_of_the_fit_match_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/chain", ""), *n2b = json_object_get(j, "N2b");
    json_t *rounds = json_object_get(n2b, "rounds");
    kn_mat zt = golden_zt(j), theta = ref_new(2, zt.cols), G = golden_column(n2b, "G");
    kn_mat m = golden_column(n2b, "m"), s = golden_column(n2b, "s"),
           nll = golden_column(n2b, "nll");
    kn_mat g = golden_rows(n2b, "gradient_nll"), first = golden_column(n2b, "z_first_person");
    double T_sq = T_sq_of(zt), information[2];
    kn_shash_prior prior = kn_shash_prior_start(), last;
    assert_close(T_sq, golden_number(n2b, "T_eff"), 1e-9);
    kn_shash_information(&nodes, zt, information);
    for (int k = 0; k < 2; k++)
        assert_close(information[k], G.data[k], 1e-6);
    for (size_t r = 0; r < 3; r++) {
        json_t *at = json_array_get(rounds, r);
        last = prior;
        for (ptrdiff_t t = 0; t < zt.cols; t++)
            memcpy(kn_col(theta, t), prior.mu, sizeof prior.mu);
        assert_ok(ctx, kn_shash_fit(ctx, &nodes, &prior, zt, theta));
        assert_theta(theta, at);
        kn_shash_prior_update(&prior, information, T_sq, theta);
        assert_prior(&prior, at);
    }
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, zt, T_sq, theta, &prior));
    assert_theta(theta, n2b);
    for (int k = 0; k < 2; k++)
        assert_close(prior.mu[k], last.mu[k], 1e-9);
    for (ptrdiff_t t = 0; t < zt.cols; t++) {
        kn_shash distribution = kn_shash_at(&nodes, kn_col(theta, t));
        kn_shash_sums at = sums_at(kn_at(theta, 0, t), kn_at(theta, 1, t), zt.rows, kn_col(zt, t));
        assert_close(distribution.loc, m.data[t], 1e-6);
        assert_close(distribution.sc, s.data[t], 1e-6);
        assert_close(at.value - (double)zt.rows * KN_LOG_2PI / 2, nll.data[t], 1e-6);
        assert_close(at.gradient[0], kn_at(g, 0, t), 1e-5);
        assert_close(at.gradient[1], kn_at(g, 1, t), 1e-5);
        assert_close(kn_shash_forward(&distribution, kn_at(zt, 0, t)), first.data[t], 1e-6);
    }
    free(zt.data), free(theta.data), free(G.data), free(m.data), free(s.data), free(nll.data);
    free(g.data), free(first.data);
    json_decref(j);
}

static void fit_of_one_response_matches_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/chain", "");
    json_t *at = json_object_get(json_object_get(j, "N2b"), "one_column_prior_only");
    kn_mat zt = golden_zt(j), one = kn_cols(zt, 0, 1);
    double theta[2], G[2];
    kn_shash_prior prior;
    assert_close(T_sq_of(one), 1, 0);
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, one, 1, kn_mat_cols(theta, 2, 1), &prior));
    assert_close(theta[0], golden_number(at, "a"), 1e-6);
    assert_close(theta[1], golden_number(at, "ln_b"), 1e-6);
    kn_shash_information(&nodes, one, G);
    kn_shash_prior_update(&prior, G, 1, kn_mat_cols(theta, 2, 1));
    assert_prior(&prior, at);
    free(zt.data);
    json_decref(j);
}

/* From z1 through both steps, and back as a centile; ln p as the sum of its parts. */
static void whole_chain_of_new_participants_matches_golden(void **state)
{
    (void)state;
    json_t *j = golden_json("norms/chain", ""), *at = json_object_get(j, "compose");
    kn_mat a = golden_column(at, "inputs.a"), l = golden_column(at, "inputs.ln_b");
    kn_mat V = golden_rows(at, "new.variance"), z1 = golden_rows(at, "new.z1");
    kn_mat zt = golden_rows(at, "new.z_student"), z = golden_rows(at, "new.z");
    kn_mat log_p = golden_rows(at, "new.ln_p");
    double nu = golden_number(at, "new.nu");
    for (ptrdiff_t t = 0; t < z.cols; t++)
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double theta[2] = {a.data[t], l.data[t]}, x = kn_at(z1, i, t);
            kn_shash distribution = kn_shash_at(&nodes, theta);
            double y = kn_student_to_normal(x, nu);
            assert_close(y, kn_at(zt, i, t), 1e-9);
            assert_close(kn_shash_forward(&distribution, y), kn_at(z, i, t), 1e-9);
            assert_close(kn_normal_to_student(kn_shash_inverse(&distribution, kn_at(z, i, t)), nu),
                         x, 1e-9);
            double density = -0.5 * log(kn_at(V, i, t)) + kn_student_log_density(x, nu) +
                             0.5 * (y * y + KN_LOG_2PI) - kn_shash_nll(&distribution, y);
            assert_close(density, kn_at(log_p, i, t), 1e-9);
        }
    free(a.data), free(l.data), free(V.data), free(z1.data), free(zt.data), free(z.data);
    free(log_p.data);
    json_decref(j);
}

/* Skewed, heavy-tailed, a few values missing. */
static kn_mat made_up(ptrdiff_t n, ptrdiff_t T)
{
    kn_mat z = ref_new(n, T);
    for (ptrdiff_t t = 0; t < T; t++) {
        double theta[2] = {0.3 * kn_rng_normal(&rng), -0.3 + 0.2 * kn_rng_normal(&rng)};
        kn_shash distribution = kn_shash_at(&nodes, theta);
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(z, t)[i] = kn_rng_uniform(&rng) < 0.1
                                  ? NAN
                                  : kn_shash_inverse(&distribution, kn_rng_normal(&rng));
    }
    return z;
}

static void fit_does_not_depend_on_the_order_of_participants_or_responses(void **state)
{
    (void)state;
    static const ptrdiff_t WIDTH[] = {1, 2, 5, 23};
    for (size_t w = 0; w < 4; w++) {
        ptrdiff_t n = 40, T = WIDTH[w];
        kn_mat z = made_up(n, T), y = ref_new(n, T), a = ref_new(2, T), b = ref_new(2, T);
        for (ptrdiff_t t = 0; t < T; t++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(y, (t + 3) % T)[(i * 7 + 5) % n] = kn_at(z, i, t);
        kn_shash_prior p, q;
        double T_sq = T_sq_of(z);
        assert_true(T_sq >= 1 && T_sq <= (double)T);
        assert_close(T_sq_of(y), T_sq, 1e-12);
        assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, z, T_sq, a, &p));
        assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, y, T_sq, b, &q));
        for (ptrdiff_t t = 0; t < T; t++)
            for (int k = 0; k < 2; k++)
                assert_close(kn_at(b, k, (t + 3) % T), kn_at(a, k, t), 1e-9);
        free(z.data), free(y.data), free(a.data), free(b.data);
    }
}

static void missing_responses_are_ignored_and_few_values_are_shrunk_to_the_prior(void **state)
{
    (void)state;
    kn_mat z = made_up(30, 5), theta = ref_new(2, 5), less = ref_new(2, 4);
    kn_shash_prior p, q;
    for (ptrdiff_t i = 0; i < 30; i++)
        kn_col(z, 4)[i] = NAN;
    assert_close(T_sq_of(z), T_sq_of(kn_cols(z, 0, 4)), 1e-14);
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, z, 3, theta, &p));
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, kn_cols(z, 0, 4), 3, less, &q));
    assert_same(kn_cols(theta, 0, 4), less, 1e-12);
    for (int k = 0; k < 2; k++) {
        assert_close(p.mu[k], q.mu[k], 1e-14);
        assert_true(kn_at(theta, k, 4) == p.mu[k]);
    }
    /* all missing; one wild value; three equal ones */
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, kn_cols(z, 4, 1), 1, kn_cols(theta, 0, 1), &p));
    assert_close(p.mu[1], kn_shash_prior_start().mu[1], 0);
    static const double FEW[][3] = {{300, NAN, NAN}, {0, 0, 0}, {-40, 2, 2}};
    for (size_t k = 0; k < 3; k++) {
        kn_mat few = {(double *)FEW[k], 3, 1, 3};
        assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, few, 1, kn_cols(theta, 0, 1), &p));
        assert_true(fabs(theta.data[0]) <= 3 && theta.data[1] >= -2 && theta.data[1] <= 0.3);
    }
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_shash_prior_fit(ctx, &nodes, z, 3, theta, &p), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
    free(z.data), free(theta.data), free(less.data);
}

/* The same minimum by a search that knows no derivative. */
static void fit_is_the_minimum_also_at_the_bounds(void **state)
{
    (void)state;
    enum { N = 40 };
    kn_shash_prior loose = {{0, 0}, {100, 100}}; /* lets theta run to its bounds */
    for (int round = 0; round < 6; round++) {
        double z[N], theta[2] = {0, -0.1}, best = INFINITY;
        for (int i = 0; i < N; i++) {
            double u = kn_rng_normal(&rng);
            z[i] = round == 0   ? u
                   : round == 1 ? (u > 0 ? 1 : -1) + 0.2 * u
                   : round < 4  ? u * u - 1
                                : u * u * u;
        }
        kn_shash_newton(&nodes, &loose, N, z, theta);
        double value = sums_at(theta[0], theta[1], N, z).value +
                       (theta[0] * theta[0] + theta[1] * theta[1]) / 200;
        for (double a = -0.02; a <= 0.02; a += 0.002)
            for (double l = -0.02; l <= 0.02; l += 0.002) {
                double x = fmin(fmax(theta[0] + a, -3), 3), y = fmin(fmax(theta[1] + l, -2), 0.3);
                best = fmin(best, sums_at(x, y, N, z).value + (x * x + y * y) / 200);
            }
        assert_true(value <= best + 1e-9);
        if (round == 1)
            assert_close(theta[1], 0.3, 0);
    }
}

static void one_step_without_a_fold_is_nearly_the_refit(void **state)
{
    (void)state;
    enum { N = 120, FOLDS = 10 };
    kn_shash_prior prior = {{0.05, -0.15}, {0.03, 0.03}};
    int fold[N];
    for (int i = 0; i < N; i++)
        fold[i] = (i * 3) % FOLDS;
    kn_mat z = made_up(N, 20);
    double left[20 * FOLDS]; /* share of the way that is left after the step */
    for (ptrdiff_t t = 0; t < z.cols; t++) {
        double theta[2] = {0, 0}, kept[N];
        ptrdiff_t n = 0;
        for (int i = 0; i < N; i++)
            if (!isnan(kn_at(z, i, t)))
                kept[n++] = kn_at(z, i, t);
        kn_shash_newton(&nodes, &prior, n, kept, theta);
        for (int f = 0; f < FOLDS; f++) {
            double exact[2] = {theta[0], theta[1]};
            n = 0;
            for (int i = 0; i < N; i++)
                if (!isnan(kn_at(z, i, t)) && fold[i] != f)
                    kept[n++] = kn_at(z, i, t);
            double out[2];
            kn_shash_newton(&nodes, &prior, n, kept, exact);
            kn_shash_point at = kn_shash_point_at(&nodes, theta);
            kn_shash_step(&at, &prior, n, kept, theta, out);
            left[t * FOLDS + f] = hypot(exact[0] - out[0], exact[1] - out[1]) /
                                  hypot(exact[0] - theta[0], exact[1] - theta[1]);
        }
    }
    /* Quadratic convergence: what is left grows with the way, which one wild value makes long, so
     * the median is bounded. In 25 draws of these data it was .030 to .045. */
    kn_sort(left, 20 * FOLDS);
    assert_true(left[10 * FOLDS] < 0.1);
    free(z.data);
}

TEST_PROGRAM(stats_shash)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 53, 0);
    kn_shash_nodes_init(&nodes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distribution_matches_golden),
        cmocka_unit_test(nodes_integrate_moments_of_the_normal_distribution),
        cmocka_unit_test(derivatives_match_central_differences),
        cmocka_unit_test(rounds_of_the_fit_match_golden),
        cmocka_unit_test(fit_of_one_response_matches_golden),
        cmocka_unit_test(whole_chain_of_new_participants_matches_golden),
        cmocka_unit_test(fit_does_not_depend_on_the_order_of_participants_or_responses),
        cmocka_unit_test(missing_responses_are_ignored_and_few_values_are_shrunk_to_the_prior),
        cmocka_unit_test(fit_is_the_minimum_also_at_the_bounds),
        cmocka_unit_test(one_step_without_a_fold_is_nearly_the_refit),
    };
    int failed = cmocka_run_group_tests_name("shash", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
