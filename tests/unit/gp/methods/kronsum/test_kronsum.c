/* MT-Kronsum: golden numbers, dense Gaussians, gradients.                       [METHOD 1g] */
#include "support/kronsums.h"

#include "gp/predict/loo.h"
#include "gp/predict/predict.h"

/* ---- golden ---------------------------------------------------------------------------------- */

static kn_mat scaled(kn_mat M, double by)
{
    kn_mat out = ref_new(M.rows, M.cols);
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(out, j)[i] = by * kn_at(M, i, j);
    return out;
}

/* O = 0.6 (I + 2/3 G) where groups have 0.4 in common: the factor goes to S. */
static double take_groups(problem *p, kn_mat O)
{
    int code[128];
    double off = 0;
    for (ptrdiff_t i = 0; i < O.rows; i++) {
        code[i] = (int)i;
        for (ptrdiff_t k = i; k-- > 0;)
            if (kn_at(O, i, k) != 0) {
                code[i] = code[k];
                off = kn_at(O, i, k);
            }
    }
    if (off == 0)
        return 1;
    assert_ok(ctx, kn_groups_new(ctx, O.rows, code, &p->groups));
    p->tau = off / (1 - off);
    kn_mat S = scaled(p->S, 1 - off);
    free(p->S.data);
    p->S = S;
    return 1 - off;
}

static void check_matrix(const char *dir, const char *file, kn_mat M, double by, double tol)
{
    kn_mat expected = golden_matrix(dir, file), own = scaled(M, by);
    double d = ref_difference(own, expected);
    if (!(d <= tol))
        fail_msg("%s/%s: off by %.3g", dir, file, d);
    free(expected.data), free(own.data);
}

/* G_R or G_O, N x N in full. */
static kn_mat outer(problem *p, bool noise)
{
    ptrdiff_t N = p->Y.rows;
    kn_mat M = ref_new(N, p->Y.cols), V = ref_new(N, N + p->Y.cols), H = ref_new(N, N);
    double *w = calloc((size_t)N, sizeof *w);
    kn_kronsum_outer(&p->data, &p->k, noise, M, w);
    kn_decomp_contract(ctx, &p->side.R0, M, w, V, true, H);
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(H, j)[i] = kn_at(H, j, i);
    free(M.data), free(V.data), free(w);
    return H;
}

static void check_gradients(problem *p, const char *dir, json_t *expected, double factor)
{
    ptrdiff_t T = p->Y.cols;
    kn_mat GC = ref_new(T, T), GS = ref_new(T, T), GR = outer(p, false), GO = outer(p, true);
    kn_kronsum_gradient(ctx, &p->k, GC, GS);
    check_matrix(dir, "grad_C", GC, 1, 1e-10);
    check_matrix(dir, "grad_S", GS, factor, 1e-10);
    check_matrix(dir, "grad_R", GR, 1, 1e-10);
    check_matrix(dir, "grad_Omega", GO, 1 / factor, 1e-10);
    double g0[KN_COV_THETA], g[KN_COV_THETA];
    kn_cov cov = kn_cov_between(&p->spec.sample);
    kn_cov_point at =
        kn_cov_at_rho(&cov, golden_number(expected, "rho"), golden_number(expected, "length"));
    kn_cov_gradient(&cov, p->theta, &p->side.pairs, GR, g0);
    kn_cov_outer_gradient(&cov, &at, g0, g);
    assert_close(g[0], golden_number(expected, "grad_logit_rho"), 1e-10);
    assert_close(g[1], golden_number(expected, "grad_ln_length"), 1e-10);
    free(GC.data), free(GS.data), free(GR.data), free(GO.data);
}

/* (v_lat + more) (Q.^2)' */
static kn_mat variances(const kn_kronsum *k, kn_mat v, const double *more)
{
    kn_mat out = ref_new(v.rows, k->T);
    for (ptrdiff_t i = 0; i < v.rows; i++)
        for (ptrdiff_t j = 0; j < k->T; j++)
            for (ptrdiff_t p = 0; p < k->T; p++)
                kn_col(out, j)[i] +=
                    (kn_at(v, i, p) + (more ? more[i] : 0)) * kn_at(k->Q, j, p) * kn_at(k->Q, j, p);
    return out;
}

