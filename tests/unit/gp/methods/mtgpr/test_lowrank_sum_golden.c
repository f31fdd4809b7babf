/* The low-rank Kronecker sum against golden numbers: value, gradients, predictions, densities. */
#include "support/kronsum_lows.h"

#include "data/scaling.h"
#include "gp/methods/methods.h"
#include "gp/methods/mtgpr/internal.h"
#include "gp/predict/predict.h"

static kn_mat matrix_or_none(const char *dir, const char *name, bool there, ptrdiff_t rows)
{
    return there ? golden_matrix(dir, name) : ref_new(rows, 0);
}

/* The latent form at the point, as a model has it: components, and where gamma > 0 the complement.
 */
static kn_latent latent_of(sample *s, const kn_lowrank_sum *w)
{
    kn_latent l;
    kn_mat X, A;
    ptrdiff_t k = w->k;
    double *c = calloc((size_t)k + 1, sizeof *c), *d = calloc((size_t)k + 1, sizeof *d);
    for (ptrdiff_t q = 0; q < k; q++)
        c[q] = w->c[q], d[q] = w->c[q] * w->iso + 1;
    c[k] = w->gamma, d[k] = w->gamma * w->iso + 1;
    assert_ok(ctx, kn_mat_new(ctx, w->m, k + 1, &A));
    kn_mat_set(kn_cols(A, 0, k), w->A);
    assert_ok(ctx, kn_mat_copy(ctx, s->X, &X));
    assert_ok(ctx, kn_latent_new(ctx, &(kn_latent_parts){&X, &s->R0, &A, c, d, w->iso}, &l));
    free(c), free(d);
    return l;
}

/* mean = psi^1/2 [mean_lat B' + RU D0], D0 = diag(c0/(c0 r + 1)) (U'Yw - U'Z V'), in double. */
static void predictions(sample *s, kn_lowrank_sum *w, kn_lowrank_sum_point p, kn_mat Xs,
                        kn_mat mean, kn_mat var, kn_mat lat_var)
{
    ptrdiff_t T = w->T, k = w->k, n = Xs.rows;
    kn_mat B = ref_new(T, k), m = ref_new(n, k + 1), RU = ref_new(n, w->m);
    kn_mat UY = ref_mul(1, s->R0.U, 0, s->Y);
    double *outside = malloc((size_t)T * sizeof *outside), clamped = 0;
    kn_cov cov = s->R0.cov;
    kn_pairs pairs;
    kn_mat F = ref_new(n, s->X.rows);
    assert_ok(ctx, kn_pairs_between(ctx, Xs, s->X, &cov.stats, &pairs));
    kn_cov_fill(&cov, s->R0.theta, &pairs, F);
    kn_gemm(ctx, 1, KN_N, F, KN_N, s->R0.U, 0, RU);
    kn_lowrank_sum_loadings(ctx, w, NULL, B);
    kn_lowrank_sum_outside(w, outside);
    double *r = malloc((size_t)w->m * sizeof *r);
    memcpy(r, s->R0.r, (size_t)w->m * sizeof *r);
    kn_latent l = latent_of(s, w);
    assert_ok(ctx, kn_latent_predict(ctx, &l, &(kn_predict_input){.X = Xs}, m, lat_var, &clamped));
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < n; i++) {
            double sum = 0, v = kn_at(lat_var, i, k) * outside[j];
            for (ptrdiff_t q = 0; q < k; q++) {
                sum += kn_at(m, i, q) * kn_at(B, j, q);
                v += kn_at(lat_var, i, q) * kn_at(B, j, q) * kn_at(B, j, q);
            }
            for (ptrdiff_t a = 0; a < w->m; a++) {
                double left = kn_at(UY, a, j) / sqrt(p.psi[j]);
                for (ptrdiff_t q = 0; q < k; q++)
                    left -= kn_at(w->UZ, a, q) * kn_at(w->V, j, q);
                sum += kn_at(RU, i, a) * w->gamma / (w->gamma * r[a] + 1) * left;
            }
            kn_col(mean, j)[i] = sqrt(p.psi[j]) * sum;
            kn_col(var, j)[i] = p.psi[j] * v;
        }
    kn_latent_clear(&l);
    kn_pairs_clear(&pairs);
    free(B.data), free(m.data), free(RU.data), free(UY.data), free(F.data);
    free(outside), free(r);
}

