/* STGPR: golden numbers, dense Gaussians, and the cells against each response's own optimum. */
#include "covs.h"
#include "gp/maps.h"
#include "gp/noise.h"
#include "gp/predict.h"
#include "gp/stgpr.h"
#include "gp/stgpr_single.h"
#include "test.h"
#include "work/predictions.h"

#include "base/rng.h"
#include "gp/gp.h"

static kn_ctx *ctx;
static kn_rng rng;

static kn_view view(kn_mat m)
{
    return kn_view_cols(m.data, m.rows, m.cols);
}

typedef struct maps_of {
    kn_mat mean, var;
} maps_of;

static maps_of collect(kn_maps *maps, ptrdiff_t T)
{
    ptrdiff_t n = kn_maps_samples(maps);
    maps_of m = {ref_new(n, T), ref_new(n, T)};
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, m.mean, m.var));
    kn_maps_free(maps);
    return m;
}

static maps_of predict(const kn_model *model, kn_mat Xs, ptrdiff_t T)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, model, view(Xs), &maps));
    return collect(maps, T);
}

static void release(maps_of m)
{
    free(m.mean.data), free(m.var.data);
}

static kn_model *fit(kn_mat X, kn_mat Y, const kn_settings *o, kn_fit_info *info)
{
    kn_model *model;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), o, &model));
    kn_model_info(model, info);
    return model;
}

/* ---- golden: the plain path at given parameters ---------------------------------------------- */

static void matches_golden(const char *dir)
{
    kn_mat X = ref_csv(dir, "X.csv"), Y = ref_csv(dir, "Y.csv"), Xs = ref_csv(dir, "Xstar.csv");
    kn_mat theta = ref_csv(dir, "stgpr_theta.csv"), L = ref_csv(dir, "stgpr_lml.csv");
    kn_mat G = ref_csv(dir, "stgpr_grad.csv"), M = ref_csv(dir, "stgpr_mean.csv");
    kn_mat V = ref_csv(dir, "stgpr_var.csv");
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
    kn_found found;
    kn_gp_maps maps;
    int evals = 0;
    const kn_cov *cov = &gp.spec.sample;
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov->stats, &own));
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov->stats, &pairs));
    assert_ok(ctx, kn_plain_fit(ctx, &own, cov, Y, &o, false, theta, true, lml.data, grad, &found));
    assert_same(lml, L, 1e-10);
    assert_same(grad, G, 1e-10);
    assert_ok(ctx, kn_stgpr_own(ctx, &gp));
    kn_stgpr *s = gp.own;
    assert_ok(ctx, kn_stgpr_new(ctx, X.rows, T, s));
    kn_mat_set(s->alpha, Y);
    assert_ok(ctx, kn_plain_cells(ctx, cov, theta, s));
    kn_cell_samples samples = {.cov = cov, .pairs = &pairs};
    assert_ok(ctx, kn_stgpr_finish(ctx, &samples, true, s, &evals));
    assert_ok(ctx, kn_mat_copy(ctx, X, &gp.latent.X));
    assert_ok(ctx, kn_gp_predict(ctx, &gp, &(kn_newcomers){.X = Xs}, &maps));
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

typedef struct problem {
    kn_mat X, Y, Xs;
} problem;

static problem random_problem(int N, int T, int F, bool duplicate)
{
    problem p = {ref_normal(&rng, N, F), ref_normal(&rng, N, T), ref_normal(&rng, 4, F)};
    for (int i = 0; duplicate && i < N / 2; i++)
        for (int f = 0; f < F; f++)
            kn_col(p.X, f)[N - 1 - i] = kn_at(p.X, i, f);
    for (int f = 0; f < F; f++)
        kn_col(p.Xs, f)[0] = kn_at(p.X, 0, f);
    for (int j = 0; j < T; j++)
        for (int i = 0; i < N; i++)
            kn_col(p.Y, j)[i] += 1.5 * sin(2 * kn_at(p.X, i, 0) + j) * (j % 3);
    return p;
}

static void free_problem(problem p)
{
    free(p.X.data), free(p.Y.data), free(p.Xs.data);
}

static kn_settings old_sum(void)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "stgpr";
    o.sample_kernel = "linear+se";
    return o;
}

static kn_settings held(double rho, double length)
{
    kn_settings o = old_sum();
    o.rho = rho;
    o.length = length;
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = 0;
    return o;
}

