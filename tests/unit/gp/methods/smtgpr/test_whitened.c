/* Whitened noise at given parameters and after a fit: golden numbers, the dense Gaussian of all
 * responses, removals of participants. */
#include "support/whiteneds.h"

#include "data/scaling.h"
#include "gp/basis/complement.h"
#include "gp/methods/methods.h"
#include "gp/methods/smtgpr/internal.h"
#include "gp/predict/covariance.h"
#include "gp/predict/loo.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"

/* The process at these parameters: components and decomposition by the fit's own code. */
typedef struct made {
    kn_gp gp;
    kn_scaling s;
    kn_responses Y;
} made;

static void make(const given *g, made *m)
{
    ptrdiff_t P = g->B.cols, T = g->Y.cols;
    kn_whitened w = {.complement = P < T};
    kn_spec spec = {.sample = cov_of("linear+se", g->X.cols)};
    double theta[3];
    theta_at_rho(&spec.sample, g->rho, g->length, theta);
    assert_ok(ctx, kn_scaling_new(ctx, view(g->Y), false, &m->s));
    m->Y = kn_responses_of(view(g->Y), &m->s);
    assert_ok(ctx, kn_alloc_d(ctx, T, &w.factors.psi));
    assert_ok(ctx, kn_mat_copy(ctx, g->B, &w.factors.B));
    kn_mat Yw = ref_new(g->Y.rows, T);
    for (ptrdiff_t j = 0; j < T; j++) {
        w.factors.psi[j] = g->psi[j];
        for (ptrdiff_t i = 0; i < Yw.rows; i++)
            kn_col(Yw, j)[i] = kn_at(g->Y, i, j) / sqrt(g->psi[j]);
    }
    kn_mat Z = ref_mul(0, Yw, 0, g->B);
    assert_ok(ctx, kn_mat_copy(ctx, Z, &w.factors.Z));
    w.factors.total = kn_sumsq(Yw);
    kn_whitened_data of = {&spec, g->X, &m->Y, NULL, theta};
    assert_ok(ctx, kn_whitened_at(ctx, &of, &w));
    for (ptrdiff_t p = 0; g->c && p < w.latent.P; p++) {
        w.latent.c[p] = g->c[p];
        w.latent.d[p] = g->d[p];
    }
    m->gp = (kn_gp){.method = &kn_method_whitened,
                    .spec = spec,
                    .N = g->X.rows,
                    .F = g->X.cols,
                    .T = T,
                    .P = P,
                    .pca = true,
                    .complement_component = w.complement};
    m->gp.spec.noise = KN_NOISE_WHITENED;
    m->gp.s2 = w.complement ? w.latent.d[P] : 0;
    if (w.complement) {
        kn_complement_input outside = kn_whitened_outside(&of, &w);
        assert_ok(ctx, kn_complement_make(ctx, &w.latent, &outside, &m->gp.D0));
    }
    assert_ok(ctx, kn_alloc_d(ctx, T, &m->gp.noise));
    m->gp.psi = w.factors.psi;
    m->gp.B = w.factors.B;
    m->gp.latent = w.latent;
    kn_mat_clear(&w.factors.Z);
    free(Yw.data), free(Z.data);
}

static void unmake(made *m)
{
    kn_gp_clear(&m->gp);
    kn_scaling_clear(&m->s);
}

/* ---- golden ---- */