/* Deviance and log density of rows of Ys by V, W and the variances of METHOD 1h. */
static void joint(const kn_lowrank_sum *w, kn_lowrank_sum_point p, kn_mat Ys, kn_mat mean, kn_mat v,
                  ptrdiff_t i, double *deviance, double *density)
{
    double size = 0, inside = 0, v0 = kn_at(v, i, w->k) + 1, det = w->log_det_S;
    *deviance = 0;
    for (ptrdiff_t j = 0; j < w->T; j++) {
        double e = (kn_at(Ys, i, j) - kn_at(mean, i, j)) / sqrt(p.psi[j]);
        size += e * e;
        det += log(p.psi[j]);
    }
    for (ptrdiff_t q = 0; q < w->k; q++) {
        double a = 0, z = 0;
        for (ptrdiff_t j = 0; j < w->T; j++) {
            double e = (kn_at(Ys, i, j) - kn_at(mean, i, j)) / sqrt(p.psi[j]);
            z += e * kn_at(w->V, j, q);
            for (ptrdiff_t b = 0; b < w->k; b++)
                a += e * kn_at(w->V, j, b) * kn_at(w->W, b, q);
        }
        inside += z * z;
        *deviance += a * a / (kn_at(v, i, q) + 1);
        det += log(kn_at(v, i, q) + 1);
    }
    *deviance += (size - inside) / v0;
    det += (double)(w->T - w->k) * log(v0);
    *density = -0.5 * ((double)w->T * log(2 * M_PI) + det + *deviance);
}

/* The same by the walk over maps of an MTGPR, of what mean leaves of Ys: rows that lack nothing. */
static void joint_by_density(kn_lowrank_sum *w, kn_lowrank_sum_point p, kn_mat Ys, kn_mat mean,
                             kn_mat v, kn_mat deviance, kn_mat density)
{
    ptrdiff_t n = Ys.rows, T = w->T, k = w->k;
    kn_mtgpr own = {.P = p.G.cols, .Q = p.H.cols};
    kn_gp gp = {.method = &kn_method_mtgpr,
                .T = T,
                .P = k,
                .complement_component = true,
                .psi = p.psi,
                .B = ref_new(T, k),
                .own = &own};
    kn_fold_prediction part = {.n = n, .mean = ref_new(n, k + 1), .var = v};
    kn_gp_maps maps = {.gp = &gp, .n = n, .n_parts = 1, .part = &part};
    kn_mat e = ref_new(n, T);
    kn_scaling s;
    kn_map_density_state distribution;
    kn_lowrank_sum_loadings(ctx, w, NULL, gp.B);
    if (own.Q > 0)
        assert_ok(ctx, kn_mtgpr_factor(ctx, gp.B, &own.L));
    for (ptrdiff_t i = 0; i < n * T; i++)
        e.data[i] = Ys.data[i] - mean.data[i];
    assert_ok(ctx, kn_scaling_new(ctx, view(e), false, &s));
    kn_responses Y = kn_responses_of(view(e), &s);
    assert_ok(ctx, kn_map_density_evaluate(ctx, &maps, &Y, &distribution));
    assert_same(kn_mat_cols(distribution.dev, n, 1), deviance, 1e-10);
    assert_same(kn_mat_cols(distribution.log_p, n, 1), density, 1e-10);
    kn_map_density_state_clear(&distribution);
    kn_scaling_clear(&s);
    kn_mat_clear(&own.L);
    free(gp.B.data), free(part.mean.data), free(e.data);
}