static void check_covariance(const char *dir, const kn_kronsum *k, kn_mat v)
{
    kn_mat cov = ref_new(k->T, k->T);
    for (ptrdiff_t a = 0; a < k->T; a++)
        for (ptrdiff_t b = 0; b < k->T; b++)
            for (ptrdiff_t p = 0; p < k->T; p++)
                kn_col(cov, a)[b] += kn_at(v, 0, p) * kn_at(k->Q, a, p) * kn_at(k->Q, b, p);
    check_matrix(dir, "cov_model_0", cov, 1, 1e-10);
    free(cov.data);
}

static void check_loo(problem *p, const char *dir, const kn_latent *latent)
{
    double clamped = 0;
    kn_mat Z = ref_mul(0, p->Y, 0, p->k.W), mean = ref_new(Z.rows, Z.cols);
    kn_mat v = ref_new(Z.rows, Z.cols);
    assert_ok(ctx, kn_latent_loo(ctx, latent, KN_LEAVE_ROW, Z, mean, v, &clamped));
    for (ptrdiff_t j = 0; j < Z.cols; j++)
        for (ptrdiff_t i = 0; i < Z.rows; i++)
            kn_col(mean, j)[i] = kn_at(Z, i, j) - kn_at(mean, i, j);
    kn_mat residual = ref_mul(0, mean, 1, p->k.Q), var = variances(&p->k, v, NULL);
    check_matrix(dir, "loo_residual", residual, 1, 1e-10);
    check_matrix(dir, "loo_var_model", var, 1, 1e-10);
    free(Z.data), free(mean.data), free(v.data), free(residual.data), free(var.data);
}

static void check_predictions(problem *p, const char *dir)
{
    double clamped = 0, more[8];
    ptrdiff_t n = p->Xs.rows, group[] = {0, 1, 1, 3, -1};
    kn_latent latent;
    assert_ok(ctx, kn_kronsum_latent_new(ctx, &p->side, &latent));
    kn_kronsum_latent_set(ctx, &p->side, &p->k, &latent);
    kn_mat lat = ref_new(n, p->Y.cols), v = ref_new(n, p->Y.cols);
    assert_ok(ctx,
              kn_latent_predict(ctx, &latent, &(kn_predict_input){.X = p->Xs}, lat, v, &clamped));
    kn_mat mean = ref_mul(0, lat, 1, p->k.Q), var = variances(&p->k, v, NULL);
    check_matrix(dir, "mean", mean, 1, 1e-10);
    check_matrix(dir, "var_model", var, 1, 1e-10);
    check_covariance(dir, &p->k, v);
    free(mean.data), free(var.data);
    if (p->tau > 0) { /* groups are numbered as they appear: 0 1 2 3 */
        assert_ok(ctx, kn_latent_predict(ctx, &latent, &(kn_predict_input){p->Xs, group}, lat, v,
                                         &clamped));
        for (ptrdiff_t i = 0; i < n; i++)
            more[i] = group[i] < 0 ? 1 + p->tau : 1;
        mean = ref_mul(0, lat, 1, p->k.Q);
        var = variances(&p->k, v, more);
        check_matrix(dir, "mean_observed", mean, 1, 1e-10);
        check_matrix(dir, "var_observed", var, 1, 1e-10);
        free(mean.data), free(var.data);
    } else {
        check_loo(p, dir, &latent);
    }
    kn_latent_clear(&latent);
    free(lat.data), free(v.data);
}

static void check_em(problem *p, const char *dir, json_t *expected)
{
    kn_kronsum_prior none = {0};
    double N = (double)p->Y.rows;
    for (int step = 1; step <= 50; step++) {
        kn_mat before = scaled(p->C, 1);
        double rows = (double)kn_kronsum_em(ctx, &p->data, &none, &p->k, p->C, p->S);
        for (ptrdiff_t j = 0; j < p->C.cols; j++) /* the golden steps count all N */
            for (ptrdiff_t i = 0; i < p->C.rows; i++)
                kn_col(p->C, j)[i] =
                    (rows * kn_at(p->C, i, j) + (N - rows) * kn_at(before, i, j)) / N;
        free(before.data);
        if (step == 1) {
            check_matrix(dir, "em_C", p->C, 1, 1e-10);
            check_matrix(dir, "em_S", p->S, 1, 1e-10);
        }
        assert_ok(ctx, kn_kronsum_evaluate(ctx, &p->data, p->C, p->S, &p->k));
        if (step == 1)
            assert_close(p->k.lml, golden_number(expected, "em_lml"), 1e-10);
    }
    assert_close(p->k.lml, golden_number(expected, "em_lml_after_50"), 1e-9);
}

