/* Random small problems against dense NT x NT Gaussians: every shape that could trip an index. */
#include "covs.h"
#include "gp/predict.h"
#include "test.h"
#include "views.h"

#include <float.h>

#include "base/rng.h"
#include "gp/search.h"

static kn_ctx *ctx;
static kn_rng rng;

typedef struct shape {
    int N, T, P, F, Ns;
    bool duplicate; /* half of the rows of X repeated: R is rank deficient */
} shape;

static const shape SHAPES[] = {
    {3, 1, 1, 1, 1, false}, {3, 2, 1, 1, 2, false}, {3, 2, 2, 2, 1, false}, {4, 3, 1, 1, 3, true},
    {4, 3, 3, 2, 1, false}, {5, 6, 2, 3, 2, true},  {6, 4, 4, 1, 2, true},  {7, 9, 3, 2, 4, false},
    {8, 5, 2, 6, 1, true},  {6, 7, 5, 2, 3, false}, {9, 2, 1, 3, 2, false}, {10, 6, 6, 4, 2, true},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

typedef struct problem {
    shape s;
    kn_mat X, Xs, Y, B;
} problem;

static problem random_problem(shape s)
{
    problem p = {s, ref_normal(&rng, s.N, s.F), ref_normal(&rng, s.Ns, s.F),
                 ref_normal(&rng, s.N, s.T), ref_orthonormal(&rng, s.T, s.P)};
    for (int i = 0; s.duplicate && i < s.N / 2; i++)
        for (int f = 0; f < s.F; f++)
            kn_col(p.X, f)[s.N - 1 - i] = kn_at(p.X, i, f);
    for (int f = 0; f < s.F; f++) /* a new sample equal to a training one */
        kn_col(p.Xs, f)[0] = kn_at(p.X, 0, f);
    return p;
}

static void free_problem(problem p)
{
    free(p.X.data), free(p.Xs.data), free(p.Y.data), free(p.B.data);
}

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

static kn_settings held(problem p)
{
    kn_settings o;
    classic_settings(&o);
    o.basis_view = view(p.B);
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = 0;
    return o;
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
            kn_settings o = held(p);
            kn_model *model;
            kn_fit_info info;
            o.noise = KN_NOISE_ISO;
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
            kn_settings o = held(p);
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
            assert_ok(ctx, kn_latent_predict(ctx, &latent, &(kn_newcomers){.X = p.Xs}, mean, var,
                                             &clamped));
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

static void leave_one_out_equals_refitting_without_the_sample(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int iso = 0; iso < 2; iso++) {
            problem p = random_problem(SHAPES[k]);
            kn_settings o = held(p);
            kn_model *model;
            kn_maps *maps;
            double theta[9] = {-0.3, -0.5, 0.4, -0.7, -0.2, -0.4, 0.2, -0.6, -0.35};
            if (iso) {
                o.noise = KN_NOISE_ISO;
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
        classic_settings(&o);
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
            o.sample_kernel = o.task_kernel = KERNELS[7];
            o.theta_start = theta;
            o.n_theta_start = 9;
        }
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
        assert_ok(ctx, kn_maps_cv(ctx, model, view(Y), folds, fold, &maps));
        kn_mat mean = ref_new(N, T), var = ref_new(N, T);
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
        for (int k = 0; k < folds; k++) {
            int n = 0, ns = 0, tr[14], te[14];
            for (int i = 0; i < N; i++)
                if (fold[i] == k)
                    te[ns++] = i;
                else
                    tr[n++] = i;
            kn_mat Xt = ref_new(n, 2), Yt = ref_new(n, T), Xs = ref_new(ns, 2), mu = ref_new(T, 1);
            for (int f = 0; f < 2; f++) {
                for (int i = 0; i < n; i++)
                    kn_col(Xt, f)[i] = kn_at(X, tr[i], f);
                for (int i = 0; i < ns; i++)
                    kn_col(Xs, f)[i] = kn_at(X, te[i], f);
            }
            for (int j = 0; j < T; j++) {
                for (int i = 0; i < n; i++)
                    mu.data[j] += kn_at(Y, tr[i], j) / n;
                for (int i = 0; i < n; i++)
                    kn_col(Yt, j)[i] = kn_at(Y, tr[i], j) - mu.data[j];
            }
            /* a literal fit of the fold's rows; theta's task terms see features scaled by N/n */
            kn_model *refit;
            double th[9];
            memcpy(th, theta, sizeof th);
            th[0] += 0.5 * log((double)N / n);
            th[2] -= 0.5 * log((double)N / n);
            if (iso)
                o.theta_start = th;
            assert_ok(ctx, kn_fit_arrays(ctx, view(Xt), view(Yt), &o, &refit));
            assert_ok(ctx, kn_maps_predict(ctx, refit, view(Xs), &one));
            kn_mat m = ref_new(ns, T), v = ref_new(ns, T);
            assert_ok(ctx, kn_maps_block(ctx, one, 0, T, m, v));
            for (int j = 0; j < T; j++)
                for (int i = 0; i < ns; i++) {
                    assert_close(kn_at(mean, te[i], j), kn_at(m, i, j) + mu.data[j], 1e-9);
                    assert_close(kn_at(var, te[i], j), kn_at(v, i, j), 1e-9);
                }
            kn_maps_free(one);
            kn_model_free(refit);
            free(Xt.data), free(Yt.data), free(Xs.data), free(mu.data), free(m.data), free(v.data);
        }
        kn_maps_free(maps);
        kn_model_free(model);
        free(X.data), free(Y.data), free(Bg.data), free(mean.data), free(var.data);
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
        classic_settings(&o);
        o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
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
    classic_settings(&o);
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

int main(void)
{
    ctx = kn_ctx_new();
    kn_rng_init(&rng, 2024, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_matches_the_dense_gaussian),
        cmocka_unit_test(structured_matches_the_dense_gaussian),
        cmocka_unit_test(components_match_dense_gaussians_at_any_noise),
        cmocka_unit_test(joint_gradient_matches_central_differences),
        cmocka_unit_test(nested_gradient_matches_central_differences),
        cmocka_unit_test(leave_one_out_equals_refitting_without_the_sample),
        cmocka_unit_test(cross_validation_equals_literal_refits),
        cmocka_unit_test(order_of_rows_and_responses_does_not_matter),
        cmocka_unit_test(units_and_scales_come_back),
    };
    int failed = cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
