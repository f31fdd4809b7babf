/* Random small problems against dense NT x NT Gaussians: every shape that could trip an index. */
#include "support/oracles.h"

#include <float.h>

#include "gp/predict/predict.h"

/* K = D (x) R + S (x) I */
static kn_mat two_kronecker(kn_mat D, kn_mat R, kn_mat S)
{
    kn_mat K = ref_kron(D, R);
    for (ptrdiff_t a = 0; a < S.rows; a++)
        for (ptrdiff_t b = 0; b < S.cols; b++)
            for (ptrdiff_t i = 0; i < R.rows; i++)
                kn_col(K, b * R.rows + i)[a * R.rows + i] += kn_at(S, a, b);
    return K;
}

typedef struct dense {
    double lml;
    kn_mat mean, var;
} dense;

/* D task covariance, S noise covariance between responses, kernels by theta */
static dense dense_gp(problem p, const double theta[4], kn_mat D, kn_mat S)
{
    kn_mat R = ref_kernel(p.X, p.X, theta, 1), Rs = ref_kernel(p.Xs, p.X, theta, 0);
    kn_mat Rss = ref_kernel(p.Xs, p.Xs, theta, 1);
    kn_mat K = two_kronecker(D, R, S), Ks = ref_kron(D, Rs);
    double *kss = calloc((size_t)(p.s.Ns * p.s.T), sizeof *kss);
    for (int t = 0; t < p.s.T; t++)
        for (int i = 0; i < p.s.Ns; i++)
            kss[t * p.s.Ns + i] = kn_at(D, t, t) * kn_at(Rss, i, i);
    dense d = {0, ref_new(p.s.Ns, p.s.T), ref_new(p.s.Ns, p.s.T)};
    d.lml = ref_gp(K, p.Y.data, Ks, kss, d.mean.data, d.var.data);
    free(R.data), free(Rs.data), free(Rss.data), free(K.data), free(Ks.data), free(kss);
    return d;
}

static kn_mat scaled_outer(kn_mat B, const double *c) /* B diag(c) B' */
{
    kn_mat BC = ref_new(B.rows, B.cols);
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            kn_col(BC, p)[j] = kn_at(B, j, p) * c[p];
    kn_mat out = ref_mul(0, BC, 1, B);
    free(BC.data);
    return out;
}

static void check_predictions(kn_model *model, problem p, dense d, double tol)
{
    kn_maps *maps;
    kn_mat mean = ref_new(p.s.Ns, p.s.T), var = ref_new(p.s.Ns, p.s.T);
    assert_ok(ctx, kn_maps_predict(ctx, model, view(p.Xs), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, p.s.T, mean, var));
    assert_same(mean, d.mean, tol);
    assert_same(var, d.var, tol);
    for (ptrdiff_t i = 0; i < var.rows * var.cols; i++)
        assert_true(var.data[i] >= 0);
    kn_maps_free(maps);
    free(mean.data), free(var.data);
}