static const struct {
    int N, T, F;
    bool duplicate;
} SHAPES[] = {
    {3, 1, 1, false}, {4, 3, 2, true}, {7, 9, 3, false}, {10, 4, 1, true}, {12, 20, 2, false}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* K = c R0 + d I over the training samples without `skip` (-1: all); returns rows kept */
static void dense_response(problem p, const double *r0, double c, double d, ptrdiff_t j,
                           ptrdiff_t skip, kn_mat Xs, double *lml, double *mean, double *var)
{
    ptrdiff_t n = p.X.rows - (skip >= 0), rows[64], k = 0;
    for (ptrdiff_t i = 0; i < p.X.rows; i++)
        if (i != skip)
            rows[k++] = i;
    kn_mat X = ref_new(n, p.X.cols), y = ref_new(n, 1);
    kn_mat_rows(p.X, rows, X);
    kn_mat_rows(kn_cols(p.Y, j, 1), rows, y);
    kn_mat K = ref_kernel(X, X, r0, 0), Ks = ref_kernel(Xs, X, r0, 0);
    kn_mat Kss = ref_kernel(Xs, Xs, r0, 0);
    double *kss = calloc((size_t)Xs.rows, sizeof *kss);
    for (ptrdiff_t a = 0; a < n; a++)
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(K, b)[a] = c * kn_at(K, a, b) + (a == b) * d;
    for (ptrdiff_t i = 0; i < Xs.rows * n; i++)
        Ks.data[i] *= c;
    for (ptrdiff_t i = 0; i < Xs.rows; i++)
        kss[i] = c * kn_at(Kss, i, i);
    *lml = ref_gp(K, y.data, Ks, kss, mean, var);
    free(X.data), free(y.data), free(K.data), free(Ks.data), free(Kss.data), free(kss);
}

static void a_cell_matches_dense_gaussians_and_leave_one_out_refits(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int n = 0; n < 4; n++) {
            problem p = random_problem(SHAPES[k].N, SHAPES[k].T, SHAPES[k].F, SHAPES[k].duplicate);
            double rho = n == 0 ? 0 : n == 1 ? 1 : kn_rng_uniform(&rng);
            double length = exp(0.5 * kn_rng_normal(&rng)), sum = 0;
            kn_settings o = held(rho, length);
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
    kn_settings o = held(0.4, 1.2);
    kn_fit_info info;
    kn_maps *maps;
    int fold[N];
    for (int i = 0; i < N; i++)
        fold[i] = (3 * i + i / 5) % FOLDS;
    kn_model *model = fit(p.X, p.Y, &o, &info);
    assert_ok(ctx, kn_maps_cv(ctx, model, view(p.Y), FOLDS, fold, &maps));
    maps_of m = collect(maps, T);
    for (int k = 0; k < FOLDS; k++) {
        ptrdiff_t tr[N], te[N], n = 0, ns = 0;
        for (int i = 0; i < N; i++)
            if (fold[i] == k)
                te[ns++] = i;
            else
                tr[n++] = i;
        kn_mat Xt = ref_new(n, 2), Yt = ref_new(n, T), Xs = ref_new(ns, 2), mu = ref_new(T, 1);
        kn_mat_rows(p.X, tr, Xt);
        kn_mat_rows(p.Y, tr, Yt);
        kn_mat_rows(p.X, te, Xs);
        for (int j = 0; j < T; j++) {
            for (ptrdiff_t i = 0; i < n; i++)
                mu.data[j] += kn_at(Yt, i, j) / (double)n;
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(Yt, j)[i] -= mu.data[j];
        }
        kn_model *refit = fit(Xt, Yt, &o, &info);
        maps_of one = predict(refit, Xs, T);
        for (int j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < ns; i++) {
                assert_close(kn_at(m.mean, te[i], j), kn_at(one.mean, i, j) + mu.data[j], 1e-9);
                assert_close(kn_at(m.var, te[i], j), kn_at(one.var, i, j), 1e-9);
            }
        release(one);
        kn_model_free(refit);
        free(Xt.data), free(Yt.data), free(Xs.data), free(mu.data);
    }
    release(m);
    kn_model_free(model);
    free_problem(p);
}

/* ---- the search -------------------------------------------------------------------------------*/

typedef struct shortfall {
    int within, n;
    double worst;
} shortfall;

/* How far below each response's own optimum, from several starts and over the same lengths, the
 * shared cells stay. X and Y standardised. */
static shortfall against_own_optimum(kn_mat X, kn_mat Y, int restarts)
{
    kn_settings o;
    kn_fit_info info;
    kn_search_options so = {.restarts = restarts,
                            .seed = 1,
                            .optimise = true,
                            .limits = {.evals_left = -1}};
    kn_mat theta = ref_new(Y.cols, 4), grad = ref_new(Y.cols, 4), own = ref_new(Y.cols, 1);
    kn_pairs pairs;
    kn_found found;
    shortfall s = {0, (int)Y.cols, -INFINITY};
    o = old_sum();
    o.folds = 0;
    o.standardise = 0;
    kn_model *cells = fit(X, Y, &o, &info);
    kn_cov cov = cov_of("linear+se", X.cols);
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &pairs));
    assert_ok(ctx,
              kn_plain_fit(ctx, &pairs, &cov, Y, &so, true, theta, false, own.data, grad, &found));
    kn_view lml = kn_model_array(cells, "lml"), at = kn_model_array(cells, "cells");
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        double short_by = own.data[j] - kn_view_at(lml, j, 0);
        s.within += short_by <= 0.1;
        s.worst = fmax(s.worst, short_by);
        if (getenv("KN_VERBOSE") && short_by > 0.05) {
            ptrdiff_t k = (ptrdiff_t)kn_view_at(kn_model_array(cells, "cell"), j, 0);
            fprintf(stderr, "response %td short by %.3f: own %.3f %.3f %.3f %.3f, cell %.3g %.3g\n",
                    j, short_by, kn_at(theta, j, 0), kn_at(theta, j, 1), kn_at(theta, j, 2),
                    kn_at(theta, j, 3), kn_view_at(at, k, 1), kn_view_at(at, k, 2));
        }
    }
    if (getenv("KN_VERBOSE"))
        fprintf(stderr, "%d of %d within 0.1 nat, worst %.3g, %td cells, %d decompositions\n",
                s.within, s.n, s.worst, at.rows, info.evaluations);
    kn_model_free(cells);
    free(theta.data), free(grad.data), free(own.data);
    return s;
}

static void standardise(kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++) {
        double *x = kn_col(M, j), n = (double)M.rows, mean = 0, var = 0;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            mean += x[i] / n;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            var += (x[i] - mean) * (x[i] - mean) / n;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            x[i] = (x[i] - mean) / sqrt(var);
    }
}

static void assert_close_to_own_optimum(kn_mat X, kn_mat Y, int restarts)
{
    standardise(X), standardise(Y);
    shortfall s = against_own_optimum(X, Y, restarts);
    assert_true(s.within >= s.n - 1);
    assert_true(s.worst < 1);
    free(X.data), free(Y.data);
}

