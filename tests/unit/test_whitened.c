/* Whitened noise against golden numbers, dense Gaussians of all responses, factor analysis one step
 * after the other, refits of folds and removals of people. */
#include "covs.h"

#include "base/rng.h"
#include "gp/complement.h"
#include "gp/covariance.h"
#include "gp/cv.h"
#include "gp/cv_deal.h"
#include "gp/cv_refit.h"
#include "gp/loo.h"
#include "gp/noise.h"
#include "gp/predict.h"
#include "gp/smtgpr.h"
#include "gp/smtgpr_whitened.h"
#include "gp/whitened_fold.h"
#include "gp/whitened_model.h"
#include "la/la.h"

static kn_ctx *ctx;

static kn_view view(kn_mat m)
{
    return kn_view_cols(m.data, m.rows, m.cols);
}

/* ---- a model at given parameters, and the dense truth ---- */

typedef struct given {
    kn_mat X, Y, Xs, B;
    const double *psi, *c, *d; /* T; P + 1: the complement last */
    double rho, length;
} given;

/* Noise and signal of all responses: Psi^1/2 [B diag(x) B' + x0 (I - BB')] Psi^1/2 */
static kn_mat spread(kn_mat B, const double *psi, const double *x)
{
    ptrdiff_t T = B.rows, P = B.cols;
    kn_mat S = ref_new(T, T);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            double sum = a == b && P < T ? x[P] : 0;
            for (ptrdiff_t p = 0; p < P; p++)
                sum += kn_at(B, a, p) * kn_at(B, b, p) * (x[p] - (P < T ? x[P] : 0));
            kn_col(S, a)[b] = sum * sqrt(psi[a] * psi[b]);
        }
    return S;
}

/* (1-rho) XX'/F + rho SE */
static kn_mat covariance(kn_mat X, kn_mat Y, double rho, double length)
{
    kn_mat R = ref_new(X.rows, Y.rows);
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t j = 0; j < Y.rows; j++) {
            double dot = 0, far = 0;
            for (ptrdiff_t f = 0; f < X.cols; f++) {
                double x = kn_at(X, i, f), y = kn_at(Y, j, f);
                dot += x * y;
                far += (x - y) * (x - y);
            }
            kn_col(R, j)[i] =
                (1 - rho) * dot / (double)X.cols + rho * exp(-0.5 * far / (length * length));
        }
    return R;
}