static void check_golden(const char *dir)
{
    json_t *expected = golden_json(dir, "expected");
    kn_mat c = golden_column(expected, "c"), d = golden_column(expected, "d");
    kn_mat psi = golden_matrix(dir, "psi"), Ys = golden_matrix(dir, "Ystar");
    kn_mat M = golden_matrix(dir, "mean"), V = golden_matrix(dir, "var_model");
    kn_mat R = golden_matrix(dir, "loo_residual"), L = golden_matrix(dir, "loo_var_model");
    kn_mat noise = golden_matrix(dir, "noise"), joint = golden_column(expected, "joint");
    kn_mat dev = golden_column(expected, "deviance");
    double cs[32], ds[32];
    given g = {.X = golden_matrix(dir, "X"),
               .Y = golden_matrix(dir, "Y"),
               .Xs = golden_matrix(dir, "Xstar"),
               .B = golden_matrix(dir, "B"),
               .psi = psi.data,
               .c = cs,
               .d = ds,
               .rho = golden_number(expected, "rho"),
               .length = golden_number(expected, "length")};
    ptrdiff_t N = g.X.rows, T = g.Y.cols, P = g.B.cols, n = g.Xs.rows;
    for (ptrdiff_t p = 0; p < P; p++) {
        cs[p] = c.data[p];
        ds[p] = d.data[p];
    }
    if (P < T) {
        cs[P] = golden_number(expected, "c0");
        ds[P] = golden_number(expected, "d0");
    }
    kn_mat mean = ref_new(n, T), var = ref_new(n, T), lm = ref_new(N, T), lv = ref_new(N, T);
    made m;
    kn_gp_maps maps;
    kn_map_density_state density;
    kn_scaling s;
    assert_close(truth(&g, mean, var), golden_number(expected, "lml"),
                 1e-10); /* the oracle's own */
    assert_same(mean, M, 1e-10);
    make(&g, &m);
    assert_ok(ctx, kn_gp_predict(ctx, &m.gp, &(kn_predict_input){.X = g.Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, float_rounding(&g));
    assert_same(var, V, 1e-10);
    assert_ok(ctx, kn_scaling_new(ctx, view(Ys), false, &s));
    kn_responses responses = kn_responses_of(view(Ys), &s);
    assert_ok(ctx, kn_map_density_evaluate(ctx, &maps, &responses, &density));
    assert_same(kn_mat_cols(density.log_p, n, 1), joint, 1e-5);
    assert_same(kn_mat_cols(density.dev, n, 1), dev, 1e-5);
    kn_map_density_state_clear(&density);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&s);
    assert_ok(ctx, kn_gp_set_noise(ctx, &m.gp, &m.Y, NULL));
    assert_same(kn_mat_cols(m.gp.noise, T, 1), kn_mat_cols(noise.data, T, 1), 1e-10);
    assert_ok(ctx, kn_gp_loo(ctx, &m.gp, &m.Y, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, lm, lv));
    for (ptrdiff_t i = 0; i < N * T; i++)
        lm.data[i] = g.Y.data[i] - lm.data[i];
    assert_same(lm, R, 1e-10);
    assert_same(lv, L, 1e-10);
    kn_gp_maps_clear(&maps);
    unmake(&m);
    if (P < T) { /* c0 and d0 by the profile */
        g.c = g.d = NULL;
        make(&g, &m);
        assert_close(m.gp.latent.c[P], golden_number(expected, "profile_c0"), 1e-6);
        assert_close(m.gp.latent.d[P], golden_number(expected, "profile_d0"), 1e-6);
        unmake(&m);
    }
    free(c.data), free(d.data), free(psi.data), free(Ys.data), free(M.data), free(V.data);
    free(R.data), free(L.data), free(noise.data), free(joint.data), free(dev.data);
    free(g.X.data), free(g.Y.data), free(g.Xs.data), free(g.B.data), free(mean.data);
    free(var.data), free(lm.data), free(lv.data);
    json_decref(expected);
}

static void golden_numbers(void **state)
{
    (void)state;
    check_golden("models/whitened/case1");
    check_golden("models/whitened/case2");
}

/* c0 = 0, d0 = s2 and psi = 1 is structured noise. */
static void without_whitening_and_signal_it_is_structured(const char *dir)
{
    json_t *expected = golden_json(dir, "expected");
    kn_mat c = golden_column(expected, "fixed.c"), d = golden_column(expected, "fixed.d");
    kn_mat M = golden_matrix(dir, "mean"), V = golden_matrix(dir, "var_model");
    kn_mat R = golden_matrix(dir, "loo_residual"), L = golden_matrix(dir, "loo_var_model");
    double cs[64], ds[64], psi[64];
    given g = {.X = golden_matrix(dir, "X"),
               .Y = golden_matrix(dir, "Y"),
               .Xs = golden_matrix(dir, "Xstar"),
               .B = golden_matrix(dir, "B"),
               .psi = psi,
               .c = cs,
               .d = ds,
               .rho = golden_number(expected, "rho"),
               .length = golden_number(expected, "length")};
    ptrdiff_t N = g.X.rows, T = g.Y.cols, P = g.B.cols;
    for (ptrdiff_t j = 0; j < T; j++)
        psi[j] = 1;
    for (ptrdiff_t p = 0; p < P; p++) {
        cs[p] = c.data[p];
        ds[p] = d.data[p];
    }
    cs[P] = 0;
    ds[P] = 0.7;
    kn_mat mean = ref_new(M.rows, T), var = ref_new(M.rows, T);
    kn_mat lm = ref_new(N, T), lv = ref_new(N, T);
    made m;
    kn_gp_maps maps;
    make(&g, &m);
    assert_null(m.gp.D0.data);
    assert_ok(ctx, kn_gp_predict(ctx, &m.gp, &(kn_predict_input){.X = g.Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    kn_gp_maps_clear(&maps);
    assert_ok(ctx, kn_gp_loo(ctx, &m.gp, &m.Y, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, lm, lv));
    for (ptrdiff_t i = 0; i < N * T; i++)
        lm.data[i] = g.Y.data[i] - lm.data[i];
    assert_same(lm, R, 1e-10);
    assert_same(lv, L, 1e-10);
    kn_gp_maps_clear(&maps);
    unmake(&m);
    free(c.data), free(d.data), free(M.data), free(V.data), free(R.data), free(L.data);
    free(g.X.data), free(g.Y.data), free(g.Xs.data), free(g.B.data), free(mean.data);
    free(var.data), free(lm.data), free(lv.data);
    json_decref(expected);
}

static void structured_noise_is_a_special_case(void **state)
{
    (void)state;
    without_whitening_and_signal_it_is_structured("structured/case1");
    without_whitening_and_signal_it_is_structured("structured/case2");
}

/* ---- a fit ---- */

/* What a process says of itself, for the dense truth. */
static given said_by(const kn_gp *gp, kn_mat Y, kn_mat Xs)
{
    return (given){.X = gp->latent.X,
                   .Y = Y,
                   .Xs = Xs,
                   .B = gp->B,
                   .psi = gp->psi,
                   .c = gp->latent.c,
                   .d = gp->latent.d,
                   .rho = 0.4,
                   .length = 1.5};
}

/* Each participant from all others, psi, B, c and d as they are. */
static void check_removal(const kn_gp *gp, const kn_responses *R, kn_mat Y)
{
    ptrdiff_t N = gp->N, T = gp->T;
    kn_mat mean = ref_new(N, T), var = ref_new(N, T), X = ref_new(N - 1, gp->F);
    kn_mat y = ref_new(N - 1, T), x = ref_new(1, gp->F), m = ref_new(1, T), v = ref_new(1, T);
    kn_gp_maps maps;
    assert_ok(ctx, kn_gp_loo(ctx, gp, R, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    for (ptrdiff_t out = 0; out < N; out += 5) {
        for (ptrdiff_t i = 0; i < N - 1; i++) {
            for (ptrdiff_t f = 0; f < gp->F; f++)
                kn_col(X, f)[i] = kn_at(gp->latent.X, i + (i >= out), f);
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(y, j)[i] = kn_at(Y, i + (i >= out), j);
        }
        for (ptrdiff_t f = 0; f < gp->F; f++)
            x.data[f] = kn_at(gp->latent.X, out, f);
        given g = said_by(gp, y, x);
        g.X = X;
        truth(&g, m, v);
        for (ptrdiff_t j = 0; j < T; j++) {
            assert_close(kn_at(mean, out, j), m.data[j], 1e-9);
            assert_close(kn_at(var, out, j), v.data[j], 1e-9);
        }
    }
    kn_gp_maps_clear(&maps);
    free(mean.data), free(var.data), free(X.data), free(y.data), free(x.data), free(m.data);
    free(v.data);
}

/* Of one participant: the density of all responses, and their covariance. */
static void check_density(const kn_gp *gp, const given *g, kn_mat mean)
{
    ptrdiff_t T = gp->T, n = g->Xs.rows, J[64];
    kn_mat Ys = ref_new(n, T), model = ref_new(T, T), noise = ref_new(T, T), S, x;
    kn_gp_maps maps;
    kn_map_density_state density;
    kn_scaling s;
    double e[64];
    for (ptrdiff_t i = 0; i < n * T; i++)
        Ys.data[i] = cos((double)(3 * i));
    assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_predict_input){.X = g->Xs}, &maps));
    assert_ok(ctx, kn_scaling_new(ctx, view(Ys), false, &s));
    kn_responses responses = kn_responses_of(view(Ys), &s);
    assert_ok(ctx, kn_map_density_evaluate(ctx, &maps, &responses, &density));
    S = spread(g->B, g->psi, g->d);
    x = ref_new(1, gp->F);
    for (ptrdiff_t f = 0; f < gp->F; f++)
        x.data[f] = kn_at(g->Xs, 0, f);
    for (ptrdiff_t j = 0; j < T; j++) {
        J[j] = j;
        e[j] = kn_at(Ys, 0, j) - kn_at(mean, 0, j);
    }
    assert_ok(ctx, kn_gp_covariance(ctx, gp, x, J, model, noise));
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            if (a != b)
                assert_close(kn_at(noise, a, b), kn_at(S, a, b), 1e-10);
            kn_col(S, b)[a] += kn_at(model, a, b);
        }
    assert_close(density.log_p[0], ref_log_density(S, e), 1e-5); /* D0 in float32 */
    kn_map_density_state_clear(&density);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&s);
    free(Ys.data), free(model.data), free(noise.data), free(S.data), free(x.data);
}

static void check_process(const kn_gp *gp, const kn_responses *R, double lml, kn_rng *rng)
{
    kn_mat Y = ref_new(gp->N, gp->T), Xs = ref_normal(rng, 4, gp->F);
    kn_mat M = ref_new(4, gp->T), V = ref_new(4, gp->T), mean = ref_new(4, gp->T),
           var = ref_new(4, gp->T);
    kn_gp_maps maps;
    kn_responses_block(ctx, R, 0, Y);
    given g = said_by(gp, Y, Xs);
    assert_close(lml, truth(&g, M, V), 1e-10);
    assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_predict_input){.X = Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, float_rounding(&g));
    assert_same(var, V, 1e-9);
    kn_gp_maps_clear(&maps);
    check_removal(gp, R, Y);
    check_density(gp, &g, M);
    free(Y.data), free(Xs.data), free(M.data), free(V.data), free(mean.data), free(var.data);
}

