/* STGPR through the public door: options, limits, bytes, threads, memory. */
#include "support/failing.h"
#include "support/stgpr_cohorts.h"

#include <float.h>

#include "gp/methods/methods.h"

static void options_of_other_methods_are_refused_by_name(void **state)
{
    (void)state;
    problem p = random_problem(8, 5, 2, false);
    kn_view X = view(p.X), Y = view(p.Y);
    double theta[4] = {0};
    kn_model *model;
    kn_settings o, base;
    kn_settings_init(&base);
    base.method = "stgpr";
#define REFUSED(field, value, text)                                                                \
    o = base;                                                                                      \
    o.field = (value);                                                                             \
    assert_refused(ctx, kn_fit_arrays(ctx, X, Y, &o, &model), KN_ERR_ARGUMENT, text);              \
    assert_null(model)
    REFUSED(components, 3, "components");
    REFUSED(basis_view, Y, "basis");
    REFUSED(noise, KN_NOISE_ISO, "noise iso");
    REFUSED(likelihood, KN_PAPER, "likelihood paper");
    REFUSED(task_kernel, "linear", "task_kernel");
    REFUSED(task_scale, KN_TASK_SCALE_SQRTN, "task_scale");
    REFUSED(optimiser, KN_LBFGS, "joint optimiser");
    REFUSED(theta_start, theta, "theta");
    REFUSED(restarts, 2, "restarts");
    base.plain = 1;
    REFUSED(rho, 0.5, "rho");
    REFUSED(length, 0.5, "length");
    base.method = "smtgpr";
    REFUSED(plain, 1, "plain");
#undef REFUSED
    free_problem(p);
}

/* Mean z^2 of the training sample, each participant by the model without its fold. */
static double mean_z2(const kn_model *model)
{
    kn_view z = kn_model_array(model, "z_cv");
    double sum = 0;
    for (ptrdiff_t i = 0; i < z.rows; i++)
        for (ptrdiff_t j = 0; j < z.cols; j++)
            sum += pow(kn_view_at(z, i, j), 2) / (double)(z.rows * z.cols);
    return sum;
}

static void every_public_call_serves_it(void **state)
{
    (void)state;
    problem p = random_problem(30, 6, 2, false);
    for (int i = 0; i < 30; i++)
        kn_col(p.Y, 3)[i] = 7; /* constant: left out */
    kn_settings o;
    kn_fit_info info;
    kn_maps *maps;
    o = old_sum();
    o.folds = 5;
    kn_model *model = fit(p.X, p.Y, &o, &info);
    assert_ptr_equal(info.method, &kn_method_stgpr);
    assert_int_equal(info.n_left_out, 1);
    assert_int_equal(info.cv.folds, 5);
    assert_close(info.cv.z2, mean_z2(model), 2 * FLT_EPSILON); /* z are stored as float32 */
    assert_true(info.converged && isnan(info.rho) && isnan(info.length));
    maps_of m = predict(model, p.Xs, 6);
    assert_ok(ctx, kn_maps_predict(ctx, model, view(p.Xs), &maps));
    for (ptrdiff_t j = 0; j < 6; j++) { /* one at a time, out of order, mean and variance apart */
        ptrdiff_t t = (j * 5) % 6;
        kn_mat mean = ref_new(4, 1), var = ref_new(4, 1);
        assert_ok(ctx, kn_maps_block(ctx, maps, t, 1, mean, kn_mat_none()));
        assert_ok(ctx, kn_maps_block(ctx, maps, t, 1, kn_mat_none(), var));
        for (int i = 0; i < 4; i++) {
            assert_true(isnan(mean.data[i]) == (t == 3));
            if (t != 3) {
                assert_close(mean.data[i], kn_at(m.mean, i, t), 1e-12);
                assert_close(var.data[i], kn_at(m.var, i, t), 1e-12);
            }
        }
        free(mean.data), free(var.data);
    }
    kn_maps_free(maps);
    ptrdiff_t J[2] = {4, 1};
    double noise[6];
    kn_mat x = ref_new(1, 2), cov = ref_new(2, 2), ncov = ref_new(2, 2);
    for (int f = 0; f < 2; f++)
        x.data[f] = kn_at(p.Xs, 2, f);
    assert_ok(ctx, kn_covariance(ctx, model, view(x), J, 2, cov, ncov));
    assert_ok(ctx, kn_model_noise(ctx, model, noise));
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            assert_close(kn_at(cov, a, b), a == b ? kn_at(m.var, 2, J[a]) : 0, 1e-12);
            assert_close(kn_at(ncov, a, b), a == b ? noise[J[a]] : 0, 1e-12);
        }
    free(x.data), free(cov.data), free(ncov.data);
    release(m);
    kn_model_free(model);
    free_problem(p);
}

