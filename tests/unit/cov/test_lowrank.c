/* R of low rank [METHOD 6a] against the dense one and against its own central differences. */
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "gp/gp.h"
#include "model/model.h"
#include "support/covs.h"
#include "support/rank_bound.h"
#include "support/scratch.h"

static kn_ctx *ctx;

/* Age, sex and sites, standardised: what cohorts have. */
static kn_mat cohort(kn_rng *rng, ptrdiff_t N, int sites)
{
    kn_mat X = ref_new(N, 2 + sites);
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(X, 0)[i] = 20 + 60 * kn_rng_uniform(rng);
        kn_col(X, 1)[i] = kn_rng_uniform(rng) < 0.5;
        kn_col(X, 2 + kn_rng_below(rng, sites))[i] = 1;
    }
    for (ptrdiff_t f = 0; f < X.cols; f++) {
        double *x = kn_col(X, f), mean = 0, v = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += x[i] / (double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            v += (x[i] - mean) * (x[i] - mean) / (double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            x[i] = (x[i] - mean) / sqrt(v > 0 ? v : 1);
    }
    return X;
}

/* Responses that follow the covariates, smoothly, under noise. */
static kn_mat responses(kn_rng *rng, kn_mat X, ptrdiff_t T)
{
    kn_mat Y = ref_new(X.rows, T);
    for (ptrdiff_t j = 0; j < T; j++) {
        double a = kn_rng_normal(rng), b = kn_rng_normal(rng), w = 1 + kn_rng_uniform(rng);
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(Y, j)[i] = a * kn_at(X, i, 0) + b * sin(w * kn_at(X, i, 0)) +
                              0.3 * kn_at(X, i, 1) + kn_rng_normal(rng);
    }
    return Y;
}

typedef struct outcome {
    kn_fit_info info;
    kn_mat mean, var, loo_mean, loo_var, cv_mean, cv_var;
    double *noise;
    rank_bound bound;
} outcome;

static void take(kn_status (*made)(kn_ctx *, const kn_model *, kn_view, kn_maps **),
                 const kn_model *m, kn_mat data, kn_mat mean, kn_mat var)
{
    kn_maps *maps;
    assert_ok(ctx, made(ctx, m, view(data), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, mean.cols, mean, var));
    kn_maps_free(maps);
}

static kn_status cv_maps(kn_ctx *c, const kn_model *m, kn_view Y, kn_maps **maps)
{
    return kn_maps_cv(c, m, Y, 3, NULL, maps);
}

static outcome outcome_of(const kn_model *m, kn_mat Xs, kn_mat Y)
{
    ptrdiff_t N = Y.rows, T = Y.cols;
    outcome o = {.mean = ref_new(Xs.rows, T),
                 .var = ref_new(Xs.rows, T),
                 .loo_mean = ref_new(N, T),
                 .loo_var = ref_new(N, T),
                 .cv_mean = ref_new(N, T),
                 .cv_var = ref_new(N, T),
                 .noise = calloc((size_t)T, sizeof(double))};
    kn_model_info(m, &o.info);
    o.bound = rank_bound_of(&m->gp.latent);
    take(kn_maps_predict, m, Xs, o.mean, o.var);
    take(kn_maps_loo, m, Y, o.loo_mean, o.loo_var);
    take(cv_maps, m, Y, o.cv_mean, o.cv_var);
    assert_ok(ctx, kn_model_noise(ctx, m, o.noise));
    return o;
}

static outcome fitted(kn_mat X, kn_mat Y, kn_mat Xs, const kn_settings *o)
{
    kn_model *m;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), o, &m));
    outcome out = outcome_of(m, Xs, Y);
    kn_model_free(m);
    return out;
}

static void free_outcome(outcome o)
{
    free(o.mean.data), free(o.var.data), free(o.loo_mean.data), free(o.loo_var.data);
    free(o.cv_mean.data), free(o.cv_var.data), free(o.noise);
}

