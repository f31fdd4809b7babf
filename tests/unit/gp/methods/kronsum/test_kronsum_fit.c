/* Fits of MT-Kronsum: folds are refits, files, failing allocations, shrinkage.   [METHOD 1g] */
#include "support/failing.h"
#include "support/fits.h"
#include "support/test.h"

#include "base/context.h"
#include "base/random.h"
#include "gp/gp.h"
#include "gp/methods/kronsum/internal.h"
#include "gp/predict/predict.h"
#include "model/model.h"
#include "support/logged.h"

static kn_rng rng;

static kn_settings options(int shrinkage)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "kronsum";
    o.shrinkage = shrinkage;
    o.calibrate = KN_CALIBRATE_NONE;
    o.folds = 3;
    return o;
}

/* Responses with a common signal and noise that they share. */
static void draw(ptrdiff_t N, ptrdiff_t T, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(&rng, N, 2);
    *Y = ref_normal(&rng, N, T);
    kn_mat shared = ref_normal(&rng, N, 1);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(*Y, j)[i] += kn_at(*X, i, 0) * (double)(j + 1) / 2 + shared.data[i];
    free(shared.data);
}

/* A fold of the model and a fit of its training rows alone, by the same parts. Both search from the
 * same start, but for the rounding of their inputs; after two steps, of EM, that is still all that
 * they differ by. Whole searches end within what their tolerance leaves, 1e-7 of a mean and more.
 */
static void folds_are_refits_at_the_fixed_R0(void **state)
{
    (void)state;
    enum { N = 36, T = 3 };
    static const int SHRINKAGE[] = {0, 300, KN_SHRINKAGE_INF};
    for (int s = 0; s < 3; s++) {
        kn_mat X, Y;
        kn_settings o = options(SHRINKAGE[s]);
        kn_model *m;
        kn_maps *maps;
        int fold[N];
        draw(N, T, &X, &Y);
        o.sample_kernel = "linear+se"; /* no slope */
        o.standardise = 0;
        for (int i = 0; i < N; i++)
            fold[i] = i % 3;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
        kn_kronsum_state *own = m->gp.own;
        own->limits.evals_left = 3;
        assert_ok(ctx, kn_maps_cv(ctx, m, view(Y), 3, fold, &maps));
        maps_of cv = collect(maps, T);
        enum { H = N / 3, K = N - H };
        kn_mat Xt = ref_new(K, 2), Yt = ref_new(K, T), Xs = ref_new(H, 2);
        double mu[T] = {0};
        for (int i = 0, a = 0, b = 0; i < N; i++) {
            for (int j = 0; j < 2; j++)
                if (fold[i] == 1)
                    kn_col(Xs, j)[b] = kn_at(X, i, j);
                else
                    kn_col(Xt, j)[a] = kn_at(X, i, j);
            for (int j = 0; j < T && fold[i] != 1; j++) {
                kn_col(Yt, j)[a] = kn_at(Y, i, j);
                mu[j] += kn_at(Y, i, j) / K;
            }
            if (fold[i] == 1)
                b++;
            else
                a++;
        }
        for (int j = 0; j < T; j++)
            for (int i = 0; i < K; i++)
                kn_col(Yt, j)[i] -= mu[j];
        kn_groups none = {0};
        double clamped = 0, nu = SHRINKAGE[s] < 0 ? (double)INFINITY : SHRINKAGE[s];
        kn_kronsum_problem of = {.spec = &m->gp.spec,
                                 .theta = m->gp.latent.cell[0].R0.theta,
                                 .X = Xt,
                                 .Y = Yt,
                                 .groups = &none,
                                 .P = own->P,
                                 .limits = {.evals_left = 3}};
        kn_kronsum_fit f;
        kn_mat lat = ref_new(H, T), v = ref_new(H, T), held_out = ref_new(H, T);
        assert_ok(ctx, kn_kronsum_fit_new(ctx, &of, &f));
        assert_ok(ctx, kn_kronsum_fit_learn(ctx, &f, nu));
        assert_ok(ctx, kn_latent_predict(ctx, &f.latent, &(kn_predict_input){.X = Xs}, lat, v,
                                         &clamped));
        kn_mat mean = ref_mul(0, lat, 1, f.k.Q);
        for (int i = 0, b = 0; i < N; b += fold[i++] == 1)
            for (int j = 0; fold[i] == 1 && j < T; j++)
                kn_col(held_out, j)[b] = kn_at(cv.mean, i, j) - mu[j];
        assert_same(held_out, mean, 1e-9);
        kn_kronsum_fit_clear(&f);
        free(lat.data), free(v.data), free(mean.data), free(held_out.data);
        release(cv);
        kn_model_free(m);
        free(X.data), free(Y.data), free(Xt.data), free(Yt.data), free(Xs.data);
    }
}