/* LML of Y; mean and variance, without noise, of Xs (n x T each, or none). */
static double truth(const given *g, kn_mat mean, kn_mat var)
{
    ptrdiff_t N = g->Y.rows, T = g->Y.cols, n = g->Xs.rows;
    kn_mat C = spread(g->B, g->psi, g->c), S = spread(g->B, g->psi, g->d);
    kn_mat R = covariance(g->X, g->X, g->rho, g->length);
    kn_mat Rs = covariance(g->Xs, g->X, g->rho, g->length);
    kn_mat I = ref_new(N, N), K = ref_kron(C, R), E, Ks = ref_kron(C, Rs);
    double *kss = calloc((size_t)(n * T), sizeof *kss);
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(I, i)[i] = 1;
    E = ref_kron(S, I);
    for (ptrdiff_t k = 0; k < K.rows * K.cols; k++)
        K.data[k] += E.data[k];
    for (ptrdiff_t i = 0; i < n; i++) {
        kn_mat x = kn_sub(g->Xs, i, 0, 1, g->Xs.cols), own = ref_new(1, g->Xs.cols);
        for (ptrdiff_t f = 0; f < x.cols; f++)
            own.data[f] = kn_at(x, 0, f);
        kn_mat self = covariance(own, own, g->rho, g->length);
        for (ptrdiff_t j = 0; j < T; j++)
            kss[j * n + i] = kn_at(C, j, j) * self.data[0];
        free(own.data), free(self.data);
    }
    double lml = ref_gp(K, g->Y.data, Ks, kss, mean.data, var.data);
    free(C.data), free(S.data), free(R.data), free(Rs.data), free(I.data), free(K.data);
    free(E.data), free(Ks.data), free(kss);
    return lml;
}

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
    kn_whitened_of of = {&spec, g->X, &m->Y, NULL, theta};
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
        kn_complement_of outside = kn_whitened_outside(&of, &w);
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
    json_t *expected = ref_json(dir, "expected.json");
    kn_mat c = ref_numbers(expected, "c"), d = ref_numbers(expected, "d");
    kn_mat psi = ref_csv(dir, "psi.csv"), Ys = ref_csv(dir, "Ystar.csv");
    kn_mat M = ref_csv(dir, "mean.csv"), V = ref_csv(dir, "var_model.csv");
    kn_mat R = ref_csv(dir, "loo_residual.csv"), L = ref_csv(dir, "loo_var_model.csv");
    kn_mat noise = ref_csv(dir, "noise.csv"), joint = ref_numbers(expected, "joint");
    kn_mat dev = ref_numbers(expected, "deviance");
    double cs[32], ds[32];
    given g = {.X = ref_csv(dir, "X.csv"),
               .Y = ref_csv(dir, "Y.csv"),
               .Xs = ref_csv(dir, "Xstar.csv"),
               .B = ref_csv(dir, "B.csv"),
               .psi = psi.data,
               .c = cs,
               .d = ds,
               .rho = ref_number(expected, "rho"),
               .length = ref_number(expected, "length")};
    ptrdiff_t N = g.X.rows, T = g.Y.cols, P = g.B.cols, n = g.Xs.rows;
    for (ptrdiff_t p = 0; p < P; p++) {
        cs[p] = c.data[p];
        ds[p] = d.data[p];
    }
    if (P < T) {
        cs[P] = ref_number(expected, "c0");
        ds[P] = ref_number(expected, "d0");
    }
    kn_mat mean = ref_new(n, T), var = ref_new(n, T), lm = ref_new(N, T), lv = ref_new(N, T);
    made m;
    kn_gp_maps maps;
    kn_law_walk law;
    kn_scaling s;
    assert_close(truth(&g, mean, var), ref_number(expected, "lml"), 1e-10); /* the oracle's own */
    assert_same(mean, M, 1e-10);
    make(&g, &m);
    assert_ok(ctx, kn_gp_predict(ctx, &m.gp, &(kn_newcomers){.X = g.Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, 2e-6); /* D0 in float32, directions with a share of 1e-6 left out */
    assert_same(var, V, 1e-10);
    assert_ok(ctx, kn_scaling_new(ctx, view(Ys), false, &s));
    kn_responses responses = kn_responses_of(view(Ys), &s);
    assert_ok(ctx, kn_law_density(ctx, &maps, &responses, &law));
    assert_same(kn_mat_cols(law.log_p, n, 1), joint, 1e-5);
    assert_same(kn_mat_cols(law.dev, n, 1), dev, 1e-5);
    kn_law_walk_clear(&law);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&s);
    assert_ok(ctx, kn_gp_set_noise(ctx, &m.gp, &m.Y, NULL, KN_RULES_CURRENT));
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
        assert_close(m.gp.latent.c[P], ref_number(expected, "profile_c0"), 1e-6);
        assert_close(m.gp.latent.d[P], ref_number(expected, "profile_d0"), 1e-6);
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
    json_t *expected = ref_json(dir, "expected.json");
    kn_mat c = ref_numbers(expected, "fixed.c"), d = ref_numbers(expected, "fixed.d");
    kn_mat M = ref_csv(dir, "mean.csv"), V = ref_csv(dir, "var_model.csv");
    kn_mat R = ref_csv(dir, "loo_residual.csv"), L = ref_csv(dir, "loo_var_model.csv");
    double cs[64], ds[64], psi[64];
    given g = {.X = ref_csv(dir, "X.csv"),
               .Y = ref_csv(dir, "Y.csv"),
               .Xs = ref_csv(dir, "Xstar.csv"),
               .B = ref_csv(dir, "B.csv"),
               .psi = psi,
               .c = cs,
               .d = ds,
               .rho = ref_number(expected, "rho"),
               .length = ref_number(expected, "length")};
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
    assert_ok(ctx, kn_gp_predict(ctx, &m.gp, &(kn_newcomers){.X = g.Xs}, &maps));
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

/* ---- factors ---- */

/* Responses that share something, one noisier than the other, of means that are not zero. */
static void people(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(rng, N, 2);
    *Y = ref_normal(rng, N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double shared = kn_rng_normal(rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] = (0.5 + (double)(j % 3)) * kn_at(*Y, i, j) + shared * cos((double)j) +
                               kn_at(*X, i, 0) * sin((double)j) + 0.5 * kn_at(*X, i, 1);
    }
}

/* Ten steps of the fixed point on the T x T covariance, as METHOD writes it. */
static void slow_factors(kn_mat Y, const double *mean, ptrdiff_t P, double *psi, kn_mat B)
{
    ptrdiff_t N = Y.rows, T = Y.cols;
    kn_mat S = ref_new(T, T), W = ref_new(T, T);
    double *w = calloc((size_t)T, sizeof *w);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++)
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(S, a)[b] +=
                    (kn_at(Y, i, a) - mean[a]) * (kn_at(Y, i, b) - mean[b]) / (double)N;
    for (ptrdiff_t j = 0; j < T; j++)
        psi[j] = kn_at(S, j, j) / 2;
    for (int round = 0; round <= 10; round++) {
        for (ptrdiff_t a = 0; a < T; a++)
            for (ptrdiff_t b = 0; b < T; b++)
                kn_col(W, a)[b] = kn_at(S, b, a) / sqrt(psi[a] * psi[b]);
        assert_ok(ctx, kn_eig(ctx, W, w));
        for (ptrdiff_t j = 0; round < 10 && j < T; j++) {
            double loadings = 0;
            for (ptrdiff_t p = 0; p < P; p++)
                loadings += psi[j] * kn_at(W, j, T - 1 - p) * kn_at(W, j, T - 1 - p) *
                            fmax(w[T - 1 - p] - 1, 0);
            psi[j] = fmax(kn_at(S, j, j) - loadings, 1e-3 * kn_at(S, j, j));
        }
    }
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(B, p)[j] = kn_at(W, j, T - 1 - p);
    free(S.data), free(W.data), free(w);
}