static void golden_case(const char *dir, bool G, bool H)
{
    json_t *expected = golden_json(dir, "expected");
    sample s = {.X = golden_matrix(dir, "X"), .Y = golden_matrix(dir, "Y")};
    ptrdiff_t T = s.Y.cols;
    kn_mat psi = golden_matrix(dir, "psi"), Xs = golden_matrix(dir, "Xstar");
    kn_mat Ys = golden_matrix(dir, "Ystar"), noise = golden_matrix(dir, "noise");
    kn_lowrank_sum_point p = {.G = matrix_or_none(dir, "G", G, T),
                              .H = matrix_or_none(dir, "H", H, T),
                              .psi = psi.data,
                              .gamma = golden_number(expected, "gamma")};
    kn_mat gG = matrix_or_none(dir, "grad_G", G, T), gH = matrix_or_none(dir, "grad_H", H, T);
    kn_mat gpsi = golden_matrix(dir, "grad_ln_psi"), M = golden_matrix(dir, "mean");
    kn_mat V = golden_matrix(dir, "var_model"), mean = ref_new(M.rows, M.cols);
    kn_mat var = ref_new(M.rows, M.cols), lat = ref_new(M.rows, p.G.cols + p.H.cols + 1);
    kn_mat jo = golden_column(expected, "joint"), dev = golden_column(expected, "deviance");
    ptrdiff_t columns[2] = {p.G.cols, p.H.cols};
    kn_lowrank_sum w;
    sample_decompose(&s, golden_number(expected, "rho"), golden_number(expected, "length"));
    slopes e = evaluate(&s, p, true);
    assert_close(e.lml, golden_number(expected, "lml"), 1e-10);
    assert_close(e.g.gamma, golden_number(expected, "grad_gamma"), 1e-10);
    if (G)
        assert_same(e.g.G, gG, 1e-10);
    if (H)
        assert_same(e.g.H, gH, 1e-10);
    for (ptrdiff_t j = 0; j < T; j++)
        assert_close(e.g.ln_psi[j], gpsi.data[j], 1e-10);
    if (p.gamma == 0) { /* and without what gamma needs */
        slopes f = evaluate(&s, p, false);
        assert_close(f.lml, e.lml, 1e-12);
        for (ptrdiff_t j = 0; j < T; j++)
            assert_close(f.g.ln_psi[j], gpsi.data[j], 1e-10);
        slopes_free(f);
    }
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, true, &w));
    assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &p, &e.lml));
    lat.cols = w.k + 1;
    predictions(&s, &w, p, Xs, mean, var, lat);
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    for (ptrdiff_t j = 0; j < T; j++) {
        double h = 1;
        for (ptrdiff_t q = 0; q < p.H.cols; q++)
            h += kn_at(p.H, j, q) * kn_at(p.H, j, q);
        assert_close(psi.data[j] * h, noise.data[j], 1e-10);
    }
    for (ptrdiff_t i = 0; i < Ys.rows; i++) {
        double d, l;
        joint(&w, p, Ys, mean, lat, i, &d, &l);
        assert_close(d, dev.data[i], 1e-10);
        assert_close(l, jo.data[i], 1e-10);
    }
    joint_by_density(&w, p, Ys, mean, lat, dev, jo);
    kn_lowrank_sum_clear(&w);
    slopes_free(e);
    sample_clear(&s);
    json_decref(expected);
    free(p.G.data), free(p.H.data), free(psi.data), free(Xs.data), free(Ys.data), free(noise.data);
    free(gG.data), free(gH.data), free(gpsi.data), free(M.data), free(V.data), free(mean.data);
    free(var.data), free(lat.data), free(jo.data), free(dev.data);
}

static void matches_golden(void **state)
{
    (void)state;
    golden_case("models/kronsum_lowrank/case1", true, true);
    golden_case("models/kronsum_lowrank/case2", true, true);
    golden_case("models/kronsum_lowrank/case3", true, false);
    golden_case("models/kronsum_lowrank/case4", false, true);
}