static void check_agreement(ptrdiff_t N, bool iso, double length)
{
    kn_rng rng;
    ref_rng_init(&rng, 7, (uint64_t)N);
    kn_mat all = cohort(&rng, N + 50, N < 1000 ? 3 : 8), Y = responses(&rng, all, 6);
    kn_mat X = kn_sub(all, 0, 0, N, all.cols), Xs = kn_sub(all, N, 0, 50, all.cols);
    Y.rows = N;
    double theta[] = {-1.2, -2.0, -1.5, -0.4, log(length), -1.0, -0.3};
    kn_settings o;
    plain_settings(&o);
    o.components = 3;
    o.max_evals = 0;
    o.folds = 3;
    if (iso) {
        o.noise = KN_NOISE_ISO;
        o.sample_kernel = "linear+se+iso";
        o.theta_start = theta;
        o.n_theta_start = 7; /* C.lin C.diag R.lin R.se_amp R.se_len R.diag noise */
    } else {
        o.rho = 0.6;
        o.length = length;
    }
    o.rank = KN_RANK_FULL;
    outcome full = fitted(X, Y, Xs, &o);
    o.rank = (int)N;
    outcome low = fitted(X, Y, Xs, &o);
    assert_int_equal(full.info.rank, N);
    assert_true(low.info.rank < N + (N <= 30)); /* of few participants all may have to be pivots */
    assert_true(low.info.rank_residual <= 3e-12);
    double left = low.info.rank_residual;
    assert_true(fabs(low.info.lml - full.info.lml) <= rank_bound_lml(&full.bound, left));
    assert_maps_agree(low.mean, low.var, full.mean, full.var, &full.bound, left);
    assert_maps_agree(low.loo_mean, low.loo_var, full.loo_mean, full.loo_var, &full.bound, left);
    /* Folds choose pivots and c/d of their own: their residual is at most the limit above, and of
     * two thirds of the participants c/d may be several times as large. */
    double folds = 10 * 3e-12;
    assert_maps_agree(low.cv_mean, low.cv_var, full.cv_mean, full.cv_var, &full.bound, folds);
    for (ptrdiff_t j = 0; j < Y.cols; j++)
        assert_true(fabs(low.noise[j] - full.noise[j]) <=
                    rank_bound_noise(&full.bound, folds, Y, full.cv_mean, full.cv_var, j));
    free_outcome(full);
    free_outcome(low);
    free(all.data), free(Y.data);
}

static void structured_agrees_with_dense_at_many_samples(void **state)
{
    (void)state;
    check_agreement(repeat(1000, 400), false, 2.0); /* .4 of the median distance */
}

static void iso_agrees_with_dense_at_many_samples(void **state)
{
    (void)state;
    check_agreement(repeat(1000, 400), true, 2.0);
}

static void agrees_with_dense_at_small_sizes(void **state)
{
    (void)state;
    for (int iso = 0; iso < 2; iso++) {
        check_agreement(30, iso, 3.0);
        check_agreement(120, iso, 6.0);
    }
}

/* Few pivots, far from enough: the approximation's own gradient is still exact. */
static void gradient_matches_central_differences(void **state)
{
    (void)state;
    static const struct {
        bool iso;
        const char *task;
        ptrdiff_t N, rank;
    } cases[] = {{false, "", 60, 10},
                 {false, "", 60, 1},
                 {false, "", 3, 2},
                 {true, "linear+iso", 60, 10},
                 {true, "linear+se+iso", 60, 10},
                 {true, "linear+se+iso", 40, 40},
                 {true, "iso", 5, 3}};
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ptrdiff_t N = cases[k].N, P = N < 4 ? 1 : 3;
        kn_mat X = ref_normal(&rng, N, 2), Z = ref_normal(&rng, N, P);
        kn_spec spec = {.noise = cases[k].iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                        .sample = cov_of(cases[k].iso ? "linear+se+iso" : "linear+se", 2),
                        .task = cov_of(cases[k].task, KN_ALL_COLUMNS),
                        .rank = cases[k].rank};
        kn_engine e;
        double lml, g[KN_THETA], h = 1e-4;
        assert_ok(ctx, engine_over(ctx, &spec, X, Z, P + 2, 1.5, 10, &e));
        e.low.tol = 1; /* the pivots of the first evaluation stay */
        e.low.n_set = 0;
        if (cases[k].iso) {
            int n = kn_spec_n_theta(&spec);
            double theta[] = {-0.3, -0.4, 0.5, -0.6, -0.2, -0.5, 0.1, -0.7, -0.4};
            if (n == 7) /* C.lin C.diag ... */
                memcpy(theta, (double[]){-0.3, -0.6, -0.2, -0.5, 0.1, -0.7, -0.4},
                       7 * sizeof *theta);
            e.low.tol = 0;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            e.low.tol = 1;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            for (int i = 0; i < n; i++) {
                double f[4], t = theta[i];
                for (int s = 0; s < 4; s++) {
                    theta[i] = t + h * (s < 2 ? s - 2 : s - 1);
                    assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &f[s], NULL));
                }
                theta[i] = t;
                assert_close(g[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
            }
        } else {
            double x = 0.3, l = 0.2;
            e.low.tol = 0;
            assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-x)), exp(l), &lml, g));
            e.low.tol = 1;
            assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-x)), exp(l), &lml, g));
            for (int i = 0; i < 2; i++) {
                double f[2];
                for (int s = 0; s < 2; s++) {
                    double step = s ? h : -h, xs = x + (i == 0) * step, ls = l + (i == 1) * step;
                    assert_ok(ctx, nested_at(ctx, &e, 1 / (1 + exp(-xs)), exp(ls), &f[s], NULL));
                }
                assert_close(g[i], (f[1] - f[0]) / (2 * h), 1e-6);
            }
        }
        kn_engine_clear(&e);
        free(X.data), free(Z.data);
    }
}