static void matches_golden(const char *dir)
{
    problem p = {.X = golden_matrix(dir, "X"),
                 .Xs = golden_matrix(dir, "Xstar"),
                 .Y = golden_matrix(dir, "Y"),
                 .C = golden_matrix(dir, "C"),
                 .S = golden_matrix(dir, "S")};
    kn_mat O = golden_matrix(dir, "Omega");
    json_t *expected = golden_json(dir, "expected");
    double factor = take_groups(&p, O);
    p.spec = (kn_spec){.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", p.X.cols)};
    theta_at_rho(&p.spec.sample, golden_number(expected, "rho"), golden_number(expected, "length"),
                 p.theta);
    solve(&p);
    assert_close(p.k.lml, golden_number(expected, "lml"), 1e-12);
    kn_mat eig = golden_column(expected, "eig_c");
    for (ptrdiff_t i = 0; i < eig.rows; i++)
        assert_close(factor * p.k.c[i], eig.data[i], 1e-10);
    check_gradients(&p, dir, expected, factor);
    if (p.tau == 0) {
        problem again = {.X = p.X, .Y = p.Y, .spec = p.spec};
        memcpy(again.theta, p.theta, sizeof p.theta);
        again.C = scaled(p.C, 1);
        again.S = scaled(p.S, 1);
        solve(&again);
        check_em(&again, dir, expected);
        again.X = again.Y = kn_mat_none();
        release(&again);
    }
    check_predictions(&p, dir);
    release(&p);
    json_decref(expected);
    free(O.data), free(eig.data);
}

static void everything_matches_golden(void **state)
{
    (void)state;
    matches_golden("models/kronsum/case1");
    matches_golden("models/kronsum/case2");
    matches_golden("models/kronsum/case3");
}

/* B diag(c) B' and B diag(d) B' + s2 (I - BB') */
static void structured_noise_is_a_special_case(void **state)
{
    (void)state;
    const char *dir = "structured/case1";
    json_t *json = golden_json(dir, "expected"), *fixed = json_object_get(json, "fixed");
    kn_mat B = golden_matrix(dir, "B"), c = golden_column(fixed, "c"),
           d = golden_column(fixed, "d");
    problem p = {.X = golden_matrix(dir, "X"),
                 .Xs = golden_matrix(dir, "Xstar"),
                 .Y = golden_matrix(dir, "Y")};
    double s2 = golden_number(fixed, "s2");
    ptrdiff_t T = B.rows;
    p.C = ref_new(T, T);
    p.S = ref_new(T, T);
    for (ptrdiff_t i = 0; i < T; i++)
        for (ptrdiff_t j = 0; j < T; j++) {
            kn_col(p.S, j)[i] = s2 * (i == j);
            for (ptrdiff_t q = 0; q < B.cols; q++) {
                double bb = kn_at(B, i, q) * kn_at(B, j, q);
                kn_col(p.C, j)[i] += c.data[q] * bb;
                kn_col(p.S, j)[i] += (d.data[q] - s2) * bb;
            }
        }
    p.spec = (kn_spec){.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", p.X.cols)};
    theta_at_rho(&p.spec.sample, golden_number(json, "rho"), golden_number(json, "length"),
                 p.theta);
    solve(&p);
    assert_close(p.k.lml, golden_number(fixed, "lml"), 1e-13);
    release(&p);
    free(B.data), free(c.data), free(d.data);
    json_decref(json);
}

/* C (x) (R0 + iso I) + s2 I = C (x) R0 + (iso C + s2 I) (x) I */
static void kronprod_is_a_special_case(void **state)
{
    (void)state;
    for (int number = 1; number <= 3; number++) {
        char dir[16];
        snprintf(dir, sizeof dir, "case%d", number);
        json_t *json = golden_json(dir, "expected");
        json_t *at = json_object_get(json_object_get(json, "kronprod"), "base");
        kn_mat theta = golden_column(at, "theta");
        problem p = {.X = golden_matrix(dir, "X"),
                     .Xs = golden_matrix(dir, "Xstar"),
                     .Y = golden_matrix(dir, "Y")};
        kn_mat Yt = ref_new(p.Y.cols, p.Y.rows);
        for (ptrdiff_t i = 0; i < p.Y.rows; i++)
            for (ptrdiff_t j = 0; j < p.Y.cols; j++)
                kn_col(Yt, i)[j] = kn_at(p.Y, i, j);
        p.C = ref_kernel(Yt, Yt, theta.data, 1);
        p.S = scaled(p.C, exp(2 * theta.data[7]));
        for (ptrdiff_t j = 0; j < p.S.cols; j++)
            kn_col(p.S, j)[j] += exp(2 * theta.data[8]);
        p.spec = (kn_spec){.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", p.X.cols)};
        memcpy(p.theta, theta.data + 4, 3 * sizeof(double));
        solve(&p);
        assert_close(p.k.lml, golden_number(at, "lml"), 1e-10);
        release(&p);
        free(theta.data), free(Yt.data);
        json_decref(json);
    }
}

/* ---- dense Gaussians ---------------------------------------------------------------------------
 */

static kn_mat sample_cov(const problem *p, kn_mat A, kn_mat B)
{
    bool low = p->spec.rank > 0;
    double theta[4] = {p->theta[0], low ? -300 : p->theta[1], low ? 0 : p->theta[2], -300};
    return ref_kernel(A, B, theta, 0);
}

/* C (x) R + S (x) O over training; a row: of test row i with training, all T of its responses */
static kn_mat dense(const problem *p)
{
    ptrdiff_t N = p->Y.rows;
    kn_mat R = sample_cov(p, p->X, p->X), O = ref_new(N, N);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++)
            kn_col(O, j)[i] =
                (i == j) + (p->tau > 0 && p->groups.of[i] == p->groups.of[j] ? p->tau : 0);
    kn_mat K = ref_kron(p->C, R), noise = ref_kron(p->S, O);
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = 0; i < K.rows; i++)
            kn_col(K, j)[i] += kn_at(noise, i, j);
    free(R.data), free(O.data), free(noise.data);
    return K;
}

/* Largest norm of a column of K^-1 B; B is overwritten. */
static double largest_solution(kn_mat K, kn_mat B)
{
    double largest = 0;
    kn_mat L = scaled(K, 1);
    ref_solve(L, B);
    for (ptrdiff_t j = 0; j < B.cols; j++)
        largest = fmax(largest, sqrt(kn_sumsq(kn_cols(B, j, 1))));
    free(L.data);
    return largest;
}

/* Bounds for likelihood, means and variances. Rounding is as a change dK of the covariance with
 * |dK|
 * <= n eps |K|, n = NT. It changes the likelihood by at most |dK| |K^-1 y|^2/2, a mean by |dK|
 * |K^-1 k*| |K^-1 y| and a variance by |dK| |K^-1 k*|^2: with noise of 1e-6 far more than 1e-10. */
typedef struct bounds {
    double lml, mean, var;
} bounds;

static bounds rounding(const problem *p, kn_mat K, kn_mat Ks)
{
    kn_mat y = ref_new(K.rows, 1), k = ref_new(K.rows, Ks.rows);
    memcpy(y.data, p->Y.data, (size_t)K.rows * sizeof(double));
    for (ptrdiff_t j = 0; j < Ks.rows; j++)
        for (ptrdiff_t i = 0; i < K.rows; i++)
            kn_col(k, j)[i] = kn_at(Ks, j, i);
    double dK = (double)K.rows * DBL_EPSILON * sqrt(kn_sumsq(K));
    double a = largest_solution(K, y), b = largest_solution(K, k);
    free(y.data), free(k.data);
    return (bounds){dK * a * a / 2, dK * a * b, dK * b * b};
}

static void likelihood_and_predictions_match_dense_gaussians(void **state)
{
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        problem p = draw(SHAPES[s]);
        ptrdiff_t T = p.Y.cols, n = p.Xs.rows;
        double clamped = 0;
        solve(&p);
        kn_latent latent;
        assert_ok(ctx, kn_kronsum_latent_new(ctx, &p.side, &latent));
        kn_kronsum_latent_set(ctx, &p.side, &p.k, &latent);
        kn_mat lat = ref_new(n, T), v = ref_new(n, T);
        assert_ok(ctx, kn_latent_predict(ctx, &latent, &(kn_predict_input){.X = p.Xs}, lat, v,
                                         &clamped));
        kn_mat mean = ref_mul(0, lat, 1, p.k.Q), var = variances(&p.k, v, NULL);
        kn_mat K = dense(&p), Rs = sample_cov(&p, p.Xs, p.X), Rss = sample_cov(&p, p.Xs, p.Xs);
        kn_mat Ks = ref_kron(p.C, Rs), m = ref_new(n, T), w = ref_new(n, T), kss = ref_new(n, T);
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(kss, j)[i] = kn_at(p.C, j, j) * kn_at(Rss, i, i);
        bounds more = rounding(&p, K, Ks);
        double lml = ref_gp(K, p.Y.data, Ks, kss.data, m.data, w.data);
        assert_close(p.k.lml, lml, 1e-10 + more.lml / fmax(1, fabs(lml)));
        assert_same(mean, m, 1e-10 + more.mean);
        assert_same(var, w, 1e-10 + more.var);
        kn_latent_clear(&latent);
        release(&p);
        free(lat.data), free(v.data), free(mean.data), free(var.data), free(K.data), free(Rs.data);
        free(Rss.data), free(Ks.data), free(m.data), free(w.data), free(kss.data);
    }
}