static void limits_stop_the_search_and_are_reported(void **state)
{
    (void)state;
    problem p = random_problem(20, 6, 2, false);
    kn_settings o;
    kn_fit_info info, all;
    o = old_sum();
    o.folds = 0;
    kn_model_free(fit(p.X, p.Y, &o, &all));
    o.max_evals = 10;
    kn_model_free(fit(p.X, p.Y, &o, &info));
    assert_int_equal(info.stop, KN_STOP_MAX_EVALS);
    assert_true(info.lml <= all.lml + 1e-3);
    o.plain = 1;
    kn_model_free(fit(p.X, p.Y, &o, &info));
    assert_int_equal(info.stop, KN_STOP_MAX_EVALS);
    free_problem(p);
}

/* Larger than an eigenproblem that would be one thread's anyway. */
static void threads_have_cells_of_their_own_and_the_same_bits(void **state)
{
    (void)state;
    enum { N = 260, T = 12, MANY = 3 };
    static const int THREADS[MANY] = {1, 2, 5};
    problem p = random_problem(N, T, 2, false);
    kn_settings o = old_sum();
    kn_mat maps[MANY][4], alpha[MANY];
    kn_fit_info info;
    kn_maps *loo;
    o.folds = 2;
    o.calibrate = 0;
    o.max_evals = 12;
    for (int k = 0; k < MANY; k++) {
        kn_set_threads(ctx, THREADS[k]);
        kn_model *model = fit(p.X, p.Y, &o, &info);
        assert_int_equal(info.evaluations > 12, 1);
        maps_of m = predict(model, p.Xs, T);
        assert_ok(ctx, kn_maps_loo(ctx, model, view(p.Y), &loo));
        maps_of l = collect(loo, T);
        maps[k][0] = m.mean, maps[k][1] = m.var, maps[k][2] = l.mean, maps[k][3] = l.var;
        alpha[k] = ref_new(N, T);
        memcpy(alpha[k].data, kn_model_array(model, "alpha").data, sizeof(double) * N * T);
        assert_memory_equal(alpha[0].data, alpha[k].data, sizeof(double) * N * T);
        for (int i = 0; i < 4; i++)
            assert_memory_equal(maps[0][i].data, maps[k][i].data,
                                sizeof(double) * (size_t)(maps[0][i].rows * T));
        kn_model_free(model);
    }
    kn_set_threads(ctx, 1);
    for (int k = 0; k < MANY; k++) {
        free(alpha[k].data);
        for (int i = 0; i < 4; i++)
            free(maps[k][i].data);
    }
    free_problem(p);
}

/* The model that comes back has alpha, and the effects of groups, as the nearest numbers of single
 * precision, exactly. What that does to a mean R0* alpha, plus the effect e of a known group, is
 * then at most
 *
 *     2^-24 (sum_i |r_i alpha_i| + |e|)
 *
 * since the nearest float is within 2^-24 of a number, relative: however much the sum cancels, and
 * for any draw. Beside it there is the rounding of sums of N in double precision. number: groups
 * of the new participants, or NULL. */
static void assert_means_of_single_precision(const cohort *c, const kn_model *model, maps_of a,
                                             maps_of b, const ptrdiff_t *number)
{
    kn_view alpha = kn_model_array(model, "alpha"), effect = kn_model_array(model, "group_effect");
    for (ptrdiff_t j = 0; j < c->T; j++) {
        dense_part p = dense_of(c, model, j);
        for (ptrdiff_t s = 0; s < c->news.rows; s++) {
            double size = 0, is = kn_at(b.mean, s, j), error = fabs(kn_at(a.mean, s, j) - is);
            for (ptrdiff_t i = 0; i < c->N; i++)
                size +=
                    fabs(additive_kernel(p.w, p.length, c->news, c->u_news, s, c->raw, c->u, i) *
                         kn_view_at(alpha, i, j));
            if (number && number[s] >= 0)
                size += fabs(kn_view_at(effect, number[s], j));
            double bound = FLT_EPSILON / 2 * size + (double)c->N * DBL_EPSILON * (size + fabs(is));
            if (!(error <= bound))
                fail_msg("response %td of new person %td is off by %.3g, allowed %.3g", j, s, error,
                         bound);
        }
    }
}

/* Of the array `name` in both models. */
static void assert_nearest_floats(const kn_model *model, const kn_model *again, const char *name)
{
    kn_view was = kn_model_array(model, name), is = kn_model_array(again, name);
    assert_true(was.data && is.data && is.rows == was.rows && is.cols == was.cols);
    for (ptrdiff_t j = 0; j < was.cols; j++)
        for (ptrdiff_t i = 0; i < was.rows; i++)
            assert_true(kn_view_at(is, i, j) == (double)(float)kn_view_at(was, i, j));
}

