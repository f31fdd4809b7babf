/* The method of convolved processes: fixed effects, folds as refits, files, failures. */
#include "support/failing.h"
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "gp/methods/convolved/internal.h"
#include "model/model.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- fixed effects ---- */

/* Columns 0 and 1 are numbers, 2 to 5 levels, of which no participant has the last. */
static kn_mat design(ptrdiff_t N)
{
    kn_mat X = ref_normal(&rng, N, 6);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t k = 0; k < 4; k++)
            kn_col(X, 2 + k)[i] = k == (i % 7 == 0 ? 0 : 1 + i % 2);
    return X;
}

static ptrdiff_t COLUMN[] = {0, 1, 2, 3, 4, 5}, BLOCK[] = {-1, -1, 2, 2, 2, 2};
static const kn_fixed_columns COLUMNS = {6, COLUMN, BLOCK};

static void residuals_are_those_of_least_squares_and_levels_sum_to_zero(void **state)
{
    (void)state;
    ptrdiff_t N = 20;
    kn_mat X = design(N), Z = ref_normal(&rng, N, 3), R = ref_new(N, 3);
    kn_fixed f;
    kn_mat_set(R, Z);
    assert_ok(ctx, kn_fixed_new(ctx, &COLUMNS, X, R, &f));
    assert_int_equal(f.rank, 4); /* two numbers, three levels less one */
    for (ptrdiff_t p = 0; p < 3; p++) {
        double sum = 0, levels = 0, known = 0;
        for (ptrdiff_t c = 0; c < 6; c++) { /* orthogonal to every column, and to a constant */
            double dot = 0;
            for (ptrdiff_t i = 0; i < N; i++)
                dot += kn_at(X, i, c) * kn_at(R, i, p);
            assert_close(dot, 0, 1e-10);
        }
        for (ptrdiff_t i = 0; i < N; i++)
            sum += kn_at(R, i, p);
        for (ptrdiff_t c = 2; c < 5; c++) {
            levels += kn_at(f.beta, c, p);
            known += pow(kn_at(f.beta, c, p), 2) / 3;
        }
        assert_close(sum, 0, 1e-10);
        assert_close(levels, 0, 1e-10);
        assert_close(kn_at(f.beta, 5, p), 0, 1e-12);
        assert_close(kn_at(f.spread, 5, p), known, 1e-12); /* of a level that no participant has */
        assert_close(kn_at(f.spread, 2, p), 0, 0);
    }
    kn_fixed_clear(&f);
    free(X.data), free(Z.data), free(R.data);
}

static void leverage_gives_the_fit_without_a_participant(void **state)
{
    (void)state;
    ptrdiff_t N = 14;
    kn_mat X = design(N), Z = ref_normal(&rng, N, 2), R = ref_new(N, 2), mean = ref_new(1, 2);
    double h[14];
    kn_fixed f, g;
    kn_mat_set(R, Z);
    assert_ok(ctx, kn_fixed_new(ctx, &COLUMNS, X, R, &f));
    assert_ok(ctx, kn_fixed_predict(ctx, &COLUMNS, &f, X, (kn_fixed_prediction){.leverage = h}));
    for (ptrdiff_t n = 0; n < N; n++) {
        kn_mat Xo = ref_new(N - 1, 6), Zo = ref_new(N - 1, 2);
        ptrdiff_t others[14];
        for (ptrdiff_t i = 0; i < N - 1; i++)
            others[i] = i + (i >= n);
        kn_mat_rows(X, others, Xo);
        kn_mat_rows(Z, others, Zo);
        assert_ok(ctx, kn_fixed_new(ctx, &COLUMNS, Xo, Zo, &g));
        double own;
        assert_ok(ctx, kn_fixed_predict(ctx, &COLUMNS, &g, kn_sub(X, n, 0, 1, 6),
                                        (kn_fixed_prediction){.mean = mean, .leverage = &own}));
        for (ptrdiff_t p = 0; p < 2; p++)
            assert_close(kn_at(Z, n, p) - mean.data[p], kn_at(R, n, p) / (1 - h[n]), 1e-9);
        assert_close(own, h[n] / (1 - h[n]), 1e-9);
        kn_fixed_clear(&g);
        free(Xo.data), free(Zo.data);
    }
    kn_fixed_clear(&f);
    free(X.data), free(Z.data), free(R.data), free(mean.data);
}

