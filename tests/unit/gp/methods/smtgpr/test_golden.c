/* The numbers of tests/golden, computed there by brute force. */
#include "gp/cv/cv.h"
#include "gp/methods/methods.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/loo.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"
#include "support/covs.h"
#include "support/test.h"
#include "support/views.h"

#include "data/scaling.h"
#include "gp/gp.h"
#include "gp/likelihood/profile_1d.h"

static kn_ctx *ctx;

typedef struct inputs {
    kn_mat X, Y, Xs, B;
} inputs;

static inputs load(const char *dir)
{
    return (inputs){golden_matrix(dir, "X"), golden_matrix(dir, "Y"), golden_matrix(dir, "Xstar"),
                    golden_matrix(dir, "B")};
}

static void unload(inputs in)
{
    free(in.X.data), free(in.Y.data), free(in.Xs.data), free(in.B.data);
}

/* iso noise at given parameters, through the public door */
static kn_settings at(kn_mat theta, kn_mat B, kn_likelihood likelihood)
{
    kn_settings o;
    plain_settings(&o);
    o.noise = KN_NOISE_ISO;
    o.sample_kernel = "linear+se+iso";
    o.likelihood = (int)likelihood;
    o.sample_kernel = o.task_kernel = "linear+se+iso";
    o.basis_view = view(B);
    o.theta_start = theta.data;
    o.n_theta_start = (int)theta.rows;
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = 0;
    return o;
}

static void check_eigenvalues(inputs in, kn_mat theta, json_t *setting)
{
    kn_mat Z = ref_mul(0, in.Y, 0, in.B), eig_R = golden_column(setting, "eig_R");
    kn_mat eig_C = golden_column(setting, "eig_C");
    kn_spec spec = {.noise = KN_NOISE_ISO,
                    .sample = cov_of("linear+se+iso", in.X.cols),
                    .task = cov_of("linear+se+iso", KN_ALL_COLUMNS)};
    kn_pairs pairs;
    kn_engine e;
    double lml;
    assert_ok(ctx, kn_pairs_within(ctx, in.X, &spec.sample.stats, &pairs));
    assert_ok(ctx, engine_of(ctx, &spec, &pairs, Z, in.Y.cols, 1, 1, &e));
    assert_ok(ctx, kn_engine_joint(ctx, &e, theta.data, &lml, NULL));
    for (ptrdiff_t i = 0; i < e.N; i++)
        assert_close(e.cell[0].R0.r[i] + e.iso.iso, eig_R.data[i], 1e-10);
    assert_same(kn_mat_cols(e.iso.c, e.P, 1), eig_C, 1e-10);
    kn_engine_clear(&e);
    free(Z.data), free(eig_R.data), free(eig_C.data);
}

static void iso_matches_golden(const char *dir)
{
    static const char *const names[] = {"base", "noisy", "lownoise"};
    inputs in = load(dir);
    json_t *expected = golden_json(dir, "expected");
    double N = (double)in.Y.rows, T = (double)in.Y.cols, P = (double)in.B.cols;
    for (int s = 0; s < 3; s++) {
        char path[64];
        snprintf(path, sizeof path, "settings.%s", names[s]);
        json_t *setting = json_object_get(json_object_get(expected, "settings"), names[s]);
        kn_mat theta = golden_column(setting, "theta");
        check_eigenvalues(in, theta, setting);
        for (int paper = 0; paper < 2; paper++) {
            kn_settings o = at(theta, in.B, paper ? KN_PAPER : KN_EXACT);
            kn_model *model;
            kn_fit_info info;
            assert_ok(ctx, kn_fit_arrays(ctx, view(in.X), view(in.Y), &o, &model));
            kn_model_info(model, &info);
            assert_close(info.lml, golden_number(setting, paper ? "lml_latent" : "lml_exact"),
                         1e-10);
            if (paper) /* the paper's constant counts N T */
                assert_close(info.lml - 0.5 * N * (T - P) * log(2 * M_PI),
                             golden_number(setting, "lml_paper"), 1e-10);
            kn_mat g = golden_column(setting, paper ? "grad_paper" : "grad_exact");
            assert_int_equal(info.n_theta, 9);
            assert_same(kn_mat_cols(info.gradient, 9, 1), g, 1e-10);
            free(g.data);
            kn_model_free(model);
        }
        free(theta.data);
    }
    json_decref(expected);
    unload(in);
}