static void cells_come_close_to_the_optimum_of_each_smooth_response(void **state)
{
    (void)state;
    enum { N = 120, F = 3 };
    int T = repeat(60, 20);
    kn_rng own; /* the same data whatever tests run before */
    kn_rng_init(&own, getenv("KN_SEED") ? strtoull(getenv("KN_SEED"), NULL, 10) : 1, 33);
    kn_mat X = ref_normal(&own, N, F), Y = ref_normal(&own, N, T);
    for (int j = 0; j < T; j++) {
        double a = 1.5 * kn_rng_uniform(&own), b = kn_rng_uniform(&own);
        double w = exp(kn_rng_normal(&own) * 0.7);
        for (int i = 0; i < N; i++)
            kn_col(Y, j)[i] += a * (j % 4 != 0) * sin(w * kn_at(X, i, 0) + kn_at(X, i, 2)) +
                               b * (j % 3 != 0) * kn_at(X, i, 1);
    }
    assert_close_to_own_optimum(X, Y, 3);
}

/* What cohorts have: ages in whole years, most of them young and many the same, two sexes, and
 * thickness in millimetres that falls with age, a little or not at all, with errors in common. */
static void cells_come_close_to_the_optimum_of_each_region_of_a_cohort(void **state)
{
    (void)state;
    enum { N = 100 };
    int T = repeat(60, 20);
    kn_rng own;
    kn_rng_init(&own, getenv("KN_SEED") ? strtoull(getenv("KN_SEED"), NULL, 10) : 1, 34);
    kn_mat X = ref_new(N, 2), Y = ref_new(N, T);
    double head[N];
    for (int i = 0; i < N; i++) {
        kn_col(X, 0)[i] = floor(18 + 60 * pow(kn_rng_uniform(&own), 3));
        kn_col(X, 1)[i] = kn_rng_uniform(&own) < 0.4;
        head[i] = kn_rng_normal(&own);
    }
    for (int j = 0; j < T; j++) {
        double slope = 0.008 * (j % 5) / 4, sex = 0.05 * kn_rng_normal(&own);
        double bend = j % 3 ? 0 : 1e-4;
        for (int i = 0; i < N; i++) {
            double age = kn_at(X, i, 0) - 18;
            kn_col(Y, j)[i] = 2.8 - slope * age - bend * age * age + sex * kn_at(X, i, 1) +
                              0.08 * head[i] + 0.12 * kn_rng_normal(&own);
        }
    }
    assert_close_to_own_optimum(X, Y, 1);
}

/* ---- the plain fit ----------------------------------------------------------------------------*/

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

static void plain_gradient_matches_central_differences(void **state)
{
    (void)state;
    problem p = random_problem(15, 3, 2, true);
    kn_search_options o = {.limits = {.evals_left = -1}};
    kn_mat theta = ref_normal(&rng, 3, 4), none = ref_new(3, 4), grad = ref_new(3, 4);
    kn_mat lml = ref_new(3, 1);
    kn_cov cov = cov_of("linear+se", 2);
    kn_pairs pairs;
    kn_found found;
    assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
    assert_ok(ctx,
              kn_plain_fit(ctx, &pairs, &cov, p.Y, &o, false, theta, true, lml.data, grad, &found));
    for (int i = 0; i < 4; i++) {
        double h = 1e-4;
        kn_mat f[4];
        for (int s = 0; s < 4; s++) {
            kn_mat moved = ref_new(3, 4);
            kn_mat_set(moved, theta);
            for (int j = 0; j < 3; j++)
                kn_col(moved, i)[j] += h * (s < 2 ? s - 2 : s - 1);
            f[s] = ref_new(3, 1);
            assert_ok(ctx, kn_pairs_within(ctx, p.X, &cov.stats, &pairs));
            assert_ok(ctx, kn_plain_fit(ctx, &pairs, &cov, p.Y, &o, false, moved, true, f[s].data,
                                        none, &found));
            free(moved.data);
        }
        for (int j = 0; j < 3; j++)
            assert_close(kn_at(grad, j, i),
                         (f[0].data[j] - 8 * f[1].data[j] + 8 * f[2].data[j] - f[3].data[j]) /
                             (12 * h),
                         1e-6);
        for (int s = 0; s < 4; s++)
            free(f[s].data);
    }
    free(theta.data), free(none.data), free(grad.data), free(lml.data);
    free_problem(p);
}

/* ---- the public door --------------------------------------------------------------------------*/

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
    assert_true(info.cv.z2 > 0.5 && info.cv.z2 < 2);
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

static void same_data_same_bytes(void **state)
{
    (void)state;
    problem p = random_problem(40, 30, 2, false);
    kn_settings o;
    kn_fit_info a, b;
    o = old_sum();
    o.folds = 0;
    kn_model *one = fit(p.X, p.Y, &o, &a), *again = fit(p.X, p.Y, &o, &b);
    kn_view u = kn_model_array(one, "alpha"), v = kn_model_array(again, "alpha");
    assert_memory_equal(u.data, v.data, sizeof(double) * 40 * 30);
    kn_model_free(one);
    kn_model_free(again);
    free_problem(p);
}

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        problem p = random_problem(12, 4, 2, false);
        kn_settings o = held(NAN, NAN);
        kn_status status = KN_ERR_MEMORY;
        kn_model *model;
        kn_maps *maps;
        o.folds = 3;
        o.plain = plain;
        o.max_evals = plain ? 0 : 3;
        for (long k = 1; status != KN_OK; k++) {
            kn_fail_allocation(ctx, k);
            status = kn_fit_arrays(ctx, view(p.X), view(p.Y), &o, &model);
            kn_fail_allocation(ctx, 0);
            assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !model));
        }
        kn_mat mean = ref_new(4, 4), var = ref_new(4, 4);
        for (int what = 0; what < 2; what++) {
            status = KN_ERR_MEMORY;
            for (long k = 1; status != KN_OK; k++) {
                kn_fail_allocation(ctx, k);
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
        free_problem(p);
    }
}

/* ---- additive terms: age, a sex of two levels, a site of four ---------------------------------
 */

enum { LEVELS_SEX = 2, LEVELS_SITE = 4, TERMS = 5 }; /* linear, quadratic, se, sex, site */