/* All samples as pivots: nothing is left out, at any size. */
static void all_pivots_are_the_dense_likelihood(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 5, 0);
    for (ptrdiff_t N = 1; N <= 12; N++)
        for (int iso = 0; iso < 2; iso++)
            for (int twins = 0; twins < 2; twins++) {
                kn_mat X = ref_normal(&rng, N, 2), Z = ref_normal(&rng, N, 2);
                for (ptrdiff_t i = 0; twins && i < N / 2; i++)
                    for (int f = 0; f < 2; f++)
                        kn_col(X, f)[N - 1 - i] = kn_at(X, i, f);
                kn_spec spec = {.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                                .sample = cov_of(iso ? "linear+se+iso" : "linear+se", 2),
                                .task = cov_of(iso ? "linear+se+iso" : "", KN_ALL_COLUMNS),
                                .rank = N};
                double theta[9] = {-0.3, -0.5, 0.4, -0.7, -0.2, -0.4, 0.2, -0.6, -0.35};
                double lml[2], gradient[2][KN_THETA] = {{0}};
                for (int dense = 0; dense < 2; dense++) {
                    kn_engine e;
                    spec.rank = dense ? 0 : N;
                    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 5, 2, 10, &e));
                    if (iso)
                        assert_ok(ctx,
                                  kn_engine_joint(ctx, &e, theta, &lml[dense], gradient[dense]));
                    else
                        assert_ok(ctx, nested_at(ctx, &e, 0.4, 1.3, &lml[dense], gradient[dense]));
                    kn_engine_clear(&e);
                }
                assert_close(lml[0], lml[1], 1e-9);
                for (int i = 0; i < (iso ? 9 : 2); i++)
                    assert_close(gradient[0][i], gradient[1][i], 1e-6);
                free(X.data), free(Z.data);
            }
}

static void auto_is_dense_where_pivots_do_not_suffice(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 9, 0);
    kn_mat X = ref_normal(&rng, 90, 20),
           Z = ref_normal(&rng, 90, 2); /* far apart in 20 dimensions */
    kn_spec spec = {.sample = cov_of("linear+se", 20), .rank = 30, .rank_auto = true};
    kn_engine e, dense;
    double lml, expected, g[2], same[2];
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 2, 0, 1, &e));
    assert_ok(ctx, nested_at(ctx, &e, 0.5, 1, &lml, g));
    assert_int_equal(e.spec.rank, 0);
    assert_int_equal(e.cell[0].R0.m, 90);
    spec.rank = 0;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 2, 0, 1, &dense));
    assert_ok(ctx, nested_at(ctx, &dense, 0.5, 1, &expected, same));
    assert_close(lml, expected, 0);
    assert_close(g[0], same[0], 0);
    kn_engine_clear(&e);
    kn_engine_clear(&dense);
    free(X.data), free(Z.data);
}