/* LML at C, S, tau and theta as they stand. */
static double lml_of(const problem *p)
{
    problem q = *p;
    q.side = (kn_kronsum_side){0};
    q.k = (kn_kronsum){0};
    solve(&q);
    double lml = q.k.lml;
    kn_kronsum_clear(&q.k);
    kn_kronsum_side_clear(&q.side);
    return lml;
}

static double difference(problem *p, double *x, double h)
{
    double at = *x, up, down;
    *x = at + h;
    up = lml_of(p);
    *x = at - h;
    down = lml_of(p);
    *x = at;
    return (up - down) / (2 * h);
}

/* An entry and its mirror move together. */
static double entry_difference(problem *p, kn_mat M, ptrdiff_t i, ptrdiff_t j)
{
    double h = 1e-5, at = kn_at(M, i, j), value[2];
    for (int side = 0; side < 2; side++) {
        kn_col(M, j)[i] = kn_col(M, i)[j] = at + (side ? h : -h);
        value[side] = lml_of(p);
    }
    kn_col(M, j)[i] = kn_col(M, i)[j] = at;
    return (value[1] - value[0]) / (2 * h) / (i == j ? 1 : 2);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    for (int s = 0; s < N_SHAPES; s++) {
        if (SHAPES[s].noise != 1 || SHAPES[s].rank < SHAPES[s].T)
            continue;
        problem p = draw(SHAPES[s]);
        ptrdiff_t T = p.Y.cols;
        kn_mat GC = ref_new(T, T), GS = ref_new(T, T);
        solve(&p);
        kn_kronsum_gradient(ctx, &p.k, GC, GS);
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = j; i < T; i++) {
                assert_close(kn_at(GC, i, j), entry_difference(&p, p.C, i, j), 1e-6);
                assert_close(kn_at(GS, i, j), entry_difference(&p, p.S, i, j), 1e-6);
            }
        if (p.tau > 0) {
            double slope;
            assert_ok(ctx, kn_kronsum_side_slope(ctx, &p.side, &p.k, &slope));
            assert_close(slope, difference(&p, &p.tau, 1e-5), 1e-6);
        }
        if (p.spec.rank == 0) {
            double g[KN_COV_THETA];
            kn_mat GR = outer(&p, false);
            kn_cov_gradient(&p.spec.sample, p.theta, &p.side.pairs, GR, g);
            for (int i = 0; i < p.spec.sample.n_theta; i++)
                assert_close(g[i], difference(&p, &p.theta[i], 1e-5), 1e-6);
            free(GR.data);
        }
        release(&p);
        free(GC.data), free(GS.data);
    }
}

TEST_PROGRAM(kronsum)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_matches_golden),
        cmocka_unit_test(structured_noise_is_a_special_case),
        cmocka_unit_test(kronprod_is_a_special_case),
        cmocka_unit_test(likelihood_and_predictions_match_dense_gaussians),
        cmocka_unit_test(gradients_match_central_differences),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 3);
    int failed = cmocka_run_group_tests_name("kronsum", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