typedef struct cohort {
    ptrdiff_t N, T;
    kn_mat raw, Y, news; /* covariates as given: age standardised, codes; Y N x T */
    kn_mat u, u_news;    /* squares of age, standardised as those of training */
    int *code;           /* groups of `members` rows each, and what kn_newcomers calls them */
    kn_design_options design;
} cohort;

static const int LEVELS[3] = {0, LEVELS_SEX, LEVELS_SITE};

/* Everybody's response: a line or a curve of age, effects of site, noise that groups share in every
 * other response as gamma says. */
static cohort cohort_of(kn_rng *own, int N, int T, int members, double gamma)
{
    cohort c = {.N = N, .T = T, .raw = ref_new(N, 3), .Y = ref_normal(own, N, T)};
    c.news = ref_new(6, 3), c.u = ref_new(N, 1), c.u_news = ref_new(6, 1);
    c.code = calloc((size_t)N, sizeof *c.code);
    c.design = (kn_design_options){.quadratic = -1, .levels = LEVELS};
    for (int i = 0; i < N; i++) {
        kn_col(c.raw, 0)[i] = kn_rng_normal(own);
        kn_col(c.raw, 1)[i] = i % 5 < 2;
        kn_col(c.raw, 2)[i] = (i / 2) % LEVELS_SITE;
        c.code[i] = (7 * i) % N / members; /* not in the order of the rows */
    }
    double *x = kn_col(c.raw, 0), mean = 0, var = 0, m2 = 0, v2 = 0, n = N;
    for (int i = 0; i < N; i++)
        mean += x[i] / n;
    for (int i = 0; i < N; i++)
        var += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < N; i++) {
        x[i] = (x[i] - mean) / sqrt(var);
        m2 += x[i] * x[i] / n;
    }
    for (int i = 0; i < N; i++)
        v2 += (x[i] * x[i] - m2) * (x[i] * x[i] - m2) / n;
    for (int i = 0; i < N; i++)
        c.u.data[i] = (x[i] * x[i] - m2) / sqrt(v2);
    for (int i = 0; i < 6; i++) {
        double a = 0.5 * x[2 * i] + 0.5 * x[2 * i + 1]; /* nobody is held to the range */
        kn_col(c.news, 0)[i] = a;
        kn_col(c.news, 1)[i] = i % 2;
        kn_col(c.news, 2)[i] = i % LEVELS_SITE;
        c.u_news.data[i] = (a * a - m2) / sqrt(v2);
    }
    for (int j = 0; j < T; j++) {
        double site[LEVELS_SITE], w = exp(0.5 * kn_rng_normal(own)), group[256];
        double line = (j % 3) * kn_rng_normal(own), bend = (j % 2) * 1.5 * kn_rng_normal(own);
        for (int s = 0; s < LEVELS_SITE; s++)
            site[s] = 0.6 * kn_rng_normal(own);
        for (int g = 0; g < 256; g++)
            group[g] = (j % 2) * sqrt(gamma) * kn_rng_normal(own);
        for (int i = 0; i < N; i++)
            kn_col(c.Y, j)[i] += line * x[i] + bend * sin(w * x[i]) + group[c.code[i]] +
                                 site[(int)kn_at(c.raw, i, 2)];
    }
    standardise(c.Y);
    return c;
}

static void cohort_free(cohort c)
{
    free(c.raw.data), free(c.Y.data), free(c.news.data), free(c.u.data), free(c.u_news.data);
    free(c.code);
}

static kn_settings additive_of(const cohort *c, bool groups)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "stgpr";
    o.standardise = 0;
    o.folds = 0;
    o.design = &c->design;
    o.groups = groups ? c->code : NULL;
    o.rank = KN_RANK_FULL;
    return o;
}

/* sum_k w_k K_k between two people, from what they are */
static double additive_kernel(const double *w, double length, kn_mat X, kn_mat u, ptrdiff_t i,
                              kn_mat Xs, kn_mat us, ptrdiff_t j)
{
    double x = kn_at(X, i, 0), y = kn_at(Xs, j, 0);
    return w[0] * x * y + w[1] * u.data[i] * us.data[j] +
           w[2] * exp(-0.5 * (x - y) * (x - y) / (length * length)) +
           w[3] * (kn_at(X, i, 1) == kn_at(Xs, j, 1)) + w[4] * (kn_at(X, i, 2) == kn_at(Xs, j, 2));
}

/* What the dense Gaussian of response j says of new people given some training rows. */
typedef struct dense_part {
    const cohort *c;
    double w[TERMS], length, cj, dj, gamma;
    ptrdiff_t n;
    const ptrdiff_t *rows; /* n  training */
    kn_mat Xs, us;
    const int *known; /* code of the group of each new person, -1: a new one; NULL: all */
} dense_part;

static double dense_additive(const dense_part *p, const double *y, double *mean, double *var)
{
    const cohort *c = p->c;
    ptrdiff_t n = p->n, ns = p->Xs.rows;
    kn_mat K = ref_new(n, n), Ks = ref_new(ns, n);
    double *kss = calloc((size_t)ns, sizeof *kss), g = p->gamma * p->dj;
    for (ptrdiff_t a = 0; a < n; a++) {
        ptrdiff_t i = p->rows[a];
        for (ptrdiff_t b = 0; b < n; b++) {
            ptrdiff_t k = p->rows[b];
            kn_col(K, b)[a] =
                p->cj * additive_kernel(p->w, p->length, c->raw, c->u, i, c->raw, c->u, k) +
                (a == b) * p->dj + (c->code[i] == c->code[k]) * g;
        }
        for (ptrdiff_t s = 0; s < ns; s++)
            kn_col(Ks, a)[s] =
                p->cj * additive_kernel(p->w, p->length, p->Xs, p->us, s, c->raw, c->u, i) +
                (p->known && p->known[s] == c->code[i]) * g;
    }
    for (ptrdiff_t s = 0; s < ns; s++)
        kss[s] = p->cj * additive_kernel(p->w, p->length, p->Xs, p->us, s, p->Xs, p->us, s) +
                 (p->known && p->known[s] >= 0) * g;
    double lml = ref_gp(K, y, Ks, kss, mean, var);
    free(K.data), free(Ks.data), free(kss);
    return lml;
}