static void iso_matches_the_dense_gaussian(void **state)
{
    (void)state;
    static const double noise[] = {-9.21, -4.6, -1.15, 0, 2.3, 4.6}; /* s2 from 1e-8 to 1e4 */
    for (int k = 0; k < N_SHAPES; k++)
        for (int n = 0; n < 6; n++) {
            problem p = random_problem(SHAPES[k]);
            double theta[9];
            for (int i = 0; i < 8; i++)
                theta[i] = 0.5 * kn_rng_normal(&rng) - 0.5;
            theta[8] = noise[n];
            kn_mat Z = ref_mul(0, p.Y, 0, p.B), Zt = ref_new(Z.cols, Z.rows);
            for (ptrdiff_t i = 0; i < Z.rows; i++)
                for (ptrdiff_t j = 0; j < Z.cols; j++)
                    kn_col(Zt, i)[j] = kn_at(Z, i, j);
            kn_mat C = ref_kernel(Zt, Zt, theta, 1), BC = ref_mul(0, p.B, 0, C);
            kn_mat D = ref_mul(0, BC, 1, p.B), S = ref_new(p.s.T, p.s.T);
            for (int t = 0; t < p.s.T; t++)
                kn_col(S, t)[t] = exp(2 * theta[8]);
            dense d = dense_gp(p, theta + 4, D, S);
            kn_settings o = settings_at_fixed_parameters(p);
            kn_model *model;
            kn_fit_info info;
            o.noise = KN_NOISE_ISO;
            o.sample_kernel = "linear+se+iso";
            o.sample_kernel = o.task_kernel = KERNELS[7];
            o.theta_start = theta;
            o.n_theta_start = 9;
            assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model));
            kn_model_info(model, &info);
            /* kernel entries are rounded: what lies below eps of the largest eigenvalue is lost
             * to any method in doubles, and shows where the noise is smaller still */
            double top = (double)(p.s.N * p.s.T) * 20,
                   tol = fmax(1e-10, 4 * DBL_EPSILON * top / exp(2 * theta[8]));
            assert_close(info.lml, d.lml, tol);
            check_predictions(model, p, d, tol);
            kn_model_free(model);
            free(Z.data), free(Zt.data), free(C.data), free(BC.data), free(D.data), free(S.data);
            free(d.mean.data), free(d.var.data);
            free_problem(p);
        }
}

static void structured_matches_the_dense_gaussian(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int n = 0; n < 6; n++) {
            problem p = random_problem(SHAPES[k]);
            kn_settings o = settings_at_fixed_parameters(p);
            kn_model *model;
            kn_fit_info info;
            o.rho = n == 0 ? 0 : n == 1 ? 1 : kn_rng_uniform(&rng);
            o.length = exp(0.5 * kn_rng_normal(&rng));
            assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model));
            kn_model_info(model, &info);
            kn_view c = kn_model_array(model, "c"), dd = kn_model_array(model, "d");
            kn_mat D = scaled_outer(p.B, c.data), S = scaled_outer(p.B, dd.data);
            kn_mat BB = ref_mul(0, p.B, 1, p.B);
            kn_mat Z = ref_mul(0, p.Y, 0, p.B);
            double E = kn_sumsq(p.Y) - kn_sumsq(Z), s2 = 0;
            if (p.s.P < p.s.T)
                s2 = E / (double)(p.s.N * (p.s.T - p.s.P));
            for (int a = 0; a < p.s.T; a++)
                for (int b = 0; b < p.s.T; b++)
                    kn_col(S, b)[a] += s2 * ((a == b) - kn_at(BB, a, b));
            double theta[4] = {0.5 * log((1 - o.rho) / p.s.F), 0.5 * log(o.rho), log(o.length),
                               -INFINITY};
            dense d = dense_gp(p, theta, D, S);
            assert_close(info.lml, d.lml, 1e-10);
            check_predictions(model, p, d, 1e-10);
            kn_model_free(model);
            free(D.data), free(S.data), free(BB.data), free(Z.data);
            free(d.mean.data), free(d.var.data);
            free_problem(p);
        }
}