static void a_fit_is_the_dense_gaussian(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][3] = {{14, 6, 2}, {14, 6, 1}, {14, 6, 6}, {14, 6, 0}, {8, 12, 3},
                                         {8, 12, 1}, {8, 12, 0}, {8, 12, 6}, {20, 1, 1}, {6, 6, 4}};
    kn_rng rng;
    ref_rng_init(&rng, 13, 1);
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++) {
        kn_mat X, Y;
        kn_settings o = settings((int)SHAPE[k][2], 0);
        kn_model *model;
        participants(&rng, SHAPE[k][0], SHAPE[k][1], &X, &Y);
        if (SHAPE[k][2] > 0) {
            assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
            kn_responses R = kn_responses_of(view(Y), &model->y);
            assert_int_equal(model->gp.P, SHAPE[k][2]);
            assert_ptr_equal(model->gp.method, &kn_method_whitened);
            check_process(&model->gp, &R, model->info.lml, &rng);
            kn_model_free(model);
        } else { /* no option asks for none */
            kn_scaling s;
            kn_gp gp;
            kn_gp_options options = {0};
            kn_fit_info info = {0};
            assert_ok(ctx, kn_scaling_new(ctx, view(Y), true, &s));
            kn_fit_problem p = {.X = X,
                                .Y = kn_responses_of(view(Y), &s),
                                .spec = {.sample = cov_of("linear+se", 2)},
                                .options = &options};
            kn_search_result found = {.at = kn_cov_at_rho(&p.spec.sample, 0.4, 1.5)};
            assert_ok(ctx, kn_whitened_fit_at(ctx, &p, &found, 0, &gp, &info));
            check_process(&gp, &p.Y, info.lml, &rng);
            kn_gp_clear(&gp);
            kn_scaling_clear(&s);
        }
        free(X.data), free(Y.data);
    }
}

TEST_PROGRAM(smtgpr_whitened)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers),
        cmocka_unit_test(structured_noise_is_a_special_case),
        cmocka_unit_test(a_fit_is_the_dense_gaussian),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