/* Full covariances by k = T: C = GG', S = psi (I + HH'), psi half of S's least eigenvalue. */
static void full_rank_matches_golden(const char *dir, bool omega)
{
    json_t *expected = golden_json(dir, "expected");
    sample s = {.X = golden_matrix(dir, "X"), .Y = golden_matrix(dir, "Y")};
    kn_mat C = golden_matrix(dir, "C"), S = golden_matrix(dir, "S"),
           O = golden_matrix(dir, "Omega");
    ptrdiff_t T = s.Y.cols, N = s.Y.rows;
    kn_lowrank_sum_point p = {.G = ref_new(T, T), .H = ref_new(T, T)};
    double *w = malloc((size_t)T * sizeof *w), *r = malloc((size_t)N * sizeof *r);
    kn_mat E = ref_new(T, T);
    kn_mat_set(E, C);
    assert_ok(ctx, kn_eig(ctx, E, w));
    p.psi = malloc((size_t)T * sizeof *p.psi);
    sample_decompose(&s, golden_number(expected, "rho"), golden_number(expected, "length"));
    kn_mat ES = ref_new(T, T);
    double *ws = malloc((size_t)T * sizeof *ws);
    kn_mat_set(ES, S);
    assert_ok(ctx, kn_eig(ctx, ES, ws));
    double psi = 0.5 * ws[0];
    for (ptrdiff_t q = 0; q < T; q++)
        for (ptrdiff_t j = 0; j < T; j++) {
            p.psi[j] = psi;
            kn_col(p.G, q)[j] = kn_at(E, j, q) * sqrt(fmax(w[q], 0) / psi);
            kn_col(p.H, q)[j] = kn_at(ES, j, q) * sqrt(ws[q] / psi - 1);
        }
    if (omega) { /* W_R'O W_R = I */
        double det = 0;
        kn_mat R = ref_new(N, N);
        kn_mat_set(R, s.R);
        assert_true(ref_chol(O));
        kn_trsm_left(ctx, KN_N, O, R);
        kn_trsm_right(ctx, KN_T, O, R);
        assert_ok(ctx, kn_eig(ctx, R, r));
        kn_trsm_left(ctx, KN_T, O, R);
        for (ptrdiff_t i = 0; i < N; i++)
            det += 2 * log(kn_at(O, i, i));
        s.U = R;
        s.s = (kn_lowrank_sum_samples){.U = R, .r = r, .omega = true, .log_det = det};
    }
    slopes e = evaluate(&s, p, true);
    assert_close(e.lml, golden_number(expected, "lml"), 1e-10);
    slopes_free(e);
    kn_lowrank_sum low;
    kn_mat c = golden_column(expected, "eig_c");
    ptrdiff_t columns[2] = {T, T};
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, false, &low));
    assert_ok(ctx, kn_lowrank_sum_value(ctx, &low, &p, &e.lml));
    for (ptrdiff_t q = 0; q < T; q++)
        assert_close(low.c[q], c.data[T - 1 - q], 1e-10);
    kn_lowrank_sum_clear(&low);
    point_free(p);
    sample_clear(&s);
    json_decref(expected);
    free(C.data), free(S.data), free(O.data), free(E.data), free(ES.data), free(c.data);
    free(w), free(ws), free(r);
}

static void as_many_columns_as_responses_is_the_full_kronecker_sum(void **state)
{
    (void)state;
    full_rank_matches_golden("models/kronsum/case1", false);
    full_rank_matches_golden("models/kronsum/case2", true);
    full_rank_matches_golden("models/kronsum/case3", false);
}

/* ---- Bonilla: R of low rank by given rows
 * ---------------------------------------------------------- */

static kn_lowrank_sum_point bonilla_point(kn_mat L, kn_mat sigma2)
{
    kn_lowrank_sum_point p = {.G = ref_new(L.rows, L.cols),
                              .H = ref_new(L.rows, 0),
                              .psi = sigma2.data};
    for (ptrdiff_t q = 0; q < L.cols; q++)
        for (ptrdiff_t j = 0; j < L.rows; j++)
            kn_col(p.G, q)[j] = kn_at(L, j, q) / sqrt(sigma2.data[j]);
    return p;
}