static void check_factors(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    kn_mat X, Y, B = ref_new(T, P);
    double psi[64], mean[64];
    kn_scaling s;
    kn_factors f;
    people(rng, N, T, &X, &Y);
    for (ptrdiff_t j = 0; j < T; j++) {
        mean[j] = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean[j] += kn_at(Y, i, j) / (double)N;
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), false, &s));
    kn_responses responses = kn_responses_of(view(Y), &s);
    assert_ok(ctx, kn_factors_new(ctx, &responses, mean, P, &f));
    slow_factors(Y, mean, P, psi, B);
    assert_int_equal(f.B.cols, P);
    assert_same(kn_mat_cols(f.psi, T, 1), kn_mat_cols(psi, T, 1), 1e-10);
    double total = 0;
    for (ptrdiff_t p = 0; p < P; p++) {
        double dot = 0;
        for (ptrdiff_t j = 0; j < T; j++)
            dot += kn_at(B, j, p) * kn_at(f.B, j, p);
        assert_close(fabs(dot), 1, 1e-9);
        for (ptrdiff_t i = 0; i < N; i++) {
            double z = 0;
            for (ptrdiff_t j = 0; j < T; j++)
                z += (kn_at(Y, i, j) - mean[j]) / sqrt(psi[j]) * kn_at(B, j, p);
            assert_close(kn_at(f.Z, i, p), dot > 0 ? z : -z, 1e-9);
        }
    }
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            total += (kn_at(Y, i, j) - mean[j]) * (kn_at(Y, i, j) - mean[j]) / psi[j];
    assert_close(f.total, total, 1e-10);
    kn_factors_clear(&f);
    kn_scaling_clear(&s);
    free(X.data), free(Y.data), free(B.data);
}

static void factors_are_ten_steps_of_the_fixed_point(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][3] = {{20, 7, 2}, {20, 7, 7}, {20, 7, 0},  {8, 15, 3},
                                         {8, 15, 6}, {8, 15, 0}, {12, 12, 4}, {30, 1, 1},
                                         {5, 40, 1}, {9, 9, 7}};
    kn_rng rng;
    kn_rng_init(&rng, 11, 1);
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++)
        check_factors(&rng, SHAPE[k][0], SHAPE[k][1], SHAPE[k][2]);
}