static void what_does_not_fit_is_refused_with_numbers(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 9, 0);
    kn_mat X = ref_normal(&rng, 90, 20), Z = ref_normal(&rng, 90, 2);
    kn_spec spec = {.sample = cov_of("linear+se", 20), .rank = 30, .rank_auto = true};
    kn_engine e;
    double lml;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 2, 0, 1, &e));
    kn_set_memory(ctx, 7 * 8 * 50 * 50);
    assert_refused(ctx, nested_at(ctx, &e, 0.5, 1, &lml, NULL), KN_ERR_MEMORY,
                   "use at most 50 participants, or an approximation of rank");
    kn_set_memory(ctx, 0);
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

static void search_ends_where_dense_search_ends(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 11, 0);
    ptrdiff_t N = repeat(400, 300);
    kn_mat X = cohort(&rng, N, 3), Y = responses(&rng, X, 8), Xs = cohort(&rng, 20, 3);
    kn_settings o;
    plain_settings(&o);
    o.components = 4;
    for (int iso = 0; iso < 2; iso++) {
        o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
        o.sample_kernel = iso ? "linear+se+iso" : "linear+se";
        o.rank = KN_RANK_FULL;
        outcome full = fitted(X, Y, Xs, &o);
        o.rank = (int)N; /* as many pivots as the residual asks for: fewer are another model */
        outcome low = fitted(X, Y, Xs, &o);
        assert_true(low.info.rank < N);
        assert_true(low.info.rank_residual <= 3e-12);
        /* A climb ends where a step gains less than 1e-5 nat, and the maximum may be some tens of
         * such steps away in a flat valley. Parameters that differ by dLML nats are sqrt(2 dLML) of
         * their own standard errors apart, and the mean then by at most as many standard deviations
         * of its own. */
        double nats = 1e-3;
        assert_true(fabs(low.info.lml - full.info.lml) <= nats);
        for (ptrdiff_t j = 0; j < Y.cols; j++)
            for (ptrdiff_t i = 0; i < Xs.rows; i++)
                assert_true(fabs(kn_at(low.mean, i, j) - kn_at(full.mean, i, j)) <=
                            sqrt(2 * nats * kn_at(full.var, i, j)));
        free_outcome(full);
        free_outcome(low);
    }
    free(X.data), free(Y.data), free(Xs.data);
}

static void a_model_of_low_rank_comes_back_from_its_file(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 13, 0);
    kn_mat X = cohort(&rng, 80, 3), Y = responses(&rng, X, 8), Xs = cohort(&rng, 20, 3);
    kn_settings o;
    kn_model *m, *again;
    const char *path = "low.safetensors";
    plain_settings(&o);
    o.components = 4;
    o.rank = 60;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    assert_ok(ctx, kn_model_save(ctx, m, path, 1));
    assert_ok(ctx, kn_model_open(ctx, path, &again));
    outcome a = outcome_of(m, Xs, Y), b = outcome_of(again, Xs, Y);
    assert_same(a.mean, b.mean, 0);
    assert_same(a.var, b.var, 0);
    assert_same(a.loo_mean, b.loo_mean, 0);
    assert_int_equal(a.info.rank, b.info.rank);
    assert_true(a.info.rank_residual == b.info.rank_residual);
    free_outcome(a);
    free_outcome(b);
    kn_model_free(m);
    kn_model_free(again);
    free(X.data), free(Y.data), free(Xs.data);
}

TEST_PROGRAM(cov_lowrank)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pivots_are_the_dense_likelihood),
        cmocka_unit_test(gradient_matches_central_differences),
        cmocka_unit_test(agrees_with_dense_at_small_sizes),
        cmocka_unit_test(structured_agrees_with_dense_at_many_samples),
        cmocka_unit_test(iso_agrees_with_dense_at_many_samples),
        cmocka_unit_test(auto_is_dense_where_pivots_do_not_suffice),
        cmocka_unit_test(what_does_not_fit_is_refused_with_numbers),
        cmocka_unit_test(search_ends_where_dense_search_ends),
        cmocka_unit_test(a_model_of_low_rank_comes_back_from_its_file),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