static void iso_predictions_match_golden(const char *dir)
{
    inputs in = load(dir);
    json_t *expected = golden_json(dir, "expected");
    kn_mat theta = golden_column(expected, "settings.base.theta");
    kn_mat M = golden_matrix(dir, "mean"), V = golden_matrix(dir, "var");
    kn_mat mean = ref_new(M.rows, M.cols), var = ref_new(M.rows, M.cols);
    kn_settings o = at(theta, in.B, KN_EXACT);
    kn_model *model;
    kn_maps *maps;
    double *noise = calloc((size_t)M.cols, sizeof *noise);
    assert_ok(ctx, kn_fit_arrays(ctx, view(in.X), view(in.Y), &o, &model));
    assert_ok(ctx, kn_maps_predict(ctx, model, view(in.Xs), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, M.cols, mean, var));
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    assert_ok(ctx, kn_model_noise(ctx, model, noise));
    for (ptrdiff_t j = 0; j < M.cols; j++)
        assert_close(noise[j], exp(2 * theta.data[8]), 1e-14);
    kn_maps_free(maps);
    kn_model_free(model);
    free(noise), free(theta.data), free(M.data), free(V.data), free(mean.data), free(var.data);
    json_decref(expected);
    unload(in);
}

static void iso_likelihood_gradient_and_eigenvalues(void **state)
{
    (void)state;
    iso_matches_golden("case1");
    iso_matches_golden("case2");
    iso_matches_golden("case3");
}

static void iso_means_and_variances(void **state)
{
    (void)state;
    iso_predictions_match_golden("case1");
    iso_predictions_match_golden("case2");
    iso_predictions_match_golden("case3");
}

static void iso_covariance_between_responses(void **state)
{
    (void)state;
    inputs in = load("case1");
    json_t *expected = golden_json("case1", "expected");
    kn_mat theta = golden_column(expected, "settings.base.theta");
    kn_mat full = golden_matrix("case1", "var_full");
    ptrdiff_t T = in.Y.cols, ns = in.Xs.rows, J[20];
    kn_mat cov = ref_new(T, T), noise = ref_new(T, T), x = ref_new(1, in.X.cols);
    kn_settings o = at(theta, in.B, KN_EXACT);
    kn_model *model;
    for (ptrdiff_t j = 0; j < T; j++)
        J[j] = j;
    assert_ok(ctx, kn_fit_arrays(ctx, view(in.X), view(in.Y), &o, &model));
    for (ptrdiff_t i = 0; i < ns; i++) {
        for (ptrdiff_t f = 0; f < in.X.cols; f++)
            x.data[f] = kn_at(in.Xs, i, f);
        assert_ok(ctx, kn_covariance(ctx, model, view(x), J, T, cov, noise));
        for (ptrdiff_t a = 0; a < T; a++)
            for (ptrdiff_t b = 0; b < T; b++) {
                assert_close(kn_at(cov, a, b), kn_at(full, a * ns + i, b * ns + i), 1e-10);
                assert_close(kn_at(noise, a, b), a == b ? exp(2 * theta.data[8]) : 0, 1e-14);
            }
    }
    kn_model_free(model);
    free(full.data), free(theta.data), free(cov.data), free(noise.data), free(x.data);
    json_decref(expected);
    unload(in);
}

/* ---- structured ------------------------------------------------------------------------------ */

/* A model at the fixed parameters of the golden file, without any fitting. */
static kn_gp fixed_model(inputs in, json_t *expected)
{
    kn_gp gp = {.method = &kn_method_smtgpr,
                .spec = {.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", in.X.cols)},
                .N = in.X.rows,
                .F = in.X.cols,
                .T = in.Y.cols,
                .P = in.B.cols};
    kn_pairs pairs;
    kn_decomp R0;
    kn_mat X, A;
    kn_mat c = golden_column(expected, "fixed.c"), d = golden_column(expected, "fixed.d");
    double theta[3];
    const kn_cov *cov = &gp.spec.sample;
    theta_at_rho(cov, golden_number(expected, "rho"), golden_number(expected, "length"), theta);
    assert_ok(ctx, kn_pairs_within(ctx, in.X, &cov->stats, &pairs));
    assert_ok(ctx, kn_decomp_new(ctx, gp.N, cov, &R0));
    assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, theta));
    kn_mat Z = ref_mul(0, in.Y, 0, in.B), UZ = ref_mul(1, R0.U, 0, Z);
    assert_ok(ctx, kn_mat_copy(ctx, UZ, &A));
    assert_ok(ctx, kn_mat_copy(ctx, in.X, &X));
    assert_ok(ctx, kn_mat_copy(ctx, in.B, &gp.B));
    assert_ok(ctx,
              kn_latent_new(ctx, &(kn_latent_parts){&X, &R0, &A, c.data, d.data, 0}, &gp.latent));
    kn_pairs_clear(&pairs);
    free(Z.data), free(UZ.data), free(c.data), free(d.data);
    return gp;
}

