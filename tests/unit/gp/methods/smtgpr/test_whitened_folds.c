/* Folds of whitened noise against refits. */
#include "support/whiteneds.h"

#include "data/scaling.h"
#include "gp/cv/cv.h"
#include "gp/cv/refit.h"
#include "gp/methods/smtgpr/internal.h"

/* Rows of a fold as a table of their own, about their means. */
static void alone(const kn_gp *gp, kn_mat Y, const int *fold, int k, kn_mat *X, kn_mat *y,
                  double *mu)
{
    ptrdiff_t n = 0, T = Y.cols;
    for (ptrdiff_t i = 0; i < Y.rows; i++)
        n += fold[i] != k;
    *X = ref_new(n, gp->F);
    *y = ref_new(n, T);
    for (ptrdiff_t i = 0, at = 0; i < Y.rows; i++) {
        for (ptrdiff_t f = 0; fold[i] != k && f < gp->F; f++)
            kn_col(*X, f)[at] = kn_at(gp->latent.X, i, f);
        for (ptrdiff_t j = 0; fold[i] != k && j < T; j++)
            kn_col(*y, j)[at] = kn_at(Y, i, j);
        at += fold[i] != k;
    }
    for (ptrdiff_t j = 0; j < T; j++) {
        mu[j] = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            mu[j] += kn_at(*y, i, j) / (double)n;
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(*y, j)[i] -= mu[j];
    }
}

/* Mean and variance of the held-out of fold k by a fit of the others alone; returns how far means
 * may be off. */
static double refit(const kn_gp *gp, kn_mat Y, const int *fold, int k, kn_mat mean, kn_mat var)
{
    kn_mat X, y;
    double mu[64], theta[3], allowed = 0;
    kn_scaling s;
    kn_whitened w = {.complement = gp->complement_component};
    alone(gp, Y, fold, k, &X, &y, mu);
    assert_ok(ctx, kn_scaling_new(ctx, view(y), false, &s));
    kn_responses R = kn_responses_of(view(y), &s);
    theta_at_rho(&gp->spec.sample, 0.4, 1.5, theta);
    kn_whitened_data of = {&gp->spec, X, &R, NULL, theta};
    assert_ok(ctx, kn_factors_new(ctx, &R, NULL, gp->P, &w.factors));
    assert_ok(ctx, kn_whitened_at(ctx, &of, &w));
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        if (fold[i] != k)
            continue;
        kn_mat x = ref_new(1, gp->F), m = ref_new(1, Y.cols), v = ref_new(1, Y.cols);
        for (ptrdiff_t f = 0; f < gp->F; f++)
            x.data[f] = kn_at(gp->latent.X, i, f);
        given g = {.X = X,
                   .Y = y,
                   .Xs = x,
                   .B = w.factors.B,
                   .psi = w.factors.psi,
                   .c = w.latent.c,
                   .d = w.latent.d,
                   .rho = 0.4,
                   .length = 1.5};
        truth(&g, m, v);
        allowed = fmax(allowed, float_rounding(&g));
        for (ptrdiff_t j = 0; j < Y.cols; j++) {
            kn_col(mean, j)[i] = mu[j] + m.data[j];
            kn_col(var, j)[i] = v.data[j];
        }
        free(x.data), free(m.data), free(v.data);
    }
    kn_whitened_clear(&w);
    kn_scaling_clear(&s);
    free(X.data), free(y.data);
    return allowed;
}

static void check_folds(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, int P)
{
    enum { FOLDS = 3 };
    kn_mat X, Y, M = ref_new(N, T), V = ref_new(N, T), mean = ref_new(N, T), var = ref_new(N, T);
    kn_settings o = settings(P, 0);
    kn_model *model;
    kn_gp_maps maps;
    int fold[64];
    participants(rng, N, T, &X, &Y);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
    kn_responses R = kn_responses_of(view(Y), &model->y);
    kn_responses_block(ctx, &R, 0, Y);
    R.scaling = NULL; /* standardised now */
    kn_scaling s;
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), false, &s));
    R = kn_responses_of(view(Y), &s);
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = (int)(i % FOLDS);
    kn_cv_problem problem = {.Y = &R, .folds = FOLDS, .fold = fold};
    assert_ok(ctx, kn_gp_cv(ctx, &model->gp, &problem, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    double allowed = 0;
    for (int k = 0; k < FOLDS; k++)
        allowed = fmax(allowed, refit(&model->gp, Y, fold, k, M, V));
    assert_same(mean, M, allowed);
    assert_same(var, V, 1e-9);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&s);
    kn_model_free(model);
    free(X.data), free(Y.data), free(M.data), free(V.data), free(mean.data), free(var.data);
}

