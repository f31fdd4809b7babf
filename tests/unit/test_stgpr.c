/* STGPR: golden numbers, dense Gaussians, and the cells against each response's own optimum. */
#include "covs.h"
#include "gp/maps.h"
#include "gp/predict.h"
#include "gp/stgpr.h"
#include "gp/stgpr_single.h"
#include "test.h"

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
    assert_ok(ctx, kn_stgpr_finish(ctx, &pairs, cov, true, s, &evals));
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

static kn_settings held(double rho, double length)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "stgpr";
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
    kn_settings_init(&o);
    o.method = "stgpr";
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
                    kn_at(theta, j, 3), kn_view_at(at, k, 0), kn_view_at(at, k, 1));
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
            double rho = kn_view_at(cells, k, 0), lml, mean[4], var[4];
            double r0[4] = {0.5 * log((1 - rho) / 2), 0.5 * log(rho), log(kn_view_at(cells, k, 1)),
                            -INFINITY};
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
    kn_settings_init(&o);
    o.method = "stgpr";
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
    kn_settings_init(&o);
    o.method = "stgpr";
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
    kn_settings_init(&o);
    o.method = "stgpr";
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
    };
    if (getenv("KN_FILTER"))
        cmocka_set_test_filter(getenv("KN_FILTER"));
    int failed = cmocka_run_group_tests_name("stgpr", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