static kn_status everything(kn_mat X, kn_mat Y, const int *group)
{
    kn_settings o = options(KN_SHRINKAGE_AUTO);
    kn_model *m = NULL;
    kn_maps *maps = NULL;
    o.max_evals = 3;
    o.groups = group;
    kn_status status = kn_fit_arrays(ctx, view(X), view(Y), &o, &m);
    if (status == KN_OK)
        status = kn_maps_loo(ctx, m, view(Y), &maps);
    kn_maps_free(maps);
    kn_model_free(m);
    return status;
}

static const char STRUCTURED[] =
    "the data do not support a free covariance; the result is the structured model";

/* Reads the shrinkage that was chosen from the logged messages of a fit of noise alone. */
static double chosen_for_noise(kn_rng *from, logged *log)
{
    kn_mat X = ref_normal(from, 30, 1), Y = ref_normal(from, 30, 12);
    kn_settings o = options(KN_SHRINKAGE_AUTO);
    kn_model *m;
    o.folds = 0;
    kn_set_log(ctx, logged_take, log);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_set_log(ctx, NULL, NULL);
    const kn_kronsum_state *own = m->gp.own;
    double nu = own->nu;
    kn_model_free(m);
    free(X.data), free(Y.data);
    return nu;
}

/* Noise alone: no covariance of signal is there to be found. A slight pull towards the covariance
 * of 30 participants is about as good as none, and wins by chance on some data. Hence the first
 * data set is fixed: the structured model wins there by .02 nat. On random data the warning is
 * given if and only if it wins. */
static void pure_noise_selects_the_structured_model(void **state)
{
    (void)state;
    kn_rng given;
    logged log = {0};
    kn_rng_init(&given, 8, 9);
    assert_true(isinf(chosen_for_noise(&given, &log)));
    assert_string_equal(log.text, STRUCTURED);
    for (int k = 0; k < repeat(5, 2); k++) {
        log = (logged){0};
        double nu = chosen_for_noise(&rng, &log);
        assert_true(nu >= 100); /* free covariances of 12 responses and 30 participants never win */
        assert_int_equal(isinf(nu) != 0, strcmp(log.text, STRUCTURED) == 0);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 5, 9);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(gp_kronsum, open_fixture, close_fixture)
{
    kn_mat X, Y;
    int group[12];
    draw(12, 2, &X, &Y);
    for (int i = 0; i < 12; i++)
        group[i] = i / 2;
    for (int grouped = 0; grouped < 2; grouped++) {
        kn_status status = KN_ERR_MEMORY;
        long k = 0, step = repeat(7, 37);
        while (status == KN_ERR_MEMORY && k < 200000) {
            kn_fail_allocation(ctx, k += step);
            status = everything(X, Y, grouped ? group : NULL);
        }
        kn_fail_allocation(ctx, 0);
        assert_int_equal(status, KN_OK);
        assert_true(k > 100);
    }
    free(X.data), free(Y.data);
}

TEST_PROGRAM(kronsum_fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_refits_at_the_fixed_R0),
        cmocka_unit_test(pure_noise_selects_the_structured_model),
    };
    return cmocka_run_group_tests_name("kronsum_fit", tests, open_fixture, close_fixture);
}
