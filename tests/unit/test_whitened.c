/* Whitened noise against golden numbers, dense Gaussians of all responses, factor analysis one step
 * after the other, refits of folds and removals of people. */
#include "covs.h"

#include "base/rng.h"
#include "gp/complement.h"
#include "gp/covariance.h"
#include "gp/cv.h"
#include "gp/cv_deal.h"
#include "gp/loo.h"
#include "gp/noise.h"
#include "gp/predict.h"
#include "gp/smtgpr.h"
#include "gp/whitened.h"
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
            kn_col(R, j)[i] = (1 - rho) * dot / (double)X.cols +
                              rho * exp(-0.5 * far / (length * length));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