/* Components at given c and d, far beyond what a fit would choose. */
static void components_match_dense_gaussians_at_any_noise(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int n = -8; n <= 4; n += 2) {
            problem p = random_problem(SHAPES[k]);
            double c = exp(kn_rng_normal(&rng)), d = pow(10, n), clamped = 0;
            double r0[4] = {0.5 * log(0.7 / p.s.F), 0.5 * log(0.3), 0.2, -INFINITY};
            kn_mat R = ref_kernel(p.X, p.X, r0, 1), Rs = ref_kernel(p.Xs, p.X, r0, 0);
            kn_mat Rss = ref_kernel(p.Xs, p.Xs, r0, 1), z = ref_normal(&rng, p.s.N, 1);
            kn_mat em = ref_new(p.s.Ns, 1), ev = ref_new(p.s.Ns, 1);
            kn_mat mean = ref_new(p.s.Ns, 1), var = ref_new(p.s.Ns, 1);
            double *kss = calloc((size_t)p.s.Ns, sizeof *kss);
            for (int i = 0; i < p.s.N * p.s.N; i++)
                R.data[i] *= c;
            for (int i = 0; i < p.s.N; i++)
                kn_col(R, i)[i] += d;
            for (int i = 0; i < p.s.Ns * p.s.N; i++)
                Rs.data[i] *= c;
            for (int i = 0; i < p.s.Ns; i++)
                kss[i] = c * kn_at(Rss, i, i);
            double lml = ref_gp(R, z.data, Rs, kss, em.data, ev.data);

            kn_cov cov = cov_of("linear+se", p.s.F);
            kn_pairs pairs;
            kn_decomp R0;
            kn_latent latent;
            kn_mat X, A, UZ;
            assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
            assert_ok(ctx, kn_decomp_new(ctx, p.s.N, &cov, &R0));
            assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, r0));
            UZ = ref_mul(1, R0.U, 0, z);
            double mine = -0.5 * p.s.N * log(2 * M_PI);
            for (int i = 0; i < p.s.N; i++) {
                double e = c * R0.r[i] + d;
                mine -= 0.5 * (log(e) + UZ.data[i] * UZ.data[i] / e);
            }
            assert_ok(ctx, kn_mat_copy(ctx, p.X, &X));
            assert_ok(ctx, kn_mat_copy(ctx, UZ, &A));
            assert_ok(ctx, kn_latent_new(ctx, &(kn_latent_parts){&X, &R0, &A, &c, &d, 0}, &latent));
            assert_ok(ctx, kn_latent_predict(ctx, &latent, &(kn_predict_input){.X = p.Xs}, mean,
                                             var, &clamped));
            double tol = fmax(1e-10, 100 * DBL_EPSILON * c * p.s.N / d);
            assert_close(mine, lml, tol);
            assert_same(mean, em, tol);
            assert_same(var, ev, tol);
            for (int i = 0; i < p.s.Ns; i++)
                assert_true(var.data[i] >= 0);
            assert_true(clamped <= tol);
            kn_latent_clear(&latent);
            kn_pairs_clear(&pairs);
            free(R.data), free(Rs.data), free(Rss.data), free(z.data), free(em.data), free(ev.data);
            free(mean.data), free(var.data), free(UZ.data), free(kss);
            free_problem(p);
        }
}

static void order_of_rows_and_responses_does_not_matter(void **state)
{
    (void)state;
    ptrdiff_t N = 40, T = 9, rows[40], cols[9];
    kn_mat X = ref_normal(&rng, N, 2), Y = ref_normal(&rng, N, T), Xs = ref_normal(&rng, 5, 2);
    kn_mat X2 = ref_new(N, 2), Y2 = ref_new(N, T);
    kn_rng_permutation(&rng, N, rows);
    kn_rng_permutation(&rng, T, cols);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Y, j)[i] += 2 * sin(kn_at(X, i, 0) + (double)j);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t f = 0; f < 2; f++)
            kn_col(X2, f)[i] = kn_at(X, rows[i], f);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(Y2, j)[i] = kn_at(Y, rows[i], cols[j]);
    }
    for (int iso = 0; iso < 2; iso++) {
        kn_settings o;
        kn_model *a, *b;
        kn_maps *ma, *mb;
        kn_fit_info ia, ib;
        kn_mat m1 = ref_new(5, T), m2 = ref_new(5, T), v1 = ref_new(5, T), v2 = ref_new(5, T);
        plain_settings(&o);
        o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
        o.sample_kernel = iso ? "linear+se+iso" : "linear+se";
        o.components = 3;
        o.folds = 0;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &a));
        assert_ok(ctx, kn_fit_arrays(ctx, view(X2), view(Y2), &o, &b));
        kn_model_info(a, &ia);
        kn_model_info(b, &ib);
        assert_close(ia.lml, ib.lml, 1e-7);
        assert_ok(ctx, kn_maps_predict(ctx, a, view(Xs), &ma));
        assert_ok(ctx, kn_maps_predict(ctx, b, view(Xs), &mb));
        assert_ok(ctx, kn_maps_block(ctx, ma, 0, T, m1, v1));
        assert_ok(ctx, kn_maps_block(ctx, mb, 0, T, m2, v2));
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < 5; i++) {
                assert_close(kn_at(m2, i, j), kn_at(m1, i, cols[j]), 1e-4);
                assert_close(kn_at(v2, i, j), kn_at(v1, i, cols[j]), 1e-4);
            }
        kn_maps_free(ma);
        kn_maps_free(mb);
        kn_model_free(a);
        kn_model_free(b);
        free(m1.data), free(m2.data), free(v1.data), free(v2.data);
    }
    free(X.data), free(Y.data), free(Xs.data), free(X2.data), free(Y2.data);
}

