/* Gradients of random small problems against central differences. */
#include "oracles.h"

#include "gp/search.h"

/* LML at theta for central differences */
static double lml_at(problem p, kn_settings o)
{
    kn_model *model;
    kn_fit_info info;
    assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model));
    kn_model_info(model, &info);
    kn_model_free(model);
    return info.lml;
}

static void joint_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int paper = 0; paper < 2; paper++)
            for (unsigned task = 1; task < 8; task++) {
                problem p = random_problem(SHAPES[k]);
                kn_settings o = held(p);
                double theta[9];
                kn_fit_info info;
                kn_model *model;
                o.noise = KN_NOISE_ISO;
                o.likelihood = paper ? KN_PAPER : KN_EXACT;
                o.task_kernel = KERNELS[task];
                unsigned sample = (unsigned)(1 + k % 3) | (task & KN_ISO);
                o.sample_kernel = KERNELS[sample];
                if (k % 2)
                    o.task_scale = KN_TASK_SCALE_SQRTN;
                o.theta_start = theta;
                kn_spec spec = {.task = cov_of_bits(task, KN_ALL_COLUMNS),
                                .sample = cov_of_bits(sample, p.s.F)};
                o.n_theta_start = kn_spec_n_theta(&spec);
                for (int i = 0; i < o.n_theta_start; i++)
                    theta[i] = 0.3 * kn_rng_normal(&rng) - 0.3;
                assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model));
                kn_model_info(model, &info);
                kn_model_free(model);
                assert_int_equal(info.n_theta, o.n_theta_start);
                for (int i = 0; i < o.n_theta_start; i++) {
                    double h = 1e-4, t = theta[i], f[4];
                    for (int s = 0; s < 4; s++) {
                        theta[i] = t + h * (s < 2 ? s - 2 : s - 1);
                        f[s] = lml_at(p, o);
                    }
                    theta[i] = t; /* fourth order */
                    assert_close(info.gradient[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h),
                                 1e-6);
                }
                free_problem(p);
            }
}

static void nested_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int iso = 0; iso < 2; iso++) {
            problem p = random_problem(SHAPES[k]);
            kn_mat Z = ref_mul(0, p.Y, 0, p.B);
            kn_spec spec = {.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                            .sample = cov_of(iso ? "linear+se+iso" : "linear+se", p.s.F),
                            .task = cov_of(iso ? "linear+iso" : "", KN_ALL_COLUMNS)};
            kn_cov cov = kn_cov_between(&spec.sample);
            kn_pairs pairs;
            kn_engine e;
            double total = kn_sumsq(p.Y), E = fmax(total - kn_sumsq(Z), 0), lml, g[2], none[2];
            assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
            assert_ok(ctx, engine_of(ctx, &spec, &pairs, Z, p.s.T, E, total, &e));
            e.inside_tolerance = 1e-11; /* what h will divide */
            double x = kn_rng_normal(&rng), l = 0.3 * kn_rng_normal(&rng), h = 1e-4;
            assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-x)), exp(l), &lml, g));
            for (int i = 0; i < 2; i++) {
                double f[2];
                for (int s = 0; s < 2; s++) {
                    double step = s ? h : -h, xs = x + (i == 0) * step, ls = l + (i == 1) * step;
                    assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-xs)), exp(ls), &f[s], none));
                }
                assert_close(g[i], (f[1] - f[0]) / (2 * h), 1e-6);
            }
            kn_engine_clear(&e);
            free(Z.data);
            free_problem(p);
        }
}

TEST_PROGRAM(oracle_gradients)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 2024, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_gradient_matches_central_differences),
        cmocka_unit_test(nested_gradient_matches_central_differences),
    };
    int failed = cmocka_run_group_tests_name("oracle_gradients", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