/* The parameters of response j as the model has them. */
static dense_part dense_of(const cohort *c, const kn_model *model, ptrdiff_t j)
{
    kn_view cells = kn_model_array(model, "cells"), gamma = kn_model_array(model, "gamma");
    ptrdiff_t k = (ptrdiff_t)kn_view_at(kn_model_array(model, "cell"), j, 0);
    dense_part p = {.c = c,
                    .length = kn_view_at(cells, k, TERMS),
                    .cj = kn_view_at(kn_model_array(model, "c"), j, 0),
                    .dj = kn_view_at(kn_model_array(model, "d"), j, 0),
                    .gamma = gamma.data ? kn_view_at(gamma, j, 0) : 0,
                    .Xs = c->news,
                    .us = c->u_news};
    for (int t = 0; t < TERMS; t++)
        p.w[t] = kn_view_at(cells, k, t);
    return p;
}

static ptrdiff_t *all_rows(ptrdiff_t N)
{
    ptrdiff_t *rows = calloc((size_t)N, sizeof *rows);
    for (ptrdiff_t i = 0; i < N; i++)
        rows[i] = i;
    return rows;
}

static void assert_predicts_as_dense(const cohort *c, const kn_model *model, bool groups,
                                     double tol)
{
    kn_fit_info info;
    kn_maps *maps;
    int known[6] = {c->code[3], -1, c->code[0], c->code[5], -1, c->code[1]};
    ptrdiff_t number[6], *rows = all_rows(c->N);
    double *noise = calloc((size_t)c->T, sizeof *noise), *inside = calloc((size_t)c->T, 8), sum = 0;
    kn_model_info(model, &info);
    for (int i = 0; i < 6; i++) /* the model numbers groups as they appear */
        for (ptrdiff_t r = number[i] = -1; number[i] < 0 && known[i] >= 0 && ++r < c->N;)
            if (c->code[r] == known[i])
                number[i] = groups ? model->gp.latent.groups.of[r] : 0;
    maps_of m = predict(model, c->news, c->T), k = {0};
    if (groups) {
        assert_ok(ctx, kn_maps_predict_known(ctx, model, view(c->news),
                                             (kn_known_of){.group = number}, &maps));
        k = collect(maps, c->T);
        kn_noise_known_group(&model->gp, inside);
    }
    assert_ok(ctx, kn_model_noise(ctx, model, noise));
    for (ptrdiff_t j = 0; j < c->T; j++) {
        dense_part p = dense_of(c, model, j);
        double mean[6], var[6];
        p.n = c->N;
        p.rows = rows;
        sum += dense_additive(&p, kn_col(c->Y, j), mean, var);
        assert_close(noise[j], p.dj * (1 + p.gamma), 1e-14);
        for (int i = 0; i < 6; i++) {
            assert_close(kn_at(m.mean, i, j), mean[i], tol);
            assert_close(kn_at(m.var, i, j), var[i], tol);
        }
        if (!groups)
            continue;
        p.known = known;
        dense_additive(&p, kn_col(c->Y, j), mean, var);
        assert_close(inside[j], p.dj, 1e-14);
        for (int i = 0; i < 6; i++) {
            assert_close(kn_at(k.mean, i, j), mean[i], tol);
            assert_close(kn_at(k.var, i, j), var[i], tol);
        }
    }
    assert_close(info.lml, sum, 1e-9);
    release(m);
    if (groups)
        release(k);
    free(noise), free(inside), free(rows);
}

/* Who is left out: row i, or with groups all of its group. */
static void assert_leaves_out_as_dense(const cohort *c, const kn_model *model, bool groups,
                                       double tol)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_loo(ctx, model, view(c->Y), &maps));
    maps_of l = collect(maps, c->T);
    ptrdiff_t *rows = all_rows(c->N);
    double *y = calloc((size_t)c->N, sizeof *y);
    for (ptrdiff_t j = 0; j < c->T; j++)
        for (ptrdiff_t i = 0; i < c->N; i += 5) {
            dense_part p = dense_of(c, model, j);
            double mean, var;
            for (ptrdiff_t r = 0; r < c->N; r++)
                if (groups ? c->code[r] != c->code[i] : r != i) {
                    y[p.n] = kn_at(c->Y, r, j);
                    rows[p.n++] = r;
                }
            p.rows = rows;
            p.Xs = kn_sub(c->raw, i, 0, 1, 3);
            p.us = kn_sub(c->u, i, 0, 1, 1);
            dense_additive(&p, y, &mean, &var);
            assert_close(kn_at(l.mean, i, j), mean, tol);
            assert_close(kn_at(l.var, i, j), var, tol);
        }
    release(l);
    free(y), free(rows);
}

/* How many are younger than person i, of his sex and site. */
static int nearest_rank(const cohort *c, int i)
{
    int n = 0;
    for (ptrdiff_t k = 0; k < c->N; k++)
        n += kn_at(c->raw, k, 2) == kn_at(c->raw, i, 2) &&
             kn_at(c->raw, k, 1) == kn_at(c->raw, i, 1) &&
             kn_at(c->raw, k, 0) < kn_at(c->raw, i, 0);
    return n;
}