static void units_and_scales_come_back(void **state)
{
    (void)state;
    ptrdiff_t N = 30, T = 4;
    kn_mat X = ref_normal(&rng, N, 2), Y = ref_normal(&rng, N, T), X2 = ref_new(N, 2);
    kn_mat Y2 = ref_new(N, T), m1 = ref_new(N, T), m2 = ref_new(N, T), v1 = ref_new(N, T);
    kn_mat v2 = ref_new(N, T);
    double n1[4], n2[4];
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(X2, 0)[i] = 1000 + 5 * kn_at(X, i, 0);
        kn_col(X2, 1)[i] = -3 + 0.01 * kn_at(X, i, 1);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(Y2, j)[i] = 100 * (double)j + 7 * kn_at(Y, i, j);
    }
    kn_settings o;
    kn_model *a, *b;
    kn_maps *ma, *mb;
    plain_settings(&o);
    o.components = 2;
    o.rho = 0.3;
    o.length = 1.5;
    o.max_evals = 0;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &a));
    assert_ok(ctx, kn_fit_arrays(ctx, view(X2), view(Y2), &o, &b));
    assert_ok(ctx, kn_maps_predict(ctx, a, view(X), &ma));
    assert_ok(ctx, kn_maps_predict(ctx, b, view(X2), &mb));
    assert_ok(ctx, kn_maps_block(ctx, ma, 0, T, m1, v1));
    assert_ok(ctx, kn_maps_block(ctx, mb, 0, T, m2, v2));
    assert_ok(ctx, kn_model_noise(ctx, a, n1));
    assert_ok(ctx, kn_model_noise(ctx, b, n2));
    for (ptrdiff_t j = 0; j < T; j++) {
        assert_close(n2[j], 49 * n1[j], 1e-6);
        for (ptrdiff_t i = 0; i < N; i++) {
            assert_close(kn_at(m2, i, j), 100 * (double)j + 7 * kn_at(m1, i, j), 1e-6);
            assert_close(kn_at(v2, i, j), 49 * kn_at(v1, i, j), 1e-6);
        }
    }
    kn_maps_free(ma);
    kn_maps_free(mb);
    kn_model_free(a);
    kn_model_free(b);
    free(X.data), free(Y.data), free(X2.data), free(Y2.data);
    free(m1.data), free(m2.data), free(v1.data), free(v2.data);
}

TEST_PROGRAM(smtgpr_oracle)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 2024, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_matches_the_dense_gaussian),
        cmocka_unit_test(structured_matches_the_dense_gaussian),
        cmocka_unit_test(components_match_dense_gaussians_at_any_noise),
        cmocka_unit_test(order_of_rows_and_responses_does_not_matter),
        cmocka_unit_test(units_and_scales_come_back),
    };
    int failed = cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
