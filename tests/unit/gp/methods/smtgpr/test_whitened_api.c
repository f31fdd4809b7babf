/* Whitened noise through the public door: files, threads, low rank, refusals, and noise=auto. */
#include "support/whiteneds.h"

#include "gp/methods/methods.h"

/* Of few features that span all there is of R0 the fit is that of the dense matrix. */
static void low_rank_is_dense_where_features_suffice(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 17, 1);
    kn_mat X, Y;
    kn_model *m[2];
    participants(&rng, 40, 15, &X, &Y);
    for (int low = 0; low < 2; low++) {
        kn_settings o = settings(2, 4);
        o.sample_kernel = "linear";
        o.rho = o.length = NAN;
        o.rank = low ? 10 : KN_RANK_FULL;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m[low]));
    }
    assert_int_equal(m[1]->info.rank, 2);
    assert_int_equal(m[0]->info.rank, 40);
    assert_close(m[1]->info.lml, m[0]->info.lml, 1e-8);
    assert_close(m[1]->gp.latent.d[2], m[0]->gp.latent.d[2], 1e-5);
    assert_close(m[1]->info.cv.msll, m[0]->info.cv.msll, 1e-5);
    assert_close(m[1]->info.loo.msll, m[0]->info.loo.msll, 1e-5);
    kn_model_free(m[0]);
    kn_model_free(m[1]);
    free(X.data), free(Y.data);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 18, 1);
    kn_mat X, Y;
    kn_model *m;
    participants(&rng, 8, 20, &X, &Y);
    kn_settings o = settings(7, 0);
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
                   "{components} is 7, but with whitened noise 8 participants with 20 responses "
                   "allow at most 6, because some variance must remain for the noise");
    o.noise = KN_NOISE_AUTO;
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
                   "{noise=auto} needs held-out participants, but {folds=0} holds none out");
    o.folds = 2;
    o.basis_view = view(Y);
    assert_refused(
        ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
        "Whitened noise does not use {basis}: its basis consists of the factors of the responses");
    free(X.data), free(Y.data);
}

/* Noise of very different size in each response is what whitened noise is for; of equal size, and
 * nothing outside the components, it is not. */
static void auto_selects_the_noise_with_the_best_held_out_density(void **state)
{
    (void)state;
    kn_rng rng;
    enum { N = 150, T = 24 };
    ref_rng_init(&rng, 19, 1);
    for (int uneven = 0; uneven < 2; uneven++) {
        kn_mat X = ref_normal(&rng, N, 2), Y = ref_normal(&rng, N, T);
        kn_settings o;
        kn_model *m;
        for (ptrdiff_t i = 0; i < N; i++) {
            double shared = kn_rng_normal(&rng);
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(Y, j)[i] = (uneven ? pow(1.3, (double)(j % 12)) : 3) * kn_at(Y, i, j) +
                                  6 * (shared + kn_at(X, i, 0)) * (j % 2 ? 1 : -1);
        }
        kn_settings_init(&o);
        o.noise = KN_NOISE_AUTO;
        o.components = 1;
        o.standardise = uneven;
        o.calibrate = KN_CALIBRATE_NONE;
        o.folds = 5;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
        const kn_noise_choice *c = &m->info.noise_choice;
        assert_int_equal(c->tried, 1);
        assert_close(c->gain, c->whitened - c->structured, 1e-9);
        assert_int_equal(m->info.noise == KN_NOISE_WHITENED, c->gain > c->se);
        assert_int_equal(m->info.noise, uneven ? KN_NOISE_WHITENED : KN_NOISE_STRUCTURED);
        assert_ptr_equal(m->gp.method, uneven ? &kn_method_whitened : &kn_method_smtgpr);
        assert_ptr_equal(m->info.method, m->gp.method);
        kn_model_free(m);
        free(X.data), free(Y.data);
    }
}

/* Responses that are their components have no density with structured noise: nothing is said of
 * it, and no number that is none. */
static void auto_without_densities_is_structured(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 20, 1);
    enum { N = 30, T = 6 };
    kn_mat X = ref_normal(&rng, N, 2), Y = ref_new(N, T), Z = ref_normal(&rng, N, 2);
    kn_settings o;
    kn_model *m;
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(Y, j)[i] = kn_at(Z, i, j % 2) + kn_at(X, i, 0);
    kn_settings_init(&o);
    o.noise = KN_NOISE_AUTO;
    o.components = 2;
    o.calibrate = KN_CALIBRATE_NONE;
    o.folds = 3;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    const kn_noise_choice *c = &m->info.noise_choice;
    assert_int_equal(m->info.noise == KN_NOISE_STRUCTURED || c->tried, 1);
    assert_true(!c->tried || (isfinite(c->gain) && isfinite(c->se) && isfinite(c->structured)));
    kn_model_free(m);
    free(X.data), free(Y.data), free(Z.data);
}

TEST_PROGRAM(smtgpr_whitened_api)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_is_dense_where_features_suffice),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(auto_selects_the_noise_with_the_best_held_out_density),
        cmocka_unit_test(auto_without_densities_is_structured),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