static void folds_are_refits(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 14, 1);
    check_folds(&rng, 18, 6, 2);
    check_folds(&rng, 18, 6, 6);
    check_folds(&rng, 12, 16, 3);
    check_folds(&rng, 12, 16, 1);
    check_folds(&rng, 9, 14, 7); /* more than a fold has room for */
}

/* Where cells are missing a fold keeps D0 instead of a smoother: the same to float32. */
static void a_fold_by_its_own_responses_gives_the_same_maps(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 15, 1);
    enum { N = 20, T = 7, HELD_OUT = 5 };
    kn_mat X, Y, mean[2], var = ref_new(HELD_OUT, T);
    kn_settings o = settings(1, 0);
    kn_model *model;
    kn_missing_mask none;
    ptrdiff_t train[N], rows[HELD_OUT];
    double mu[T] = {0}, clamped = 0;
    participants(&rng, N, T, &X, &Y);
    /* Strong effects of both covariates, of which one component holds one: the complement has a
     * signal for any draw, and hence D0. */
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(Y, j)[i] +=
                20 * (kn_at(X, i, 0) * cos((double)j) + kn_at(X, i, 1) * sin((double)j));
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
    kn_responses R = kn_responses_of(view(Y), &model->y);
    assert_ok(ctx, kn_missing_mask_new(ctx, view(Y), model->y.kept, T, &none));
    kn_mat Xt = ref_new(N - HELD_OUT, 2), Xs = ref_new(HELD_OUT, 2);
    kn_mat y = ref_new(N, T);
    kn_responses_block(ctx, &R, 0, y);
    for (ptrdiff_t i = 0; i < N - HELD_OUT; i++)
        train[i] = i;
    for (ptrdiff_t i = 0; i < HELD_OUT; i++)
        rows[i] = N - HELD_OUT + i;
    kn_mat_rows(model->gp.latent.X, train, Xt);
    kn_mat_rows(model->gp.latent.X, rows, Xs);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N - HELD_OUT; i++)
            mu[j] += kn_at(y, i, j) / (double)(N - HELD_OUT);
    for (int imputed = 0; imputed < 2; imputed++) {
        kn_fold_prediction part = {.n = HELD_OUT, .n_train = N - HELD_OUT}, *parts;
        kn_refit f = {.gp = &model->gp,
                      .n = N - HELD_OUT,
                      .train = train,
                      .X = Xt,
                      .Y = kn_responses_rows(&R, train, N - HELD_OUT),
                      .mu = mu,
                      .Xs = Xs,
                      .X_without_site = Xs};
        if (imputed)
            f.Y.missing = &none;
        assert_ok(ctx, kn_alloc_d(ctx, T, &part.mu));
        memcpy(part.mu, mu, sizeof mu);
        assert_ok(ctx, kn_whitened_fold(ctx, &f, &part, &clamped));
        assert_int_equal(part.D0.rows > 0, imputed);
        assert_int_equal(part.smooth.data != NULL, !imputed);
        void *memory;
        assert_ok(ctx, kn_alloc(ctx, 1, sizeof part, &memory));
        parts = memory;
        *parts = part;
        kn_gp_maps maps = {.gp = &model->gp, .Y = R, .n = HELD_OUT, .n_parts = 1, .part = parts};
        mean[imputed] = ref_new(HELD_OUT, T);
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean[imputed], var));
        kn_gp_maps_set_without_site(&maps); /* of covariates that are the same */
        kn_mat again = ref_new(HELD_OUT, T);
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, again, kn_mat_none()));
        assert_same(again, mean[imputed], 1e-12);
        free(again.data);
        kn_gp_maps_clear(&maps);
    }
    assert_same(mean[1], mean[0], 1e-6);
    kn_missing_mask_clear(&none);
    kn_model_free(model);
    free(X.data), free(Y.data), free(mean[0].data), free(mean[1].data), free(var.data);
    free(Xt.data), free(Xs.data), free(y.data);
}

TEST_PROGRAM(smtgpr_whitened_folds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_refits),
        cmocka_unit_test(a_fold_by_its_own_responses_gives_the_same_maps),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