/* Of responses that others determine something is left outside the basis, unless it is all. */
static void as_many_factors_as_leave_something(void **state)
{
    (void)state;
    kn_rng rng;
    kn_rng_init(&rng, 12, 1);
    kn_mat Y = ref_normal(&rng, 15, 6);
    kn_scaling s;
    kn_factors f;
    for (ptrdiff_t i = 0; i < 15; i++) {
        kn_col(Y, 4)[i] = kn_at(Y, i, 0) + kn_at(Y, i, 1);
        kn_col(Y, 5)[i] = kn_at(Y, i, 2) - kn_at(Y, i, 3);
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), true, &s));
    kn_responses responses = kn_responses_of(view(Y), &s);
    assert_ok(ctx, kn_factors_new(ctx, &responses, NULL, 5, &f));
    assert_int_equal(f.B.cols, 3);
    kn_factors_clear(&f);
    kn_scaling_clear(&s);
    free(Y.data);
}

/* ---- a fit ---- */

static kn_settings settings(int P, int folds)
{
    kn_settings o;
    classic_settings(&o);
    o.noise = KN_NOISE_WHITENED;
    o.components = P;
    o.rho = 0.4;
    o.length = 1.5;
    o.max_evals = 0;
    o.folds = folds;
    return o;
}

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

/* Each person from all others, psi, B, c and d as they are. */
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

/* Of one person: the density of all responses, and their covariance. */
static void check_law(const kn_gp *gp, const given *g, kn_mat mean)
{
    ptrdiff_t T = gp->T, n = g->Xs.rows, J[64];
    kn_mat Ys = ref_new(n, T), model = ref_new(T, T), noise = ref_new(T, T), S, x;
    kn_gp_maps maps;
    kn_law_walk law;
    kn_scaling s;
    double e[64];
    for (ptrdiff_t i = 0; i < n * T; i++)
        Ys.data[i] = cos((double)(3 * i));
    assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_newcomers){.X = g->Xs}, &maps));
    assert_ok(ctx, kn_scaling_new(ctx, view(Ys), false, &s));
    kn_responses responses = kn_responses_of(view(Ys), &s);
    assert_ok(ctx, kn_law_density(ctx, &maps, &responses, &law));
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
    assert_close(law.log_p[0], ref_log_density(S, e), 1e-5); /* D0 in float32 */
    kn_law_walk_clear(&law);
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
    assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_newcomers){.X = Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    assert_same(mean, M, 3e-6);
    assert_same(var, V, 1e-9);
    kn_gp_maps_clear(&maps);
    check_removal(gp, R, Y);
    check_law(gp, &g, M);
    free(Y.data), free(Xs.data), free(M.data), free(V.data), free(mean.data), free(var.data);
}

static void a_fit_is_the_dense_gaussian(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][3] = {{14, 6, 2}, {14, 6, 1}, {14, 6, 6}, {14, 6, 0}, {8, 12, 3},
                                         {8, 12, 1}, {8, 12, 0}, {8, 12, 6}, {20, 1, 1}, {6, 6, 4}};
    kn_rng rng;
    kn_rng_init(&rng, 13, 1);
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++) {
        kn_mat X, Y;
        kn_settings o = settings((int)SHAPE[k][2], 0);
        kn_model *model;
        people(&rng, SHAPE[k][0], SHAPE[k][1], &X, &Y);
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
            kn_found found = {.at = kn_cov_at_rho(&p.spec.sample, 0.4, 1.5)};
            assert_ok(ctx, kn_whitened_fit_at(ctx, &p, &found, 0, &gp, &info));
            check_process(&gp, &p.Y, info.lml, &rng);
            kn_gp_clear(&gp);
            kn_scaling_clear(&s);
        }
        free(X.data), free(Y.data);
    }
}

/* ---- folds ---- */

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

/* Mean and variance of the held-out of fold k by a fit of the others alone. */
static void refit(const kn_gp *gp, kn_mat Y, const int *fold, int k, kn_mat mean, kn_mat var)
{
    kn_mat X, y;
    double mu[64], theta[3];
    kn_scaling s;
    kn_whitened w = {.complement = gp->complement_component};
    alone(gp, Y, fold, k, &X, &y, mu);
    assert_ok(ctx, kn_scaling_new(ctx, view(y), false, &s));
    kn_responses R = kn_responses_of(view(y), &s);
    theta_at_rho(&gp->spec.sample, 0.4, 1.5, theta);
    kn_whitened_of of = {&gp->spec, X, &R, NULL, theta};
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
        for (ptrdiff_t j = 0; j < Y.cols; j++) {
            kn_col(mean, j)[i] = mu[j] + m.data[j];
            kn_col(var, j)[i] = v.data[j];
        }
        free(x.data), free(m.data), free(v.data);
    }
    kn_whitened_clear(&w);
    kn_scaling_clear(&s);
    free(X.data), free(y.data);
}

