/* Participants held out of random small problems against fits without them. */
#include "support/fold_rows.h"
#include "support/oracles.h"

#include "gp/predict/predict.h"

static void leave_one_out_equals_refitting_without_the_sample(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int iso = 0; iso < 2; iso++) {
            problem p = random_problem(SHAPES[k]);
            kn_settings o = settings_at_fixed_parameters(p);
            kn_model *model;
            kn_maps *maps;
            double theta[9] = {-0.3, -0.5, 0.4, -0.7, -0.2, -0.4, 0.2, -0.6, -0.35};
            if (iso) {
                o.noise = KN_NOISE_ISO;
                o.sample_kernel = "linear+se+iso";
                o.sample_kernel = o.task_kernel = KERNELS[7];
                o.theta_start = theta;
                o.n_theta_start = 9;
            } else {
                o.rho = 0.4;
                o.length = 1.2;
            }
            assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model));
            assert_ok(ctx, kn_maps_loo(ctx, model, view(p.Y), &maps));
            kn_mat mean = ref_new(p.s.N, p.s.T), var = ref_new(p.s.N, p.s.T);
            assert_ok(ctx, kn_maps_block(ctx, maps, 0, p.s.T, mean, var));
            /* the components are independent: leave the row out of each */
            kn_view c = kn_model_array(model, "c"), d = kn_model_array(model, "d");
            kn_view Bv = kn_model_array(model, "B");
            kn_mat B = {(double *)Bv.data, Bv.rows, Bv.cols, Bv.rows};
            kn_mat Z = ref_mul(0, p.Y, 0, B);
            double iso_var = iso ? exp(2 * theta[7]) : 0;
            double r0[4] = {iso ? theta[4] : 0.5 * log(0.6 / p.s.F),
                            iso ? theta[5] : 0.5 * log(0.4), iso ? theta[6] : log(1.2), -INFINITY};
            kn_mat R = ref_kernel(p.X, p.X, r0, 1);
            for (int i = 0; i < p.s.N; i++) {
                kn_mat ml = ref_new(1, p.s.P), vl = ref_new(1, p.s.P);
                for (int q = 0; q < p.s.P; q++) {
                    kn_mat K = ref_new(p.s.N - 1, p.s.N - 1), ks = ref_new(1, p.s.N - 1);
                    kn_mat y = ref_new(p.s.N - 1, 1);
                    double cq = kn_view_at(c, q, 0), kss = cq * (kn_at(R, i, i) + iso_var);
                    for (int a = 0, ra = 0; a < p.s.N; a++) {
                        if (a == i)
                            continue;
                        for (int b = 0, rb = 0; b < p.s.N; b++)
                            if (b != i) {
                                kn_col(K, rb)[ra] =
                                    cq * kn_at(R, a, b) + (a == b) * kn_view_at(d, q, 0);
                                rb++;
                            }
                        ks.data[ra] = cq * kn_at(R, i, a);
                        y.data[ra] = kn_at(Z, a, q);
                        ra++;
                    }
                    ref_gp(K, y.data, ks, &kss, &ml.data[q], &vl.data[q]);
                    free(K.data), free(ks.data), free(y.data);
                }
                for (int j = 0; j < p.s.T; j++) {
                    double m = 0, v = 0;
                    for (int q = 0; q < p.s.P; q++) {
                        m += ml.data[q] * kn_at(B, j, q);
                        v += vl.data[q] * kn_at(B, j, q) * kn_at(B, j, q);
                    }
                    assert_close(kn_at(mean, i, j), m, 1e-9);
                    assert_close(kn_at(var, i, j), v, 1e-9);
                }
                free(ml.data), free(vl.data);
            }
            kn_maps_free(maps);
            kn_model_free(model);
            free(mean.data), free(var.data), free(Z.data), free(R.data);
            free_problem(p);
        }
}

/* Each fold: subtract the mean, take the leading right singular vectors through the T x T
 * covariance's eigenvectors, refit (c, d) or keep theta, predict. */
static void cross_validation_equals_literal_refits(void **state)
{
    (void)state;
    for (int trial = 0; trial < 8; trial++) {
        int iso = trial % 2, given = trial / 2 % 2, N = 14, T = 7, P = 3, folds = 4;
        kn_mat X = ref_normal(&rng, N, 2), Y = ref_normal(&rng, N, T);
        kn_mat Bg = ref_orthonormal(&rng, T, P);
        int fold[14];
        kn_settings o;
        kn_model *model;
        kn_maps *maps, *one;
        double theta[9] = {-0.6, -0.5, 0.9, -0.7, -0.2, -0.4, 0.2, -0.6, -0.35};
        for (int i = 0; i < N; i++)
            fold[i] = (int)kn_rng_below(&rng, folds);
        fold[0] = 0, fold[1] = 1, fold[2] = 2, fold[3] = 3;
        plain_settings(&o);
        o.components = P;
        o.max_evals = 0;
        o.standardise = 0;
        o.folds = 0;
        o.rho = 0.4;
        o.length = 1.2;
        if (given)
            o.basis_view = view(Bg);
        if (iso) {
            o.noise = KN_NOISE_ISO;
            o.sample_kernel = "linear+se+iso";
            o.sample_kernel = o.task_kernel = KERNELS[7];
            o.theta_start = theta;
            o.n_theta_start = 9;
        }
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
        assert_ok(ctx, kn_maps_cv(ctx, model, view(Y), folds, fold, &maps));
        kn_mat mean = ref_new(N, T), var = ref_new(N, T);
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
        for (int k = 0; k < folds; k++) {
            fold_rows r = fold_rows_of(X, Y, fold, k);
            /* a literal fit of the fold's rows; theta's task terms see features scaled by N/n */
            kn_model *refit;
            double th[9];
            memcpy(th, theta, sizeof th);
            th[0] += 0.5 * log(N / (double)r.n);
            th[2] -= 0.5 * log(N / (double)r.n);
            if (iso)
                o.theta_start = th;
            assert_ok(ctx, kn_fit_arrays(ctx, view(r.X), view(r.Y), &o, &refit));
            assert_ok(ctx, kn_maps_predict(ctx, refit, view(r.Xs), &one));
            kn_mat m = ref_new(r.n_held_out, T), v = ref_new(r.n_held_out, T);
            assert_ok(ctx, kn_maps_block(ctx, one, 0, T, m, v));
            assert_fold_is_refit(&r, mean, var, m, v);
            kn_maps_free(one);
            kn_model_free(refit);
            fold_rows_free(&r);
            free(m.data), free(v.data);
        }
        kn_maps_free(maps);
        kn_model_free(model);
        free(X.data), free(Y.data), free(Bg.data), free(mean.data), free(var.data);
    }
}

TEST_PROGRAM(smtgpr_oracle_folds)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 2024, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leave_one_out_equals_refitting_without_the_sample),
        cmocka_unit_test(cross_validation_equals_literal_refits),
    };
    int failed = cmocka_run_group_tests_name("oracle_folds", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
