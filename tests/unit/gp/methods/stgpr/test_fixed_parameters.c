/* STGPR at given parameters: golden numbers, dense Gaussians, refits of folds. */
#include "support/fold_rows.h"
#include "support/stgprs.h"

#include "gp/gp.h"
#include "gp/methods/methods.h"
#include "gp/methods/stgpr/internal.h"
#include "gp/methods/stgpr/weight_cells.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/predict.h"

/* ---- golden: the plain path at given parameters ---------------------------------------------- */

static void matches_golden(const char *dir)
{
    kn_mat X = golden_matrix(dir, "X"), Y = golden_matrix(dir, "Y"),
           Xs = golden_matrix(dir, "Xstar");
    kn_mat theta = golden_matrix(dir, "stgpr_theta"), L = golden_matrix(dir, "stgpr_lml");
    kn_mat G = golden_matrix(dir, "stgpr_grad"), M = golden_matrix(dir, "stgpr_mean");
    kn_mat V = golden_matrix(dir, "stgpr_var");
    ptrdiff_t T = Y.cols;
    kn_mat lml = ref_new(T, 1), grad = ref_new(T, 4);
    kn_mat mean = ref_new(Xs.rows, T), var = ref_new(Xs.rows, T);
    kn_gp gp = {.method = &kn_method_stgpr,
                .spec = {.sample = cov_of("linear+se", X.cols)},
                .N = X.rows,
                .F = X.cols,
                .T = T};
    kn_search_options o = {.limits = {.evals_left = -1}};
    kn_pairs own, pairs;
    kn_search_result found;
    kn_gp_maps maps;
    int evals = 0;
    const kn_cov *cov = &gp.spec.sample;
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov->stats, &own));
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov->stats, &pairs));
    assert_ok(ctx, kn_plain_fit(ctx, &own, cov, Y, &o, false, theta, true, lml.data, grad, &found));
    assert_same(lml, L, 1e-10);
    assert_same(grad, G, 1e-10);
    assert_ok(ctx, kn_stgpr_allocate(ctx, &gp));
    kn_stgpr *s = gp.own;
    assert_ok(ctx, kn_stgpr_new(ctx, X.rows, T, s));
    kn_mat_set(s->alpha, Y);
    assert_ok(ctx, kn_plain_cells(ctx, cov, theta, s));
    kn_cell_samples samples = {.cov = cov, .pairs = &pairs};
    assert_ok(ctx, kn_stgpr_finish(ctx, &samples, true, s, &evals));
    assert_ok(ctx, kn_mat_copy(ctx, X, &gp.latent.X));
    assert_ok(ctx, kn_gp_predict(ctx, &gp, &(kn_predict_input){.X = Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    kn_gp_maps_clear(&maps);
    kn_gp_clear(&gp);
    kn_pairs_clear(&pairs);
    free(X.data), free(Y.data), free(Xs.data), free(theta.data), free(L.data), free(G.data);
    free(M.data), free(V.data), free(lml.data), free(grad.data), free(mean.data), free(var.data);
}

static void likelihood_gradient_and_predictions_match_golden(void **state)
{
    (void)state;
    matches_golden("case1");
    matches_golden("case2");
    matches_golden("case3");
}

/* ---- one cell for all responses, held ---------------------------------------------------------*/

static const struct {
    int N, T, F;
    bool duplicate;
} SHAPES[] = {
    {3, 1, 1, false}, {4, 3, 2, true}, {7, 9, 3, false}, {10, 4, 1, true}, {12, 20, 2, false}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static void a_cell_matches_dense_gaussians_and_leave_one_out_refits(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int n = 0; n < 4; n++) {
            problem p = random_problem(SHAPES[k].N, SHAPES[k].T, SHAPES[k].F, SHAPES[k].duplicate);
            double rho = n == 0 ? 0 : n == 1 ? 1 : kn_rng_uniform(&rng);
            double length = exp(0.5 * kn_rng_normal(&rng)), sum = 0;
            kn_settings o = settings_at_fixed_parameters(rho, length);
            kn_fit_info info;
            kn_maps *loo;
            kn_model *model = fit(p.X, p.Y, &o, &info);
            ptrdiff_t T = p.Y.cols;
            kn_view c = kn_model_array(model, "c"), d = kn_model_array(model, "d");
            maps_of m = predict(model, p.Xs, T);
            assert_ok(ctx, kn_maps_loo(ctx, model, view(p.Y), &loo));
            maps_of l = collect(loo, T);
            double r0[4] = {0.5 * log((1 - rho) / SHAPES[k].F), 0.5 * log(rho), log(length),
                            -INFINITY};
            double *noise = calloc((size_t)T, sizeof *noise);
            assert_ok(ctx, kn_model_noise(ctx, model, noise));
            for (ptrdiff_t j = 0; j < T; j++) {
                double lml, mean[4], var[4], cj = kn_view_at(c, j, 0), dj = kn_view_at(d, j, 0);
                dense_response(p, r0, cj, dj, j, -1, p.Xs, &lml, mean, var);
                sum += lml;
                assert_close(noise[j], dj, 1e-14);
                for (int i = 0; i < 4; i++) {
                    assert_close(kn_at(m.mean, i, j), mean[i], 1e-10);
                    assert_close(kn_at(m.var, i, j), var[i], 1e-10);
                }
                for (ptrdiff_t i = 0; i < p.X.rows; i++) {
                    kn_mat x = ref_new(1, p.X.cols);
                    for (ptrdiff_t f = 0; f < p.X.cols; f++)
                        x.data[f] = kn_at(p.X, i, f);
                    dense_response(p, r0, cj, dj, j, i, x, &lml, mean, var);
                    assert_close(kn_at(l.mean, i, j), mean[0], 1e-9);
                    assert_close(kn_at(l.var, i, j), var[0], 1e-9);
                    free(x.data);
                }
            }
            assert_close(info.lml, sum, 1e-10);
            assert_int_equal(info.stop, KN_STOP_NOT_OPTIMISED);
            assert_int_equal(info.n_components, 0);
            release(m), release(l);
            free(noise);
            kn_model_free(model);
            free_problem(p);
        }
}

static void cross_validation_equals_literal_refits(void **state)
{
    (void)state;
    enum { N = 14, T = 7, FOLDS = 4 };
    problem p = random_problem(N, T, 2, false);
    kn_settings o = settings_at_fixed_parameters(0.4, 1.2);
    kn_fit_info info;
    kn_maps *maps;
    int fold[N];
    for (int i = 0; i < N; i++)
        fold[i] = (3 * i + i / 5) % FOLDS;
    kn_model *model = fit(p.X, p.Y, &o, &info);
    assert_ok(ctx, kn_maps_cv(ctx, model, view(p.Y), FOLDS, fold, &maps));
    maps_of m = collect(maps, T);
    for (int k = 0; k < FOLDS; k++) {
        fold_rows r = fold_rows_of(p.X, p.Y, fold, k);
        kn_model *refit = fit(r.X, r.Y, &o, &info);
        maps_of one = predict(refit, r.Xs, T);
        assert_fold_is_refit(&r, m.mean, m.var, one.mean, one.var);
        release(one);
        kn_model_free(refit);
        fold_rows_free(&r);
    }
    release(m);
    kn_model_free(model);
    free_problem(p);
}

TEST_PROGRAM(stgpr_fixed_parameters)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_gradient_and_predictions_match_golden),
        cmocka_unit_test(a_cell_matches_dense_gaussians_and_leave_one_out_refits),
        cmocka_unit_test(cross_validation_equals_literal_refits),
    };
    return cmocka_run_group_tests_name("stgpr_held", tests, begin_seeded, end);
}
