/* STGPR without cells: each response climbs by itself. */
#include "support/stgpr_cohorts.h"

#include "gp/methods/stgpr/internal.h"
#include "ref/slope.h"

static void plain_fit_climbs_to_a_stationary_point_and_predicts_there(void **state)
{
    (void)state;
    static const unsigned kernels[] = {KN_LINEAR | KN_SE, KN_LINEAR, KN_SE};
    for (int q = 0; q < 3; q++) {
        problem p = random_problem(20, 5, 2, false);
        kn_settings o;
        kn_fit_info info, at;
        kn_settings_init(&o);
        o.method = "stgpr";
        o.plain = 1;
        o.sample_kernel = KERNELS[kernels[q]];
        o.standardise = 0;
        o.folds = 0;
        double theta[4] = {-0.5, -0.2, 0.1, -0.4};
        int n = kernels[q] == 3 ? 4 : kernels[q] == KN_SE ? 3 : 2;
        o.theta_start = theta;
        o.n_theta_start = n;
        kn_model *model = fit(p.X, p.Y, &o, &info);
        o.max_evals = 0;
        kn_model *start = fit(p.X, p.Y, &o, &at);
        assert_int_equal(at.stop, KN_STOP_NOT_OPTIMISED);
        assert_true(info.lml > at.lml);
        assert_true(info.projected_gradient < 1e-3);
        kn_view cells = kn_model_array(model, "cells"), c = kn_model_array(model, "c");
        kn_view d = kn_model_array(model, "d"), cell = kn_model_array(model, "cell");
        maps_of m = predict(model, p.Xs, 5);
        double sum = 0;
        for (ptrdiff_t j = 0; j < 5; j++) {
            ptrdiff_t k = (ptrdiff_t)kn_view_at(cell, j, 0);
            bool line = kernels[q] & KN_LINEAR, smooth = kernels[q] & KN_SE;
            double lml, mean[4], var[4], r0[4] = {-INFINITY, -INFINITY, 0, -INFINITY};
            if (line)
                r0[0] = 0.5 * log(kn_view_at(cells, k, 0) / 2);
            if (smooth) {
                r0[1] = 0.5 * log(kn_view_at(cells, k, line));
                r0[2] = log(kn_view_at(cells, k, line + 1));
            }
            dense_response(p, r0, kn_view_at(c, j, 0), kn_view_at(d, j, 0), j, -1, p.Xs, &lml, mean,
                           var);
            sum += lml;
            for (int i = 0; i < 4; i++) {
                assert_close(kn_at(m.mean, i, j), mean[i], 1e-8);
                assert_close(kn_at(m.var, i, j), var[i], 1e-8);
            }
        }
        assert_close(info.lml, sum, 1e-9);
        release(m);
        /* all responses at one theta share one cell */
        assert_int_equal(kn_model_array(start, "cells").rows, 1);
        kn_model_free(start);
        kn_model_free(model);
        free_problem(p);
    }
}

typedef struct plain_direction {
    const problem *p;
    const kn_cov *cov;
    const kn_search_options *o;
    kn_mat theta;
    int j, i; /* response and parameter */
} plain_direction;

static double plain_along(void *self, double step)
{
    plain_direction *d = self;
    kn_mat theta = ref_new(d->theta.rows, d->theta.cols), lml = ref_new(d->theta.rows, 1),
           none = ref_new(d->theta.rows, d->theta.cols);
    kn_pairs pairs;
    kn_search_result found;
    kn_mat_set(theta, d->theta);
    kn_col(theta, d->i)[d->j] += step;
    assert_ok(ctx, kn_pairs_within(ctx, d->p->X, &d->cov->stats, &pairs));
    assert_ok(ctx, kn_plain_fit(ctx, &pairs, d->cov, d->p->Y, d->o, false, theta, true, lml.data,
                                none, &found));
    double value = lml.data[d->j];
    free(theta.data), free(none.data), free(lml.data);
    return value;
}

static void plain_gradient_matches_central_differences(void **state)
{
    (void)state;
    problem p = random_problem(15, 3, 2, true);
    kn_search_options o = {.limits = {.evals_left = -1}};
    kn_mat theta = ref_normal(&rng, 3, 4), grad = ref_new(3, 4);
    kn_mat lml = ref_new(3, 1);
    kn_cov cov = cov_of("linear+se", 2);
    kn_pairs pairs;
    kn_search_result found;
    assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
    assert_ok(ctx,
              kn_plain_fit(ctx, &pairs, &cov, p.Y, &o, false, theta, true, lml.data, grad, &found));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            plain_direction d = {&p, &cov, &o, theta, j, i};
            assert_slope(kn_at(grad, j, i), ref_slope_of(plain_along, &d, 1e-3), 1e-6);
        }
    free(theta.data), free(grad.data), free(lml.data);
    free_problem(p);
}

static void plain_takes_all_terms(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 50, 4, 2, 1);
    kn_settings o = additive_of(&c, false);
    kn_fit_info cells, info;
    kn_model *model = fit(c.raw, c.Y, &o, &cells);
    kn_view by_cell = kn_model_array(model, "lml");
    o.plain = 1;
    o.restarts = 2;
    kn_model *plain = fit(c.raw, c.Y, &o, &info);
    kn_view alone = kn_model_array(plain, "lml");
    assert_int_equal(kn_model_array(plain, "cells").cols, TERMS + 1);
    for (int j = 0; j < 4; j++)
        assert_true(kn_view_at(alone, j, 0) > kn_view_at(by_cell, j, 0) - 0.05);
    assert_predicts_as_dense(&c, plain, false, 1e-8);
    kn_model_free(model);
    kn_model_free(plain);
    o.groups = c.code;
    assert_refused(ctx, kn_fit_arrays(ctx, view(c.raw), view(c.Y), &o, &model), KN_ERR_ARGUMENT,
                   "group=none");
    cohort_free(c);
}

TEST_PROGRAM(stgpr_per_response)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_fit_climbs_to_a_stationary_point_and_predicts_there),
        cmocka_unit_test(plain_gradient_matches_central_differences),
        cmocka_unit_test(plain_takes_all_terms),
    };
    return cmocka_run_group_tests_name("stgpr_plain", tests, begin_seeded, end);
}