static void additive_cells_match_dense_gaussians(void **state)
{
    (void)state;
    int silent[2] = {0};
    for (int groups = 0; groups < 2; groups++)
        for (int n = 0; n < 3; n++) {
            cohort c = cohort_of(&rng, 48, 6, groups + 1, 2);
            kn_settings o = additive_of(&c, groups);
            kn_fit_info info;
            double rho = 0.5 * n, w[TERMS] = {0.6 * (1 - rho), 0.3 * rho, 0.3 * rho, 0.2, 0.2};
            o.rho = rho;
            o.length = 0.7 + n;
            o.max_evals = 0;             /* what cells take is the middle then */
            for (int i = 0; i < 48; i++) /* unlike everybody near: noise alone is likeliest */
                kn_col(c.Y, 5)[i] = nearest_rank(&c, i) % 2 ? 1.0 : -1.0;
            kn_model *model = fit(c.raw, c.Y, &o, &info);
            kn_view cells = kn_model_array(model, "cells");
            for (ptrdiff_t k = 0; k < cells.rows; k++)
                for (int t = 0; t <= TERMS; t++)
                    assert_close(kn_view_at(cells, k, t), t < TERMS ? w[t] : o.length, 1e-15);
            assert_int_equal(info.stop, KN_STOP_NOT_OPTIMISED);
            silent[groups] += kn_view_at(kn_model_array(model, "c"), 5, 0) == 0;
            assert_predicts_as_dense(&c, model, groups, 1e-10);
            assert_leaves_out_as_dense(&c, model, groups, 1e-9);
            kn_model_free(model);
            cohort_free(c);
        }
    assert_true(silent[0] > 0 && silent[1] > 0);
}

/* Categories have the weights of the S-MTGPR fit; cells move what is left. */
static void categories_are_held_at_the_smtgpr_fit(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 60, 8, 1, 0);
    kn_settings o = additive_of(&c, false);
    kn_fit_info info;
    kn_cov_point base;
    double total;
    kn_model *model = fit(c.raw, c.Y, &o, &info);
    o.method = "smtgpr";
    kn_model *joint = fit(c.raw, c.Y, &o, &info);
    const kn_decomp *R0 = &joint->gp.latent.cell[0].R0;
    kn_cov_point_of(&R0->cov, R0->theta, &base, &total);
    kn_view cells = kn_model_array(model, "cells");
    for (ptrdiff_t k = 0; k < cells.rows; k++) {
        double sum = 0, quad = kn_view_at(cells, k, 1), se = kn_view_at(cells, k, 2);
        for (int t = 0; t < TERMS; t++)
            sum += kn_view_at(cells, k, t);
        assert_close(sum, 1, 1e-14);
        assert_close(kn_view_at(cells, k, 3), base.w[3], 1e-9);
        assert_close(kn_view_at(cells, k, 4), base.w[4], 1e-9);
        assert_close(quad * base.w[2], se * base.w[1], 1e-9);
    }
    assert_predicts_as_dense(&c, model, false, 1e-8);
    kn_model_free(joint);
    kn_model_free(model);
    cohort_free(c);
}

/* The best of a fine lattice over all of the family. */
static void additive_cells_come_close_to_the_best_of_their_family(void **state)
{
    (void)state;
    enum { N = 60, RHOS = 57, LENGTHS = 41 };
    int T = repeat(100, 30), within = 0;
    double worst = -INFINITY, lower[2], upper[2], total;
    kn_rng own;
    kn_rng_init(&own, getenv("KN_SEED") ? strtoull(getenv("KN_SEED"), NULL, 10) : 1, 35);
    cohort c = cohort_of(&own, N, T, 1, 0);
    kn_settings o = additive_of(&c, false);
    kn_fit_info info;
    kn_model *model = fit(c.raw, c.Y, &o, &info);
    o.method = "smtgpr";
    kn_model *joint = fit(c.raw, c.Y, &o, &info);
    const kn_decomp *R0 = &joint->gp.latent.cell[0].R0;
    const kn_cov *cov = &model->gp.spec.sample;
    kn_cov_point base;
    kn_cov_point_of(&R0->cov, R0->theta, &base, &total);
    kn_cov_family family = kn_family_of(cov, &base);
    kn_pairs pairs;
    kn_box box;
    kn_cell_work w;
    kn_cell_samples samples = {.cov = cov, .pairs = &pairs};
    double *best = calloc((size_t)T, sizeof *best);
    for (int j = 0; j < T; j++)
        best[j] = -INFINITY;
    assert_ok(ctx, kn_pairs_within(ctx, model->gp.latent.X, &cov->stats, &pairs));
    assert_ok(ctx, kn_box_new(ctx, cov, &pairs, kn_mat_none(), &box));
    kn_family_box(&family, &box, lower, upper);
    assert_ok(ctx, kn_cell_work_new(ctx, N, &samples, T, &w));
    for (int a = -1; a <= RHOS; a++)
        for (int b = 0; b < (a < 0 ? 1 : LENGTHS); b++) {
            double x = lower[0] + (upper[0] - lower[0]) * a / (RHOS - 1);
            double rho = a < 0 ? 0 : a == RHOS ? 1 : 1 / (1 + exp(-x));
            double length = exp(lower[1] + (upper[1] - lower[1]) * b / (LENGTHS - 1));
            kn_cov_point at = kn_family_at(&family, rho, length);
            assert_ok(ctx, kn_cell_decompose(ctx, &w, &at, 0));
            assert_ok(ctx, kn_cell_fit(ctx, &w, c.Y, 1e-3));
            for (int j = 0; j < T; j++)
                best[j] = fmax(best[j], w.lml[j]);
        }
    kn_view lml = kn_model_array(model, "lml");
    for (int j = 0; j < T; j++) {
        double short_by = best[j] - kn_view_at(lml, j, 0);
        within += short_by <= 0.1;
        worst = fmax(worst, short_by);
    }
    if (getenv("KN_VERBOSE"))
        fprintf(stderr, "%d of %d within 0.1 nat, worst %.3g, %td cells\n", within, T, worst,
                kn_model_array(model, "cells").rows);
    assert_true(100 * within >= 99 * T && worst < 1);
    kn_cell_work_clear(&w);
    kn_pairs_clear(&pairs);
    free(best);
    kn_model_free(joint);
    kn_model_free(model);
    cohort_free(c);
}