static void check_folds(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, int P)
{
    enum { FOLDS = 3 };
    kn_mat X, Y, M = ref_new(N, T), V = ref_new(N, T), mean = ref_new(N, T), var = ref_new(N, T);
    kn_settings o = settings(P, 0);
    kn_model *model;
    kn_gp_maps maps;
    int fold[64];
    people(rng, N, T, &X, &Y);
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
    for (int k = 0; k < FOLDS; k++)
        refit(&model->gp, Y, fold, k, M, V);
    assert_same(mean, M, 1e-6); /* directions with a share of 1e-6 left out */
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
    kn_rng_init(&rng, 14, 1);
    check_folds(&rng, 18, 6, 2);
    check_folds(&rng, 18, 6, 6);
    check_folds(&rng, 12, 16, 3);
    check_folds(&rng, 12, 16, 1);
    check_folds(&rng, 9, 14, 7); /* more than a fold has room for */
}

/* Where cells are missing a fold keeps D0 instead of a smoother: the same to float32. */
static void a_fold_by_its_own_responses_says_the_same(void **state)
{
    (void)state;
    kn_rng rng;
    kn_rng_init(&rng, 15, 1);
    enum { N = 20, T = 7, HELD = 5 };
    kn_mat X, Y, mean[2], var = ref_new(HELD, T);
    kn_settings o = settings(2, 0);
    kn_model *model;
    kn_holes none;
    ptrdiff_t train[N], rows[HELD];
    double mu[T] = {0}, clamped = 0;
    people(&rng, N, T, &X, &Y);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
    kn_responses R = kn_responses_of(view(Y), &model->y);
    assert_ok(ctx, kn_holes_new(ctx, view(Y), model->y.kept, T, &none));
    kn_mat Xt = ref_new(N - HELD, 2), Xs = ref_new(HELD, 2);
    kn_mat y = ref_new(N, T);
    kn_responses_block(ctx, &R, 0, y);
    for (ptrdiff_t i = 0; i < N - HELD; i++)
        train[i] = i;
    for (ptrdiff_t i = 0; i < HELD; i++)
        rows[i] = N - HELD + i;
    kn_mat_rows(model->gp.latent.X, train, Xt);
    kn_mat_rows(model->gp.latent.X, rows, Xs);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N - HELD; i++)
            mu[j] += kn_at(y, i, j) / (double)(N - HELD);
    for (int filled = 0; filled < 2; filled++) {
        kn_part part = {.n = HELD, .n_train = N - HELD}, *parts;
        kn_refit f = {.gp = &model->gp,
                      .n = N - HELD,
                      .train = train,
                      .X = Xt,
                      .Y = kn_responses_rows(&R, train, N - HELD),
                      .mu = mu,
                      .Xs = Xs,
                      .X_alone = Xs};
        if (filled)
            f.Y.holes = &none;
        assert_ok(ctx, kn_alloc_d(ctx, T, &part.mu));
        memcpy(part.mu, mu, sizeof mu);
        assert_ok(ctx, kn_whitened_fold(ctx, &f, &part, &clamped));
        assert_int_equal(part.D0.rows > 0, filled);
        assert_int_equal(part.smooth.data != NULL, !filled);
        void *memory;
        assert_ok(ctx, kn_alloc(ctx, 1, sizeof part, &memory));
        parts = memory;
        *parts = part;
        kn_gp_maps maps = {.gp = &model->gp, .Y = R, .n = HELD, .n_parts = 1, .part = parts};
        mean[filled] = ref_new(HELD, T);
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean[filled], var));
        kn_gp_maps_leave_batch(&maps); /* of covariates that are the same */
        kn_mat again = ref_new(HELD, T);
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, again, kn_mat_none()));
        assert_same(again, mean[filled], 1e-12);
        free(again.data);
        kn_gp_maps_clear(&maps);
    }
    assert_same(mean[1], mean[0], 1e-6);
    kn_holes_clear(&none);
    kn_model_free(model);
    free(X.data), free(Y.data), free(mean[0].data), free(mean[1].data), free(var.data);
    free(Xt.data), free(Xs.data), free(y.data);
}