/* ---- the method ---- */

static kn_settings settings(kn_inducing how)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "convolved";
    o.group = "none";
    o.components = 2;
    o.folds = 0;
    o.standardise = false;
    o.calibrate = KN_CALIBRATE_NONE;
    o.inducing = (int)how;
    o.inducing_points = 4;
    o.max_evals = 12;
    return o;
}

/* Curves of x that responses share, centred. */
static void draw(ptrdiff_t N, ptrdiff_t T, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(&rng, N, 1);
    *Y = ref_normal(&rng, N, T);
    for (ptrdiff_t i = 0; i < N;
         i++) /* no participant so far off that a fold without it clamps x */
        X->data[i] = 2 * tanh(X->data[i]);
    for (ptrdiff_t j = 0; j < T; j++) {
        double mean = 0;
        for (ptrdiff_t i = 0; i < N; i++) {
            kn_col(*Y, j)[i] = 0.4 * kn_at(*Y, i, j) + sin(2 * X->data[i]) * (double)(1 + j % 3) +
                               (j % 2 ? X->data[i] : 0);
            mean += kn_at(*Y, i, j) / (double)N;
        }
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(*Y, j)[i] -= mean;
    }
}

static void predict(const kn_model *m, kn_mat Xs, kn_mat mean, kn_mat var)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(Xs), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, mean.cols, mean, var));
    kn_maps_free(maps);
}

/* Basis, fixed effects, inducing inputs and parameters of a fold are those of a fit of its rows.
 * Both make the basis in different ways, and differ by rounding, some 1e-14. Every step of L-BFGS
 * multiplies that by the condition of its curvature: over 60 seeds the maps differ by 4e-14 at the
 * start, by 9e-14 after two evaluations, by 1e-7 after four and by 2e-4 after twelve. So the start
 * and the first step are compared, which is where a fold that began elsewhere would be seen. */