static void planted_gamma_is_found(void **state)
{
    (void)state;
    enum { N = 90, T = 40 };
    int right = 0;
    cohort c = cohort_of(&rng, N, T, 3, 3);
    kn_settings o = additive_of(&c, true);
    kn_fit_info info;
    kn_model *model = fit(c.raw, c.Y, &o, &info);
    kn_view gamma = kn_model_array(model, "gamma");
    for (int j = 0; j < T; j++) /* 3 in every other response, else 0 */
        right += j % 2 ? kn_view_at(gamma, j, 0) >= 1 : kn_view_at(gamma, j, 0) <= 0.3;
    assert_true(right >= 0.9 * T);
    assert_predicts_as_dense(&c, model, true, 1e-8);
    kn_model_free(model);
    cohort_free(c);
}

/* c and d of a fold by search, cell and gamma held. */
static void refit(dense_part *p, const double *y)
{
    double best = -INFINITY, at = 0, none[1];
    kn_mat nobody = {0};
    p->Xs = p->us = nobody;
    for (int pass = 0; pass < 12; pass++) {
        double width = 11 * pow(0.15, pass), middle = pass == 0 ? 3 : at;
        for (int k = -22; k <= 22; k++) {
            double t = middle + width * k / 22, q = 0;
            if (t < -8 || t > 14)
                continue;
            p->cj = 1, p->dj = exp(t);
            double one = dense_additive(p, y, none, none), n = (double)p->n;
            p->cj = 4, p->dj = 4 * exp(t); /* two scales tell y'K^-1 y and the determinant */
            double four = dense_additive(p, y, none, none);
            q = (four - one + 0.5 * n * log(4)) / (0.5 * (1 - 0.25));
            double lml = one + 0.5 * q - 0.5 * n - 0.5 * n * log(q / n);
            if (lml > best) {
                best = lml;
                at = t;
            }
        }
    }
    p->cj = 1, p->dj = exp(at);
    double one = dense_additive(p, y, none, none), n = (double)p->n;
    p->cj = 4, p->dj = 4 * exp(at);
    double four = dense_additive(p, y, none, none);
    double c = (four - one + 0.5 * n * log(4)) / (0.5 * (1 - 0.25)) / n;
    p->cj = c, p->dj = c * exp(at);
}

static void additive_folds_hold_cell_and_gamma(void **state)
{
    (void)state;
    enum { N = 40, T = 4, FOLDS = 4 };
    for (int groups = 0; groups < 2; groups++) {
        cohort c = cohort_of(&rng, N, T, 2, 3);
        kn_settings o = additive_of(&c, groups);
        kn_fit_info info;
        kn_maps *maps;
        int fold[N];
        for (int i = 0; i < N; i++)
            fold[i] = c.code[i] % FOLDS;
        kn_model *model = fit(c.raw, c.Y, &o, &info);
        assert_ok(ctx, kn_maps_cv(ctx, model, view(c.Y), FOLDS, fold, &maps));
        maps_of m = collect(maps, T);
        for (int j = 0; j < T; j++)
            for (int k = 0; k < FOLDS; k++) {
                dense_part p = dense_of(&c, model, j);
                ptrdiff_t rows[N], out[N], n_out = 0;
                double y[N], mu = 0, mean[1], var[1];
                for (int i = 0; i < N; i++)
                    if (fold[i] == k)
                        out[n_out++] = i;
                    else
                        rows[p.n++] = i;
                p.rows = rows;
                for (ptrdiff_t i = 0; i < p.n; i++)
                    mu += kn_at(c.Y, rows[i], j) / (double)p.n;
                for (ptrdiff_t i = 0; i < p.n; i++)
                    y[i] = kn_at(c.Y, rows[i], j) - mu;
                refit(&p, y);
                for (ptrdiff_t i = 0; i < n_out; i++) {
                    p.Xs = kn_sub(c.raw, out[i], 0, 1, 3);
                    p.us = kn_sub(c.u, out[i], 0, 1, 1);
                    dense_additive(&p, y, mean, var);
                    assert_close(kn_at(m.mean, out[i], j), mean[0] + mu, 1e-4);
                    assert_close(kn_at(m.var, out[i], j), var[0], 1e-4);
                }
            }
        release(m);
        kn_model_free(model);
        cohort_free(c);
    }
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
        assert_same(a.mean, b.mean, 1e-6); /* alpha is there in single precision */
        assert_same(a.var, b.var, 1e-13);
        release(a), release(b);
        if (groups) {
            ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
            assert_ok(ctx, kn_maps_predict_known(ctx, model, view(c.news),
                                                 (kn_known_of){.group = number}, &maps));
            a = collect(maps, 7);
            assert_ok(ctx, kn_maps_predict_known(ctx, again, view(c.news),
                                                 (kn_known_of){.group = number}, &maps));
            b = collect(maps, 7);
            assert_same(a.mean, b.mean, 1e-6);
            assert_same(a.var, b.var, 1e-13);
            release(a), release(b);
        }
        kn_model_free(model);
        kn_model_free(again);
        cohort_free(c);
    }
}

