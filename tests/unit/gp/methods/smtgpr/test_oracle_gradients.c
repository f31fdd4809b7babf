/* Gradients of random small problems against central differences. */
#include "support/oracles.h"

#include "gp/optimise/optimise.h"
#include "gp/search/search.h"
#include "ref/slope.h"

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
                kn_settings o = settings_at_fixed_parameters(p);
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

typedef struct direction {
    kn_engine *e;
    double x, l;             /* logit of rho, logarithm of the length */
    int i;                   /* which of them moves */
    double inside[KN_THETA]; /* the other parameters of iso noise */
} direction;

/* What nested_at maximises, with all other parameters held. */
static double iso_at(const direction *d, double rho, double length, double *g)
{
    kn_cov_point at = kn_cov_at_rho(&d->e->cov, rho, length);
    double r0[KN_COV_THETA], theta[KN_THETA], lml;
    kn_cov_theta(&d->e->cov, &at, r0);
    kn_spec_join(&d->e->spec, r0, d->inside, theta);
    assert_ok(ctx, kn_engine_joint(ctx, d->e, theta, &lml, g));
    return lml;
}

static double nested_along(void *self, double step)
{
    direction *d = self;
    double x = d->x + (d->i == 0) * step, l = d->l + (d->i == 1) * step, lml;
    double rho = 1 / (1 + exp(-x));
    if (d->e->spec.noise == KN_NOISE_ISO)
        return iso_at(d, rho, exp(l), NULL);
    assert_ok(ctx, nested_at(ctx, d->e, rho, exp(l), &lml, NULL));
    return lml;
}

/* The largest entry of the gradient in the parameters that nested_at maximises over, without those
 * that push against a bound. */
static double left_inside(direction *d)
{
    double g[KN_THETA], r0[KN_COV_THETA], inside[KN_THETA] = {0}, lower[KN_THETA], upper[KN_THETA];
    iso_at(d, 1 / (1 + exp(-d->x)), exp(d->l), g);
    kn_spec_split(&d->e->spec, g, r0, inside);
    for (int i = 0; i < d->e->iso.n_inside; i++)
        lower[i] = kn_theta_lower, upper[i] = kn_theta_upper;
    return kn_projected_gradient(d->e->iso.n_inside, d->inside, inside, lower, upper);
}

/* Of iso noise the gradient at the maximum over all other parameters is that with these held
 * (envelope theorem), and there is a maximum. The differences hold them: those of the maximum
 * itself would contain what the search over them leaves open. */
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
            double total = kn_sumsq(p.Y), E = fmax(total - kn_sumsq(Z), 0), lml, g[2];
            assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
            assert_ok(ctx, engine_of(ctx, &spec, &pairs, Z, p.s.T, E, total, &e));
            e.inside_tolerance = 1e-11;
            double x = kn_rng_normal(&rng), l = 0.3 * kn_rng_normal(&rng);
            assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-x)), exp(l), &lml, g));
            for (int i = 0; i < 2; i++) {
                direction d = {.e = &e, .x = x, .l = l, .i = i};
                memcpy(d.inside, e.inside, sizeof d.inside);
                /* A quadratic that is below its maximum by t nats with curvature k has the slope
                 * sqrt(2 t k); k is at most 2NT for logarithms of standard deviations, and a search
                 * whose last step gained less than the tolerance may leave 100 of these. */
                if (iso)
                    assert_true(left_inside(&d) <= sqrt(400 * e.inside_tolerance * p.s.N * p.s.T));
                assert_slope(g[i], ref_slope_of(nested_along, &d, 1e-3), 1e-6);
            }
            kn_engine_clear(&e);
            free(Z.data);
            free_problem(p);
        }
}

TEST_PROGRAM(smtgpr_oracle_gradients)
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