static void check_folds_at(kn_settings o, int evals)
{
    enum { N = 30, T = 6, FOLDS = 3 };
    kn_mat X, Y, mean = ref_new(N, T), var = ref_new(N, T);
    int fold[N];
    kn_model *m;
    kn_maps *maps;
    o.max_evals = evals;
    draw(N, T, &X, &Y);
    for (int i = 0; i < N; i++)
        fold[i] = i % FOLDS;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    assert_ok(ctx, kn_maps_cv(ctx, m, view(Y), FOLDS, fold, &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
    kn_maps_free(maps);
    kn_model_free(m);
    for (int k = 0; k < FOLDS; k++) {
        ptrdiff_t n = N - N / FOLDS, at = 0, out = 0;
        kn_mat Xt = ref_new(n, 1), Yt = ref_new(n, T), Xs = ref_new(N - n, 1),
               M = ref_new(N - n, T), V = ref_new(N - n, T);
        double mu[T] = {0};
        for (ptrdiff_t i = 0; i < N; i++) {
            if (fold[i] == k) {
                Xs.data[out++] = X.data[i];
                continue;
            }
            Xt.data[at] = X.data[i];
            for (ptrdiff_t j = 0; j < T; j++) {
                kn_col(Yt, j)[at] = kn_at(Y, i, j);
                mu[j] += kn_at(Y, i, j) / (double)n;
            }
            at++;
        }
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(Yt, j)[i] -= mu[j];
        assert_ok(ctx, kn_fit_arrays(ctx, view(Xt), view(Yt), &o, &m));
        predict(m, Xs, M, V);
        out = 0;
        for (ptrdiff_t i = 0; i < N; i++) {
            for (ptrdiff_t j = 0; fold[i] == k && j < T; j++) {
                assert_close(kn_at(mean, i, j), mu[j] + kn_at(M, out, j), 1e-10);
                assert_close(kn_at(var, i, j), kn_at(V, out, j), 1e-10);
            }
            out += fold[i] == k;
        }
        kn_model_free(m);
        free(Xt.data), free(Yt.data), free(Xs.data), free(M.data), free(V.data);
    }
    free(X.data), free(Y.data), free(mean.data), free(var.data);
}

static void check_folds(kn_settings o)
{
    check_folds_at(o, 0);
    check_folds_at(o, 2);
}

static void folds_are_refits(void **state)
{
    (void)state;
    for (int how = KN_INDUCING_VARIATIONAL; how <= KN_INDUCING_NONE; how++) {
        kn_settings o = settings((kn_inducing)how);
        check_folds(o);
        o.on = KN_ON_RESPONSES;
        o.components = 0;
        check_folds(o);
    }
    kn_settings o = settings(KN_INDUCING_VARIATIONAL);
    o.widths = KN_WIDTHS_SHARED;
    o.latent = 2;
    o.restarts = 1;
    check_folds(o);
}

/* The prediction is the form's own at the parameters found, with fixed effects beside it. */
static void a_model_equals_its_components(void **state)
{
    (void)state;
    for (int how = KN_INDUCING_VARIATIONAL; how <= KN_INDUCING_NONE; how++) {
        kn_settings o = settings((kn_inducing)how);
        kn_mat X, Y, Xs = ref_normal(&rng, 5, 1), mean = ref_new(5, 6), var = ref_new(5, 6);
        kn_model *m;
        draw(25, 6, &X, &Y);
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
        predict(m, Xs, mean, var);
        const kn_convolved *own = m->gp.own;
        const kn_conv_model *c = &own->model;
        assert_int_equal(own->spec.n_smooth, 1);
        assert_int_equal(own->spec.columns.n, 1); /* squares are the processes' */
        kn_mat lat = ref_new(5, 2), v = ref_new(5, 2), fix = ref_new(5, 2), fu = ref_new(5, 4),
               ff = ref_new(5, 25), uu = ref_new(4, 4), fut = ref_new(25, 4), fft = ref_new(25, 25);
        double h[5];
        kn_conv_distances(Xs, c->Z, fu), kn_conv_distances(Xs, X, ff);
        kn_conv_distances(c->Z, c->Z, uu), kn_conv_distances(X, c->Z, fut);
        kn_conv_distances(X, X, fft);
        assert_ok(ctx, kn_conv_find_form((kn_inducing)how)
                           ->predict(ctx, &c->c, &(kn_conv_data){{0}, fut, uu, fft}, &c->posterior,
                                     &(kn_conv_query){fu, ff, lat, v}));
        for (ptrdiff_t i = 0; i < 5; i++) {
            double mx = 0, xx = 0;
            for (ptrdiff_t k = 0; k < 25; k++)
                mx += X.data[k] / 25;
            for (ptrdiff_t k = 0; k < 25; k++)
                xx += (X.data[k] - mx) * (X.data[k] - mx);
            h[i] = 1 / 25.0 + (Xs.data[i] - mx) * (Xs.data[i] - mx) / xx;
            for (ptrdiff_t j = 0; j < 6; j++) {
                double e = 0, s = 0;
                for (ptrdiff_t p = 0; p < 2; p++) {
                    double b = kn_at(m->gp.B, j, p),
                           line = c->fixed.level.data[p] +
                                  (Xs.data[i] - mx) * kn_at(c->fixed.beta, 0, p);
                    e += b * (line + kn_at(lat, i, p));
                    s += b * b * (kn_at(v, i, p) + h[i] * c->c.s2[p] * 25 / 23);
                }
                assert_close(kn_at(mean, i, j), e, 1e-10);
                assert_close(kn_at(var, i, j), s, 1e-10);
            }
        }
        kn_model_free(m);
        free(X.data), free(Y.data), free(Xs.data), free(mean.data), free(var.data);
        free(lat.data), free(v.data), free(fix.data), free(fu.data), free(ff.data), free(uu.data);
        free(fut.data), free(fft.data);
    }
}

static void shared_widths_are_all_equal_to_one(void **state)
{
    (void)state;
    kn_settings o = settings(KN_INDUCING_VARIATIONAL);
    kn_mat X, Y;
    kn_model *m;
    o.widths = KN_WIDTHS_SHARED;
    o.latent = 2;
    draw(25, 5, &X, &Y);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    const kn_conv *c = &((const kn_convolved *)m->gp.own)->model.c;
    for (ptrdiff_t q = 0; q < 2; q++)
        for (ptrdiff_t t = 0; t < 2; t++)
            assert_true(kn_at(c->tau, t, q) == c->nu[q]);
    kn_model_free(m);
    o.widths = KN_WIDTHS_OWN;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    c = &((const kn_convolved *)m->gp.own)->model.c;
    assert_true(kn_at(c->tau, 0, 0) != c->nu[0]);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

/* fit with folds, cv, loo, predict, a copy by way of bytes */
static kn_status everything(kn_mat X, kn_mat Y, const kn_settings *o)
{
    kn_model *m = NULL, *again = NULL;
    kn_maps *maps = NULL;
    void *bytes = NULL;
    size_t count;
    kn_status status = kn_fit_arrays(ctx, view(X), view(Y), o, &m);
    if (status != KN_OK)
        assert_null(m);
    if (status == KN_OK)
        status = kn_maps_cv(ctx, m, view(Y), 2, NULL, &maps);
    kn_maps_free(maps);
    maps = NULL;
    if (status == KN_OK)
        status = kn_maps_loo(ctx, m, view(Y), &maps);
    kn_maps_free(maps);
    maps = NULL;
    if (status == KN_OK)
        status = kn_maps_predict(ctx, m, view(X), &maps);
    kn_maps_free(maps);
    if (status == KN_OK)
        status = kn_model_to_bytes(ctx, m, &bytes, &count);
    if (status == KN_OK)
        status = kn_model_from_bytes(ctx, bytes, count, &again);
    kn_bytes_free(bytes);
    kn_model_free(again);
    kn_model_free(m);
    return status;
}

static void what_leaves_nothing_is_refused(void **state)
{
    (void)state;
    kn_settings o = settings(KN_INDUCING_VARIATIONAL);
    kn_mat X = ref_normal(&rng, 5, 4), Y = ref_normal(&rng, 5, 3);
    kn_model *m;
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_DATA,
                   "{method=convolved}: 5 fixed effects of 5 participants leave nothing to smooth");
    free(X.data), free(Y.data);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 12, 1);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(gp_convolved, open_fixture, close_fixture)
{
    kn_mat X, Y;
    draw(9, 3, &X, &Y);
    for (int how = KN_INDUCING_VARIATIONAL; how <= KN_INDUCING_NONE; how++) {
        kn_settings o = settings((kn_inducing)how);
        kn_status status = KN_ERR_MEMORY;
        failing f = failing_by(17);
        o.folds = 2;
        o.inducing_points = 2;
        o.max_evals = 2;
        o.components = how == KN_INDUCING_PITC ? 0 : 1;
        while (failing_next(&f, status)) {
            kn_fail_allocation(ctx, f.k);
            status = everything(X, Y, &o);
        }
        kn_fail_allocation(ctx, 0);
        assert_ok(ctx, status);
        assert_true(f.k > 100);
    }
    free(X.data), free(Y.data);
}

TEST_PROGRAM(convolved_fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_those_of_least_squares_and_levels_sum_to_zero),
        cmocka_unit_test(leverage_gives_the_fit_without_a_participant),
        cmocka_unit_test(folds_are_refits),
        cmocka_unit_test(a_model_equals_its_components),
        cmocka_unit_test(shared_widths_are_all_equal_to_one),
        cmocka_unit_test(what_leaves_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