static void bonilla_matches_golden(void **state)
{
    static const char dir[] = "models/bonilla/case1";
    (void)state;
    json_t *expected = golden_json(dir, "expected");
    sample s = {.X = golden_matrix(dir, "X"), .Y = golden_matrix(dir, "Y")};
    kn_mat L = golden_matrix(dir, "L"), sigma2 = golden_matrix(dir, "sigma2");
    kn_mat gL = golden_matrix(dir, "grad_L"), gs = golden_matrix(dir, "grad_ln_sigma2");
    kn_mat inducing = golden_column(expected, "inducing"), Xs = golden_matrix(dir, "Xstar");
    kn_mat M = golden_matrix(dir, "mean"), V = golden_matrix(dir, "var_model");
    kn_lowrank_sum_point p = bonilla_point(L, sigma2);
    ptrdiff_t N = s.Y.rows, pivots[16], columns[2] = {L.cols, 0};
    kn_lowrank low;
    kn_lowrank_sum w;
    sample_decompose(&s, golden_number(expected, "rho"), golden_number(expected, "length"));
    slopes e = evaluate(&s, p, false);
    assert_close(e.lml, golden_number(expected, "lml_all_points"), 1e-10);
    slopes_free(e);

    kn_mat Z = ref_new(N, 1);
    for (ptrdiff_t i = 0; i < inducing.rows; i++)
        pivots[i] = (ptrdiff_t)inducing.data[i];
    kn_decomp R0 = {.N = N, .cov = s.R0.cov};
    memcpy(R0.theta, s.R0.theta, sizeof R0.theta);
    assert_ok(ctx, kn_lowrank_new(ctx, s.X, Z, NULL, &s.R0.cov, inducing.rows, &low));
    assert_ok(ctx, kn_lowrank_set_pivots(ctx, &low, inducing.rows, pivots, 0));
    low.tol = 1; /* whatever they leave out */
    assert_ok(ctx, kn_lowrank_at(ctx, &low, s.R0.theta));
    assert_int_equal(low.n_used, inducing.rows);
    assert_ok(ctx, kn_lowrank_decompose(ctx, &low, &R0));
    s.U = ref_new(N, R0.m);
    assert_ok(ctx, kn_decomp_vectors(ctx, &R0, NULL, s.X, s.U));
    s.s = (kn_lowrank_sum_samples){.U = s.U, .r = R0.r};
    e = evaluate(&s, p, false);
    assert_close(e.lml, golden_number(expected, "lml"), 1e-10);
    for (ptrdiff_t j = 0; j < L.rows; j++) { /* from G and psi to L and sigma2 */
        double less = 0;
        for (ptrdiff_t q = 0; q < L.cols; q++) {
            assert_close(kn_at(e.g.G, j, q) / sqrt(sigma2.data[j]), kn_at(gL, j, q), 1e-10);
            less += 0.5 * kn_at(e.g.G, j, q) * kn_at(p.G, j, q);
        }
        assert_close(e.g.ln_psi[j] - less, gs.data[j], 1e-10);
    }
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
    assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &p, &e.lml));
    kn_mat mean = ref_new(M.rows, w.k + 1), var = ref_new(M.rows, w.k + 1);
    kn_mat B = ref_new(L.rows, w.k);
    double clamped = 0;
    kn_lowrank_sum_loadings(ctx, &w, p.psi, B);
    kn_decomp dense = s.R0;
    s.R0 = R0;
    kn_latent l = latent_of(&s, &w);
    s.R0 = dense;
    assert_ok(ctx, kn_latent_predict(ctx, &l, &(kn_predict_input){.X = Xs}, mean, var, &clamped));
    for (ptrdiff_t i = 0; i < M.rows; i++)
        for (ptrdiff_t j = 0; j < M.cols; j++) {
            double m = 0, v = 0;
            for (ptrdiff_t q = 0; q < w.k; q++) {
                m += kn_at(mean, i, q) * kn_at(B, j, q);
                v += kn_at(var, i, q) * kn_at(B, j, q) * kn_at(B, j, q);
            }
            assert_close(m, kn_at(M, i, j), 1e-10);
            assert_close(v, kn_at(V, i, j), 1e-10);
        }
    kn_latent_clear(&l);
    kn_lowrank_sum_clear(&w);
    kn_lowrank_clear(&low);
    slopes_free(e);
    sample_clear(&s);
    json_decref(expected);
    free(p.G.data), free(p.H.data), free(L.data), free(sigma2.data), free(gL.data), free(gs.data);
    free(inducing.data), free(Xs.data), free(M.data), free(V.data), free(Z.data), free(mean.data);
    free(var.data), free(B.data);
}

TEST_PROGRAM(mtgpr_lowrank_sum_golden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_golden),
        cmocka_unit_test(as_many_columns_as_responses_is_the_full_kronecker_sum),
        cmocka_unit_test(bonilla_matches_golden),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