static void structured_fixed(const char *dir)
{
    inputs in = load(dir);
    json_t *expected = golden_json(dir, "expected");
    kn_gp gp = fixed_model(in, expected);
    kn_mat M = golden_matrix(dir, "mean"), V = golden_matrix(dir, "var_model");
    kn_mat R = golden_matrix(dir, "loo_residual"), L = golden_matrix(dir, "loo_var_model");
    kn_mat mean = ref_new(M.rows, M.cols), var = ref_new(M.rows, M.cols);
    kn_mat lm = ref_new(R.rows, R.cols), lv = ref_new(R.rows, R.cols);
    kn_gp_maps maps;
    kn_scaling s;
    assert_ok(ctx, kn_gp_predict(ctx, &gp, &(kn_predict_input){.X = in.Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    kn_gp_maps_clear(&maps);

    assert_ok(ctx, kn_scaling_new(ctx, view(in.Y), false, &s));
    kn_responses Y = kn_responses_of(view(in.Y), &s);
    assert_ok(ctx, kn_gp_loo(ctx, &gp, &Y, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, lm, lv));
    for (ptrdiff_t i = 0; i < R.rows * R.cols; i++)
        lm.data[i] = in.Y.data[i] - lm.data[i];
    assert_same(lm, R, 1e-10);
    assert_same(lv, L, 1e-10);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&s);
    kn_gp_clear(&gp);
    free(M.data), free(V.data), free(R.data), free(L.data), free(mean.data), free(var.data);
    free(lm.data), free(lv.data);
    json_decref(expected);
    unload(in);
}

static void structured_predictions_and_leave_one_out(void **state)
{
    (void)state;
    structured_fixed("structured/case1");
    structured_fixed("structured/case2");
}

static kn_model *structured_fit(const char *dir, inputs in, json_t *expected, int folds)
{
    kn_settings o;
    kn_model *model;
    plain_settings(&o);
    o.components = (int)in.B.cols;
    if (strcmp(json_string_value(json_object_get(expected, "basis")), "given") == 0)
        o.basis_view = view(in.B);
    (void)dir;
    o.rho = golden_number(expected, "rho");
    o.length = golden_number(expected, "length");
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = folds;
    assert_ok(ctx, kn_fit_arrays(ctx, view(in.X), view(in.Y), &o, &model));
    return model;
}

static void structured_profile(const char *dir)
{
    inputs in = load(dir);
    json_t *expected = golden_json(dir, "expected");
    kn_model *model = structured_fit(dir, in, expected, 0);
    kn_fit_info info;
    kn_model_info(model, &info);
    assert_close(info.lml, golden_number(expected, "profile.lml"), 1e-9);
    kn_mat c = golden_column(expected, "profile.c"), d = golden_column(expected, "profile.d");
    kn_view vc = kn_model_array(model, "c"), vd = kn_model_array(model, "d");
    kn_mat B = {(double *)kn_model_array(model, "B").data, in.B.rows, in.B.cols, in.B.rows};
    assert_same(B, in.B, 1e-10);
    for (ptrdiff_t p = 0; p < c.rows; p++) {
        bool flat = c.data[p] == 0;
        assert_close(kn_view_at(vc, p, 0) / d.data[p], c.data[p] / d.data[p], flat ? 1e-4 : 1e-6);
        assert_close(kn_view_at(vd, p, 0) / d.data[p], 1, flat ? 1e-4 : 1e-6);
    }
    kn_model_free(model);
    free(c.data), free(d.data);

    /* the envelope gradient */
    kn_mat Z = ref_mul(0, in.Y, 0, in.B);
    kn_spec spec = {.sample = cov_of("linear+se", in.X.cols)};
    kn_pairs pairs;
    kn_engine e;
    double lml, g[2];
    double total = kn_sumsq(in.Y);
    assert_ok(ctx, kn_pairs_within(ctx, in.X, &spec.sample.stats, &pairs));
    assert_ok(ctx, engine_of(ctx, &spec, &pairs, Z, in.Y.cols, total - kn_sumsq(Z), total, &e));
    assert_ok(ctx, nested_at(ctx, &e, golden_number(expected, "rho"),
                             golden_number(expected, "length"), &lml, g));
    assert_close(lml, golden_number(expected, "profile.lml"), 1e-9);
    assert_close(g[0], golden_number(expected, "profile.grad_logit_rho"), 1e-6);
    assert_close(g[1], golden_number(expected, "profile.grad_ln_length"), 1e-6);
    kn_mat parts = golden_column(expected, "profile.lml_component");
    assert_same(kn_mat_cols(e.lml, e.P, 1), parts, 1e-6);
    assert_close(e.s2, golden_number(expected, "profile.s2"), 1e-10);
    kn_engine_clear(&e);
    free(parts.data), free(Z.data);
    json_decref(expected);
    unload(in);
}

static void structured_profile_and_envelope_gradient(void **state)
{
    (void)state;
    structured_profile("structured/case1");
    structured_profile("structured/case2");
}

/* Of principal components the energies are enough: no pass over Y says more. */
static void check_in_sample(kn_gp *gp, const kn_responses *Y, bool pca)
{
    kn_mat sums = ref_new(gp->T, 1);
    double *energy = gp->energy;
    assert_true(pca == (energy != NULL));
    assert_ok(ctx, kn_gp_set_noise(ctx, gp, Y, NULL));
    kn_mat_set(sums, kn_mat_cols(gp->noise, gp->T, 1));
    gp->energy = NULL;
    assert_ok(ctx, kn_gp_set_noise(ctx, gp, Y, NULL));
    assert_same(sums, kn_mat_cols(gp->noise, gp->T, 1), 1e-12);
    gp->energy = energy;
    free(sums.data);
}

static void structured_folds(const char *dir)
{
    inputs in = load(dir);
    json_t *expected = golden_json(dir, "expected");
    kn_model *model = structured_fit(dir, in, expected, 0);
    kn_mat R = golden_matrix(dir, "fold_residual"), V = golden_matrix(dir, "fold_var_model");
    kn_mat f = golden_column(expected, "fold");
    kn_mat mean = ref_new(R.rows, R.cols), var = ref_new(R.rows, R.cols);
    int fold[64], folds = (int)golden_number(expected, "folds");
    kn_maps *maps;
    for (ptrdiff_t i = 0; i < R.rows; i++)
        fold[i] = (int)f.data[i];
    assert_ok(ctx, kn_maps_cv(ctx, model, view(in.Y), folds, fold, &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, R.cols, mean, var));
    for (ptrdiff_t i = 0; i < R.rows * R.cols; i++)
        mean.data[i] = in.Y.data[i] - mean.data[i];
    assert_same(mean, R, 1e-6);
    assert_same(var, V, 1e-6);
    kn_maps_free(maps);
    kn_model_free(model);

    /* noise_j from those maps */
    kn_gp_maps cv;
    kn_scaling s;
    assert_ok(ctx, kn_scaling_new(ctx, view(in.Y), false, &s));
    kn_responses Y = kn_responses_of(view(in.Y), &s);
    kn_spec spec = {.sample = cov_of("linear+se", in.X.cols)};
    bool given = strcmp(json_string_value(json_object_get(expected, "basis")), "given") == 0;
    kn_gp_options o = {.components = in.B.cols, .axes_given = true, .folds = 0};
    o.search = (kn_search_options){.rho = golden_number(expected, "rho"),
                                   .length = golden_number(expected, "length"),
                                   .seed = 1};
    if (given)
        o.basis = view(in.B);
    kn_gp gp;
    kn_fit_info info = {0};
    kn_fit_problem problem = {.X = in.X, .Y = Y, .spec = spec, .options = &o};
    assert_ok(ctx, kn_method_smtgpr.fit(ctx, &problem, &gp, &info));
    kn_fit_problem_clear(&problem);
    check_in_sample(&gp, &Y, !given);
    assert_ok(ctx,
              kn_gp_cv(ctx, &gp, &(kn_cv_problem){.Y = &Y, .folds = folds, .fold = fold}, &cv));
    assert_ok(ctx, kn_gp_set_noise(ctx, &gp, &Y, &cv));
    for (ptrdiff_t j = 0; j < R.cols; j++) { /* noise_j = max(mean(e^2 - v), 0.5 mean e^2) */
        double square = 0, variance = 0;
        for (ptrdiff_t i = 0; i < R.rows; i++) {
            square += kn_at(R, i, j) * kn_at(R, i, j) / (double)R.rows;
            variance += kn_at(V, i, j) / (double)R.rows;
        }
        assert_close(gp.noise[j], fmax(square - variance, 0.5 * square), 1e-6);
    }
    kn_gp_maps_clear(&cv);
    kn_gp_clear(&gp);
    kn_scaling_clear(&s);
    free(R.data), free(V.data), free(f.data), free(mean.data), free(var.data);
    json_decref(expected);
    unload(in);
}

static void structured_cross_validation_and_noise(void **state)
{
    (void)state;
    structured_folds("structured/case1");
    structured_folds("structured/case2");
}

TEST_PROGRAM(smtgpr_golden)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_likelihood_gradient_and_eigenvalues),
        cmocka_unit_test(iso_means_and_variances),
        cmocka_unit_test(iso_covariance_between_responses),
        cmocka_unit_test(structured_predictions_and_leave_one_out),
        cmocka_unit_test(structured_profile_and_envelope_gradient),
        cmocka_unit_test(structured_cross_validation_and_noise),
    };
    int failed = cmocka_run_group_tests_name("golden", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
