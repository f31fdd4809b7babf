/* Finding the maximum, and being honest about it. */
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "gp/gp.h"

static kn_ctx *ctx;

/* Of 20 seeds, how many stay more than 1e-4 below the best likelihood known for golden case 2? */
static int seeds_that_miss_the_optimum(kn_likelihood likelihood, kn_optimiser optimiser)
{
    kn_mat X = golden_matrix("case2", "X"), Y = golden_matrix("case2", "Y"),
           B = golden_matrix("case2", "B");
    json_t *optimum = golden_json("case2", "optimum");
    bool paper = likelihood == KN_PAPER;
    double best = golden_number(optimum, paper ? "paper.best_lml" : "exact.best_lml");
    double constant = /* which the file counts over N T */
        paper ? 0.5 * (double)Y.rows * (double)(Y.cols - B.cols) * log(2 * M_PI) : 0;
    int missed = 0;
    for (int seed = 1; seed <= 20; seed += repeat(1, 5)) {
        kn_settings o;
        kn_model *model;
        kn_fit_info info;
        plain_settings(&o);
        o.noise = KN_NOISE_ISO;
        o.sample_kernel = "linear+se+iso";
        o.likelihood = (int)likelihood;
        o.optimiser = (int)optimiser;
        o.sample_kernel = o.task_kernel = "linear+se+iso";
        o.basis_view = view(B);
        o.standardise = 0;
        o.folds = 0;
        o.seed = (uint64_t)seed;
        kn_rng rng;
        double theta[9];
        ref_rng_init(&rng, o.seed, 1);
        if (optimiser != KN_NESTED) { /* a random start, as the paper's code has */
            for (int i = 0; i < 9; i++)
                theta[i] = kn_rng_normal(&rng);
            o.theta_start = theta;
            o.n_theta_start = 9;
        } else if (seed > 10) { /* half of them without the grid, from anywhere */
            o.rho = kn_rng_uniform(&rng);
            o.length = exp(3 * kn_rng_uniform(&rng) - 1);
        }
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
        kn_model_info(model, &info);
        double shortfall = best - (info.lml - constant);
        assert_true(shortfall > -1e-4); /* no seed beats the best by more than its own accuracy */
        missed += shortfall > 1e-4;
        if (getenv("KN_VERBOSE"))
            fprintf(stderr, "seed %d shortfall %.3g evals %d inner %d stop %d pg %.2g\n", seed,
                    shortfall, info.evaluations, info.evaluations_inner, (int)info.stop,
                    info.projected_gradient);
        kn_model_free(model);
    }
    json_decref(optimum);
    free(X.data), free(Y.data), free(B.data);
    return missed;
}

static void nested_reaches_the_best_exact_likelihood(void **state)
{
    (void)state;
    assert_true(seeds_that_miss_the_optimum(KN_EXACT, KN_NESTED) <= 1);
}

static void nested_reaches_the_best_paper_likelihood(void **state)
{
    (void)state;
    assert_true(seeds_that_miss_the_optimum(KN_PAPER, KN_NESTED) <= 1);
}

static void predictions_at_the_optimum_match_golden(void **state)
{
    (void)state;
    for (int paper = 0; paper < 2; paper++) {
        kn_mat X = golden_matrix("case2", "X"), Y = golden_matrix("case2", "Y");
        kn_mat B = golden_matrix("case2", "B"), Xs = golden_matrix("case2", "Xstar");
        kn_mat M = golden_matrix("case2", paper ? "opt_paper_mean" : "opt_exact_mean");
        kn_mat V = golden_matrix("case2", paper ? "opt_paper_var" : "opt_exact_var");
        kn_mat mean = ref_new(M.rows, M.cols), var = ref_new(M.rows, M.cols);
        kn_settings o;
        kn_model *model;
        kn_maps *maps;
        plain_settings(&o);
        o.noise = KN_NOISE_ISO;
        o.sample_kernel = "linear+se+iso";
        o.likelihood = paper ? KN_PAPER : KN_EXACT;
        o.sample_kernel = o.task_kernel = "linear+se+iso";
        o.basis_view = view(B);
        o.standardise = 0;
        o.folds = 0;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
        assert_ok(ctx, kn_maps_predict(ctx, model, view(Xs), &maps));
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, M.cols, mean, var));
        assert_same(mean, M, 1e-3);
        assert_same(var, V, 1e-3);
        kn_maps_free(maps);
        kn_model_free(model);
        free(X.data), free(Y.data), free(B.data), free(Xs.data), free(M.data), free(V.data);
        free(mean.data), free(var.data);
    }
}

/* Responses with a smooth trend, a linear one, and noise. */
static void simulate(ptrdiff_t N, ptrdiff_t T, uint64_t seed, kn_mat *X, kn_mat *Y)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    *X = ref_new(N, 2);
    *Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < 2 * N; i++)
        X->data[i] = kn_rng_normal(&rng);
    for (ptrdiff_t j = 0; j < T; j++) {
        double a = kn_rng_normal(&rng), b = kn_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(*Y, j)[i] =
                a * sin(2 * kn_at(*X, i, 0)) + b * kn_at(*X, i, 1) + kn_rng_normal(&rng);
    }
}