/* ---- the whole way ---- */

static void predicted(kn_model *m, kn_mat X, kn_mat mean, kn_mat var)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, mean.cols, mean, var));
    kn_maps_free(maps);
}

/* From a file, by any number of threads, with R0 of low rank or dense. */
static void a_saved_model_says_the_same(void **state)
{
    (void)state;
    kn_rng rng;
    kn_rng_init(&rng, 16, 1);
    kn_mat X, Y, M[2], V[2];
    people(&rng, 60, 20, &X, &Y);
    for (int low = 0; low < 2; low++) {
        kn_settings o;
        kn_model *model, *other;
        void *bytes[2];
        size_t n[2];
        kn_settings_init(&o);
        o.noise = KN_NOISE_WHITENED;
        o.components = 1; /* some signal is left outside */
        o.folds = 4;
        o.rank = low ? 20 : KN_RANK_FULL;
        for (int k = 0; k < 2; k++) {
            kn_set_threads(ctx, k + 1);
            assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &model));
            assert_ok(ctx, kn_model_to_bytes(ctx, model, &bytes[k], &n[k]));
            if (k == 0)
                kn_model_free(model);
        }
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(bytes[0], bytes[1], n[0]);
        assert_ok(ctx, kn_model_from_bytes(ctx, bytes[0], n[0], &other));
        assert_ptr_equal(other->gp.method, &kn_method_whitened);
        assert_true(other->gp.D0.rows > 0);
        M[0] = ref_new(60, 20), M[1] = ref_new(60, 20);
        V[0] = ref_new(60, 20), V[1] = ref_new(60, 20);
        predicted(model, X, M[0], V[0]);
        predicted(other, X, M[1], V[1]);
        assert_memory_equal(M[0].data, M[1].data, 1200 * sizeof(double));
        assert_memory_equal(V[0].data, V[1].data, 1200 * sizeof(double));
        kn_model_free(model);
        kn_model_free(other);
        kn_bytes_free(bytes[0]), kn_bytes_free(bytes[1]);
        for (int k = 0; k < 2; k++)
            free(M[k].data), free(V[k].data);
    }
    free(X.data), free(Y.data);
}

/* Of few features that span all there is of R0 the fit is that of the dense matrix. */
static void low_rank_is_dense_where_features_suffice(void **state)
{
    (void)state;
    kn_rng rng;
    kn_rng_init(&rng, 17, 1);
    kn_mat X, Y;
    kn_model *m[2];
    people(&rng, 40, 15, &X, &Y);
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
    kn_rng_init(&rng, 18, 1);
    kn_mat X, Y;
    kn_model *m;
    people(&rng, 8, 20, &X, &Y);
    kn_settings o = settings(7, 0);
    assert_refused(
        ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
        "components is 7, but with whitened noise 8 samples of 20 responses have at most "
        "6: something must be left outside");
    o.noise = KN_NOISE_AUTO;
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
                   "{noise=auto} chooses by people held out, and {folds=0} holds nobody out");
    o.folds = 2;
    o.basis_view = view(Y);
    assert_refused(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m), KN_ERR_ARGUMENT,
                   "Whitened noise has no use for {basis}");
    free(X.data), free(Y.data);
}

/* ---- auto ---- */

/* Noise of very different size in each response is what whitened noise is for; of equal size, and
 * nothing outside the components, it is not. */
static void auto_takes_what_people_held_out_prefer(void **state)
{
    (void)state;
    kn_rng rng;
    enum { N = 150, T = 24 };
    kn_rng_init(&rng, 19, 1);
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
    kn_rng_init(&rng, 20, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers),
        cmocka_unit_test(structured_noise_is_a_special_case),
        cmocka_unit_test(factors_are_ten_steps_of_the_fixed_point),
        cmocka_unit_test(as_many_factors_as_leave_something),
        cmocka_unit_test(a_fit_is_the_dense_gaussian),
        cmocka_unit_test(folds_are_refits),
        cmocka_unit_test(a_fold_by_its_own_responses_says_the_same),
        cmocka_unit_test(a_saved_model_says_the_same),
        cmocka_unit_test(low_rank_is_dense_where_features_suffice),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(auto_takes_what_people_held_out_prefer),
        cmocka_unit_test(auto_without_densities_is_structured),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