static void additive_models_come_back_from_their_bytes(void **state)
{
    (void)state;
    for (int groups = 0; groups < 2; groups++) {
        cohort c = cohort_of(&rng, 48, 7, 2, 3);
        kn_settings o = additive_of(&c, groups);
        kn_fit_info info;
        kn_maps *maps;
        void *bytes;
        size_t count;
        kn_model *model = fit(c.raw, c.Y, &o, &info), *again;
        assert_ok(ctx, kn_model_to_bytes(ctx, model, &bytes, &count));
        assert_ok(ctx, kn_model_from_bytes(ctx, bytes, count, &again));
        kn_bytes_free(bytes);
        maps_of a = predict(model, c.news, 7), b = predict(again, c.news, 7);
        assert_nearest_floats(model, again, "alpha");
        assert_means_of_single_precision(&c, model, a, b, NULL);
        assert_same(a.var, b.var, 1e-13);
        release(a), release(b);
        if (groups) {
            ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
            assert_ok(ctx, kn_maps_predict_known(ctx, model, view(c.news),
                                                 (kn_predict_context){.group = number}, &maps));
            a = collect(maps, 7);
            assert_ok(ctx, kn_maps_predict_known(ctx, again, view(c.news),
                                                 (kn_predict_context){.group = number}, &maps));
            b = collect(maps, 7);
            assert_nearest_floats(model, again, "group_effect");
            assert_means_of_single_precision(&c, model, a, b, number);
            assert_same(a.var, b.var, 1e-13);
            release(a), release(b);
        }
        kn_model_free(model);
        kn_model_free(again);
        cohort_free(c);
    }
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(gp_stgpr, begin_seeded, end)
{
    for (int plain = 0; plain < 2; plain++) {
        problem p = random_problem(12, 4, 2, false);
        kn_settings o = settings_at_fixed_parameters(NAN, NAN);
        kn_status status = KN_ERR_MEMORY;
        kn_model *model = NULL;
        kn_maps *maps;
        failing f = failing_by(11);
        o.folds = 3;
        o.plain = plain;
        o.max_evals = plain ? 0 : 3;
        kn_set_threads(ctx, plain ? 1 : 3); /* and workers of a team */
        size_t before = kn_memory_now(ctx);
        while (failing_next(&f, status)) {
            kn_model_free(model);
            kn_fail_allocation(ctx, f.k);
            status = kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model);
            kn_fail_allocation(ctx, 0);
            assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !model));
            assert_true(status == KN_OK || kn_memory_now(ctx) == before);
        }
        kn_mat mean = ref_new(4, 4), var = ref_new(4, 4);
        for (int what = 0; what < 2; what++) {
            status = KN_ERR_MEMORY;
            f = failing_by(5);
            while (failing_next(&f, status)) {
                kn_fail_allocation(ctx, f.k);
                if (what == 0)
                    status = kn_maps_predict(ctx, model, view(p.Xs), &maps);
                else
                    status = kn_maps_cv(ctx, model, view(p.Y), 3, NULL, &maps);
                assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !maps));
                if (status == KN_OK && what == 0)
                    status = kn_maps_block(ctx, maps, 0, 4, mean, var);
                kn_fail_allocation(ctx, 0);
                kn_maps_free(maps);
            }
        }
        free(mean.data), free(var.data);
        kn_model_free(model);
        assert_int_equal(kn_memory_now(ctx), before);
        kn_set_threads(ctx, 1);
        free_problem(p);
    }
}

FAILING_CASE(gp_stgpr_groups, begin_seeded, end)
{
    cohort c = cohort_of(&rng, 24, 3, 2, 1);
    kn_settings o = additive_of(&c, true);
    kn_status status = KN_ERR_MEMORY;
    kn_model *model = NULL;
    kn_maps *maps;
    failing f = failing_by(11);
    ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
    kn_mat mean = ref_new(24, 3), var = ref_new(24, 3);
    o.folds = 3;
    o.max_evals = 0;
    o.rank = KN_RANK_AUTO;
    while (failing_next(&f, status)) {
        kn_model_free(model);
        kn_fail_allocation(ctx, f.k);
        status = kn_fit_arrays(ctx, view(c.raw), view(c.Y), &o, &model);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !model));
    }
    for (int what = 0; what < 2; what++) {
        status = KN_ERR_MEMORY;
        f = failing_by(5);
        while (failing_next(&f, status)) {
            kn_fail_allocation(ctx, f.k);
            status = what == 0 ? kn_maps_predict_known(ctx, model, view(c.news),
                                                       (kn_predict_context){.group = number}, &maps)
                               : kn_maps_loo(ctx, model, view(c.Y), &maps);
            assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !maps));
            ptrdiff_t n = what == 0 ? 6 : 24;
            if (status == KN_OK)
                status = kn_maps_block(ctx, maps, 0, 3, kn_mat_cols(mean.data, n, 3),
                                       kn_mat_cols(var.data, n, 3));
            kn_fail_allocation(ctx, 0);
            kn_maps_free(maps);
        }
    }
    free(mean.data), free(var.data);
    kn_model_free(model);
    cohort_free(c);
}

TEST_PROGRAM(stgpr_api)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_other_methods_are_refused_by_name),
        cmocka_unit_test(every_public_call_serves_it),
        cmocka_unit_test(limits_stop_the_search_and_are_reported),
        cmocka_unit_test(threads_have_cells_of_their_own_and_the_same_bits),
        cmocka_unit_test(additive_models_come_back_from_their_bytes),
    };
    return cmocka_run_group_tests_name("stgpr_calls", tests, begin_seeded, end);
}