static void structured_beats_every_point_of_a_fine_grid(void **state)
{
    (void)state;
    for (int seed = 1; seed <= repeat(4, 1); seed++) {
        kn_mat X, Y;
        kn_settings o;
        kn_model *model;
        kn_fit_info best, info;
        simulate(60, 12, (uint64_t)seed, &X, &Y);
        plain_settings(&o);
        o.components = 4;
        o.folds = 0;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
        kn_model_info(model, &best);
        kn_model_free(model);
        o.max_evals = 0;
        for (int r = 0; r <= 20; r++)
            for (int l = 0; l <= 20; l++) {
                o.rho = r / 20.0;
                o.length = 0.25 * pow(160, l / 20.0); /* from below 0.1 med to beyond 20 med */
                assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
                kn_model_info(model, &info);
                if (info.lml > best.lml + 1e-3)
                    fail_msg("seed %d: LML %.6f at rho %.3g length %.3g, search found %.6f", seed,
                             info.lml, o.rho, o.length, best.lml);
                kn_model_free(model);
            }
        assert_true(best.converged);
        assert_true(best.projected_gradient < 1e-3);
        free(X.data), free(Y.data);
    }
}

static void limits_stop_the_search_and_are_reported(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_settings o;
    kn_model *model;
    kn_fit_info info;
    simulate(60, 12, 1, &X, &Y);
    plain_settings(&o);
    o.components = 4;
    o.max_evals = 2;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
    kn_model_info(model, &info);
    assert_int_equal(info.stop, KN_STOP_MAX_EVALS);
    assert_false(info.converged);
    kn_model_free(model);
    o.max_evals = -1;
    o.max_seconds = 1e-9;
    kn_status status = kn_fit_arrays(ctx, view(X), view(Y), &o, &model);
    if (status == KN_OK) {
        kn_model_info(model, &info);
        assert_int_equal(info.stop, KN_STOP_MAX_SECONDS);
    }
    kn_model_free(model);
    free(X.data), free(Y.data);
}

static void cancel_after(void *user, const kn_progress *p)
{
    int *left = ((int **)user)[0];
    if (strcmp(p->stage, "fit") == 0 && --*left <= 0)
        kn_cancel(((kn_ctx **)user)[1]);
}

static void cancelling_returns_the_best_so_far(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_settings o;
    kn_model *model;
    kn_fit_info info;
    int left = 3;
    void *user[2] = {&left, ctx};
    simulate(60, 12, 1, &X, &Y);
    plain_settings(&o);
    o.components = 4;
    kn_set_progress(ctx, cancel_after, user);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
    kn_set_progress(ctx, NULL, NULL);
    kn_model_info(model, &info);
    assert_int_equal(info.stop, KN_STOP_CANCELLED);
    assert_false(info.converged);
    assert_int_equal(info.cv.folds, 0);
    assert_true(isfinite(info.lml) && info.noise_variance > 0);
    kn_model_free(model);
    /* and before anything was found there is nothing to return */
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model), KN_ERR_CANCELLED,
                   "stopped");
    assert_null(model);
    kn_cancel_clear(ctx);
    free(X.data), free(Y.data);
}

static void same_seed_same_bytes(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_settings o;
    kn_model *a, *b;
    simulate(200, 30, 7, &X, &Y);
    plain_settings(&o);
    for (int iso = 0; iso < 2; iso++) {
        o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
        o.sample_kernel = iso ? "linear+se+iso" : "linear+se";
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &a));
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &b));
        static const char *const names[] = {"c", "d", "B", "A", "U", "r", "noise"};
        for (int i = 0; i < 7; i++) {
            kn_view u = kn_model_array(a, names[i]), v = kn_model_array(b, names[i]);
            assert_int_equal(u.rows, v.rows);
            assert_memory_equal(u.data, v.data, (size_t)(u.rows * u.cols) * sizeof(double));
        }
        kn_model_free(a);
        kn_model_free(b);
    }
    free(X.data), free(Y.data);
}

TEST_PROGRAM(gp_search)
{
    ctx = kn_ctx_new();
    const char *which = getenv("KN_OPTIMISER"); /* for bench/MEASURED.md: how the others fare */
    if (which) {
        kn_optimiser o = strcmp(which, "tnewton") == 0 ? KN_TNEWTON : KN_LBFGS;
        fprintf(stderr, "missed: exact %d of 20, paper %d of 20\n",
                seeds_that_miss_the_optimum(KN_EXACT, o), seeds_that_miss_the_optimum(KN_PAPER, o));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_reaches_the_best_exact_likelihood),
        cmocka_unit_test(nested_reaches_the_best_paper_likelihood),
        cmocka_unit_test(predictions_at_the_optimum_match_golden),
        cmocka_unit_test(structured_beats_every_point_of_a_fine_grid),
        cmocka_unit_test(limits_stop_the_search_and_are_reported),
        cmocka_unit_test(cancelling_returns_the_best_so_far),
        cmocka_unit_test(same_seed_same_bytes),
    };
    int failed = cmocka_run_group_tests_name("search", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