static void low_rank_cells_agree_with_dense_ones(void **state)
{
    (void)state;
    for (int groups = 0; groups < 2; groups++) {
        enum { N = 200, T = 9, FOLDS = 4 };
        cohort c = cohort_of(&rng, N, T, 2, 2);
        kn_settings o = additive_of(&c, groups);
        kn_fit_info full, low;
        int fold[N];
        for (int i = 0; i < N; i++)
            fold[i] = c.code[i] % FOLDS;
        o.rho = 0.4;
        o.length = 1.3;
        o.max_evals = 0;
        kn_model *model[2] = {fit(c.raw, c.Y, &o, &full), NULL};
        o.rank = KN_RANK_AUTO;
        model[1] = fit(c.raw, c.Y, &o, &low);
        assert_true(full.rank == N && low.rank == N / 4);
        kn_cell_samples samples = {.cov = &model[1]->gp.spec.sample,
                                   .X = model[1]->gp.latent.X,
                                   .groups = groups ? &model[1]->gp.latent.groups : NULL,
                                   .rank = N / 4};
        kn_cov_point at = kn_cell_point(samples.cov, ((kn_stgpr *)model[1]->gp.own)->cells, 0);
        kn_cell_work w;
        assert_ok(ctx, kn_cell_work_new(ctx, N, &samples, 1, &w));
        assert_ok(ctx, kn_cell_decompose(ctx, &w, &at, 0.3));
        assert_true(kn_cell_is_low(&w)); /* there are no pairs to be dense with */
        kn_cell_work_clear(&w);
        assert_close(low.lml, full.lml, 1e-8);
        maps_of m[2][4];
        for (int k = 0; k < 2; k++) {
            kn_maps *maps;
            ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
            m[k][0] = predict(model[k], c.news, T);
            assert_ok(ctx, kn_maps_loo(ctx, model[k], view(c.Y), &maps));
            m[k][1] = collect(maps, T);
            assert_ok(ctx, kn_maps_cv(ctx, model[k], view(c.Y), FOLDS, fold, &maps));
            m[k][2] = collect(maps, T);
            assert_ok(ctx,
                      kn_maps_predict_known(ctx, model[k], view(c.news),
                                            (kn_known_of){.group = groups ? number : NULL}, &maps));
            m[k][3] = collect(maps, T);
        }
        for (int what = 0; what < 4; what++) {
            assert_same(m[1][what].mean, m[0][what].mean, 1e-7);
            assert_same(m[1][what].var, m[0][what].var, 1e-7);
            release(m[0][what]), release(m[1][what]);
        }
        kn_model_free(model[0]);
        kn_model_free(model[1]);
        cohort_free(c);
    }
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

/* One cell where no continuous covariate is, and no pilot where there is nothing to take. */
static void covariates_of_one_kind_do(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 40, 5, 2, 1);
    kn_settings o = additive_of(&c, false);
    kn_fit_info info;
    kn_mat sites = kn_cols(c.raw, 1, 2), age = kn_cols(c.raw, 0, 1);
    kn_design_options design = {.quadratic = -1, .levels = LEVELS + 1};
    o.design = &design;
    for (int few = 0; few < 2; few++) { /* both, site alone */
        design.levels = LEVELS + 1 + few;
        kn_model *model = fit(kn_cols(sites, few, 2 - few), c.Y, &o, &info);
        assert_int_equal(kn_model_array(model, "cells").rows, 1);
        assert_int_equal(kn_model_array(model, "cells").cols, 2 - few);
        kn_model_free(model);
    }
    design.levels = LEVELS;
    design.quadratic = 0;
    kn_model *model = fit(age, c.Y, &o, &info);
    assert_int_equal(kn_model_array(model, "cells").cols, 3);
    kn_model_free(model);
    cohort_free(c);
}

static void failing_allocations_leave_nothing_of_groups(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 24, 3, 2, 1);
    kn_settings o = additive_of(&c, true);
    kn_status status = KN_ERR_MEMORY;
    kn_model *model;
    kn_maps *maps;
    ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
    kn_mat mean = ref_new(24, 3), var = ref_new(24, 3);
    o.folds = 3;
    o.max_evals = 0;
    o.rank = KN_RANK_AUTO;
    for (long k = 1; status != KN_OK; k++) {
        kn_fail_allocation(ctx, k);
        status = kn_fit_arrays(ctx, view(c.raw), view(c.Y), &o, &model);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !model));
    }
    for (int what = 0; what < 2; what++) {
        status = KN_ERR_MEMORY;
        for (long k = 1; status != KN_OK; k++) {
            kn_fail_allocation(ctx, k);
            status = what == 0 ? kn_maps_predict_known(ctx, model, view(c.news),
                                                       (kn_known_of){.group = number}, &maps)
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

int main(void)
{
    ctx = kn_ctx_new();
    kn_set_threads(ctx, 1); /* small matrices: a second thread would mostly wait */
    kn_rng_init(&rng, 32, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_gradient_and_predictions_match_golden),
        cmocka_unit_test(a_cell_matches_dense_gaussians_and_leave_one_out_refits),
        cmocka_unit_test(cross_validation_equals_literal_refits),
        cmocka_unit_test(cells_come_close_to_the_optimum_of_each_smooth_response),
        cmocka_unit_test(cells_come_close_to_the_optimum_of_each_region_of_a_cohort),
        cmocka_unit_test(plain_fit_climbs_to_a_stationary_point_and_predicts_there),
        cmocka_unit_test(plain_gradient_matches_central_differences),
        cmocka_unit_test(options_of_other_methods_are_refused_by_name),
        cmocka_unit_test(every_public_call_serves_it),
        cmocka_unit_test(limits_stop_the_search_and_are_reported),
        cmocka_unit_test(same_data_same_bytes),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(additive_cells_match_dense_gaussians),
        cmocka_unit_test(categories_are_held_at_the_smtgpr_fit),
        cmocka_unit_test(additive_cells_come_close_to_the_best_of_their_family),
        cmocka_unit_test(planted_gamma_is_found),
        cmocka_unit_test(additive_folds_hold_cell_and_gamma),
        cmocka_unit_test(additive_models_come_back_from_their_bytes),
        cmocka_unit_test(low_rank_cells_agree_with_dense_ones),
        cmocka_unit_test(plain_takes_all_terms),
        cmocka_unit_test(covariates_of_one_kind_do),
        cmocka_unit_test(failing_allocations_leave_nothing_of_groups),
    };
    if (getenv("KN_FILTER"))
        cmocka_set_test_filter(getenv("KN_FILTER"));
    int failed = cmocka_run_group_tests_name("stgpr", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
