/* Noise that depends on covariates: against tests/golden/norms, differences, and data that are
 * made so. */
#include "support/test.h"

#include "base/random.h"
#include "norm/calibration/internal.h"
#include "norm/calibration/noise_scale.h"

static kn_ctx *ctx;
static kn_rng rng;

static kn_z2_moments squares_of(kn_mat z)
{
    kn_z2_moments s;
    assert_ok(ctx, kn_z2_moments_init(ctx, z.rows, &s));
    kn_z2_moments_add(&s, z);
    return s;
}

static kn_noise_scale_prior prior_of(kn_mat D, kn_mat z0, kn_mat b)
{
    kn_noise_scale_prior p;
    kn_z2_moments s = squares_of(z0);
    assert_ok(ctx, kn_noise_scale_prior_init(ctx, D.cols, &p));
    p.kurt = kn_z2_moments_kurt(&s);
    p.T_sq = kn_effective_responses(&s);
    kn_z2_moments_clear(&s);
    assert_ok(ctx, kn_noise_scale_prior_fit(ctx, D, z0, b, &p));
    return p;
}

typedef struct golden {
    json_t *json;
    kn_mat age, sex, z0, D, b, beta;
    kn_noise_scale_columns columns;
    kn_noise_scale_prior prior;
} golden;

static golden golden_fit(bool quadratic)
{
    golden g = {.json = golden_json("norms/chain", "")};
    g.age = golden_column(g.json, "N2a.inputs.age");
    g.sex = golden_column(g.json, "N2a.inputs.sex");
    g.z0 = golden_rows(g.json, "N2a.inputs.z0");
    kn_noise_scale_covariates x = {g.age, g.sex};
    assert_ok(ctx, kn_noise_scale_columns_new(ctx, &x, quadratic, &g.columns));
    assert_int_equal(g.columns.F, quadratic ? 4 : 3);
    g.D = ref_new(g.z0.rows, g.columns.F);
    kn_noise_scale_columns_apply(&g.columns, &x, g.D);
    g.b = ref_new(g.columns.F, g.z0.cols);
    g.beta = ref_new(g.columns.F, g.z0.cols);
    g.prior = prior_of(g.D, g.z0, g.b);
    assert_ok(ctx, kn_noise_scale_fit(ctx, g.D, g.z0, &g.prior, g.beta));
    return g;
}

static void golden_free(golden *g)
{
    json_decref(g->json);
    free(g->age.data), free(g->sex.data), free(g->z0.data), free(g->D.data), free(g->b.data);
    free(g->beta.data);
    kn_noise_scale_columns_clear(&g->columns);
    kn_noise_scale_prior_clear(&g->prior);
}

static void assert_numbers(const double *a, json_t *at, const char *key, double tol)
{
    kn_mat e = golden_column(at, key);
    for (ptrdiff_t i = 0; i < e.rows; i++)
        assert_close(a[i], e.data[i], tol);
    free(e.data);
}

static void columns_prior_and_fits_match_golden(void **state)
{
    (void)state;
    for (int quadratic = 0; quadratic < 2; quadratic++) {
        golden g = golden_fit(quadratic);
        json_t *at = json_object_get(json_object_get(g.json, "N2a"), "fits");
        at = json_object_get(at, quadratic ? "quadratic" : "linear");
        kn_mat b = golden_rows(at, "beta_ml"), beta = golden_rows(at, "beta");
        kn_mat noise = golden_column(g.json, "N2a.inputs.noise");
        kn_mat v = golden_rows(g.json, "N2a.inputs.v"), z1 = golden_column(at, "z1_first_person");
        double flat[8] = {0, 0, 0, 0, 1e-6, 1e-6, 1e-6, 1e-6}, again[4], eta[6], value[6];
        double *work = calloc((size_t)kn_noise_scale_work(60, 4), sizeof *work), centre[3];
        for (ptrdiff_t f = 1; f < g.columns.F; f++)
            centre[f - 1] = g.columns.column[f].centre;
        assert_numbers(centre, at, "feature_means", 1e-9);
        assert_close(g.prior.kurt, golden_number(at, "k"), 1e-9);
        assert_close(g.prior.T_sq, golden_number(at, "T_eff"), 1e-9);
        assert_numbers(g.prior.S, at, "S", 1e-9);
        assert_same(g.b, b, 1e-6);
        assert_numbers(g.prior.mu, at, "prior_mean", 1e-6);
        assert_numbers(g.prior.v, at, "prior_variance", 1e-6);
        assert_same(g.beta, beta, 1e-6);
        for (ptrdiff_t j = 0; j < 6; j++) {
            kn_noise_scale_penalty ridge = {flat, flat + 4};
            value[j] = kn_noise_scale_newton(g.D, kn_col(g.z0, j), &ridge, work, again);
            eta[j] = 0;
            for (ptrdiff_t f = 0; f < g.columns.F; f++)
                eta[j] += kn_at(g.D, 0, f) * kn_at(g.beta, f, j);
            double n = noise.data[j], v0 = kn_at(v, 0, j);
            assert_close(kn_at(g.z0, 0, j) * sqrt((v0 + n) / (v0 + n * exp(eta[j]))), z1.data[j],
                         1e-6);
        }
        assert_numbers(eta, at, "eta_first_person", 1e-6);
        assert_numbers(value, at, "objective_ml", 1e-6);
        free(b.data), free(beta.data), free(noise.data), free(v.data), free(z1.data), free(work);
        golden_free(&g);
    }
}

static void batch_term_matches_golden(void **state)
{
    (void)state;
    golden g = golden_fit(false);
    json_t *at = json_object_get(json_object_get(g.json, "N2a"), "batch");
    kn_mat noise = golden_column(g.json, "N2a.inputs.noise"),
           v = golden_rows(g.json, "N2a.inputs.v");
    kn_mat of = golden_column(at, "level"), z1 = ref_new(60, 6), raw = golden_column(at, "raw");
    kn_noise_scale_level level[5] = {0};
    double term[5];
    for (ptrdiff_t i = 0; i < 60; i++) {
        kn_noise_scale_level *l = &level[(int)of.data[i]];
        l->n++;
        for (ptrdiff_t j = 0; j < 6; j++) {
            double eta = 0, n = noise.data[j], vij = kn_at(v, i, j);
            for (ptrdiff_t f = 0; f < 3; f++)
                eta += kn_at(g.D, i, f) * kn_at(g.beta, f, j);
            double z = kn_at(g.z0, i, j) * sqrt((vij + n) / (vij + n * exp(eta)));
            kn_col(z1, j)[i] = z;
            l->z2 += z * z;
            l->cells++;
        }
    }
    kn_z2_moments s = squares_of(z1);
    assert_close(kn_z2_moments_kurt(&s), golden_number(at, "k"), 1e-6);
    assert_close(kn_effective_responses(&s), golden_number(at, "T_eff"), 1e-6);
    for (int l = 0; l < 4; l++)
        assert_close(log(level[l].z2 / level[l].cells), raw.data[l], 1e-6);
    double v_a =
        kn_noise_scale_batch(5, level, kn_z2_moments_kurt(&s), kn_effective_responses(&s), term);
    assert_close(v_a, golden_number(at, "v_a"), 1e-9);
    assert_numbers(term, at, "shrunk", 1e-9);
    assert_true(term[4] == 0); /* a level that no participant is of */
    /* Far apart and many: hardly shrunk, and v_a by its formula. */
    kn_noise_scale_level far[2] = {{2000, 1000, 50}, {1000, 2000, 100}};
    double l2 = log(2), q = 2.0 / 3 / 30, mean = (50 * l2 - 100 * l2) / 150;
    double var = (50 * pow(l2 - mean, 2) + 100 * pow(-l2 - mean, 2)) / 150;
    v_a = kn_noise_scale_batch(2, far, 2, 10, term);
    q = (2 / 10.0 + 2 / 10.0) / 150;
    assert_close(v_a, var - q, 1e-14);
    assert_close(term[0], l2 * v_a / (v_a + 2 / 500.0), 1e-14);
    assert_close(term[1], -l2 * v_a / (v_a + 2 / 1000.0), 1e-14);
    kn_z2_moments_clear(&s);
    free(noise.data), free(v.data), free(of.data), free(z1.data), free(raw.data);
    golden_free(&g);
}

static void columns_clip_centre_and_leave_constants_out(void **state)
{
    (void)state;
    enum { N = 8 };
    double x[3 * N], l[2 * N];
    for (int i = 0; i < N; i++) {
        x[i] = 10 + i, x[N + i] = 3, x[2 * N + i] = i % 4; /* eight, one, four values */
        l[i] = i % 4 == 0, l[N + i] = 1;
    }
    l[3] = NAN;
    kn_noise_scale_covariates c = {kn_mat_cols(x, N, 3), kn_mat_cols(l, N, 2)};
    kn_noise_scale_columns k;
    assert_ok(ctx, kn_noise_scale_columns_new(ctx, &c, true, &k));
    assert_int_equal(k.F, 5); /* 1, x, x^2, third, level */
    static const kn_noise_scale_kind KIND[] = {KN_SCALE_ONE, KN_SCALE_LINE, KN_SCALE_SQUARE,
                                               KN_SCALE_LINE, KN_SCALE_LEVEL};
    kn_mat D = ref_new(N, 5), E = ref_new(2, 5);
    kn_noise_scale_columns_apply(&k, &c, D);
    for (int f = 0; f < 5; f++) {
        double sum = 0;
        assert_int_equal(k.column[f].kind, KIND[f]);
        for (int i = 0; i < N; i++)
            sum += kn_at(D, i, f);
        assert_close(sum, f == 0 ? N : 0, 1e-13);
    }
    assert_true(kn_at(D, 3, 4) == 0);
    assert_close(kn_at(D, 0, 4) - kn_at(D, 1, 4), 1, 1e-14);
    double far[6] = {-1e9, 99, 3, 4, 0, NAN}, far_l[4] = {0, 1, 1, 1};
    kn_noise_scale_covariates participants = {kn_mat_cols(far, 2, 3), kn_mat_cols(far_l, 2, 2)};
    kn_noise_scale_columns_apply(&k, &participants, E);
    for (int f = 0; f < 3; f++) { /* the youngest and the oldest of training */
        assert_close(kn_at(E, 0, f), kn_at(D, 0, f), 1e-14);
        assert_close(kn_at(E, 1, f), kn_at(D, N - 1, f), 1e-14);
    }
    assert_true(kn_at(E, 1, 3) == 0);
    kn_noise_scale_columns_clear(&k);
    for (int i = 0; i < N; i++)
        x[N + i] = 5 - 2 * x[i] + x[2 * N + i]; /* a sum of others */
    double order[3 * N];
    memcpy(order, x, N * sizeof *x);
    memcpy(order + N, x + 2 * N, N * sizeof *x);
    memcpy(order + 2 * N, x + N, N * sizeof *x);
    c.numeric = kn_mat_cols(order, N, 3);
    assert_ok(ctx, kn_noise_scale_columns_new(ctx, &c, false, &k));
    assert_int_equal(k.F, 4);
    assert_int_equal(k.column[2].source, 1);
    assert_int_equal(k.column[3].kind, KN_SCALE_LEVEL);
    kn_noise_scale_columns_clear(&k);
    c = (kn_noise_scale_covariates){kn_mat_none(), kn_mat_none()};
    assert_ok(ctx, kn_noise_scale_columns_new(ctx, &c, true, &k));
    assert_int_equal(k.F, 1);
    kn_noise_scale_columns_clear(&k);
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_noise_scale_columns_new(ctx, &c, true, &k), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
    free(D.data), free(E.data);
}

/* D of n participants: age and a level. z0 with noise that triples over age; a tenth missing. */
static void make(kn_mat D, kn_mat z, double slope)
{
    for (ptrdiff_t i = 0; i < D.rows; i++) {
        kn_col(D, 0)[i] = 1;
        kn_col(D, 1)[i] = -1.5 + 3 * (double)i / (double)(D.rows - 1);
        kn_col(D, 2)[i] = (double)(i % 2) - 0.5 * (double)(2 * (D.rows / 2)) / (double)D.rows;
    }
    for (ptrdiff_t j = 0; j < z.cols; j++)
        for (ptrdiff_t i = 0; i < D.rows; i++)
            kn_col(z, j)[i] = kn_rng_uniform(&rng) < 0.1
                                  ? NAN
                                  : kn_rng_normal(&rng) * exp(slope * kn_at(D, i, 1) / 2);
}

static double objective(kn_mat D, const double *z, const kn_noise_scale_penalty *p,
                        const double *beta)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < D.rows; i++) {
        double eta = 0;
        for (ptrdiff_t f = 0; f < D.cols; f++)
            eta += kn_at(D, i, f) * beta[f];
        if (!isnan(z[i]))
            sum += (eta + z[i] * z[i] * exp(-eta)) / 2;
    }
    for (ptrdiff_t f = 0; f < D.cols; f++)
        sum += p->weight[f] * pow(beta[f] - p->mu[f], 2) / 2;
    return sum;
}

static void newton_ends_where_differences_vanish(void **state)
{
    (void)state;
    static const ptrdiff_t SIZE[] = {4, 12, 90};
    double mu[3] = {0.1, 0.2, -0.1}, weight[3] = {3, 1, 5};
    kn_noise_scale_penalty p = {mu, weight};
    for (size_t k = 0; k < 3; k++) {
        ptrdiff_t n = SIZE[k];
        kn_mat D = ref_new(n, 3), z = ref_new(n, 4);
        double *work = calloc((size_t)kn_noise_scale_work(n, 3), sizeof *work), beta[3];
        make(D, z, 1.4);
        z.data[0] = 40; /* one that no line explains */
        for (ptrdiff_t j = 0; j < 4; j++) {
            double value = kn_noise_scale_newton(D, kn_col(z, j), &p, work, beta);
            assert_close(value, objective(D, kn_col(z, j), &p, beta), 1e-12);
            for (int f = 0; f < 3; f++) {
                double up[3] = {beta[0], beta[1], beta[2]}, down[3] = {beta[0], beta[1], beta[2]};
                up[f] += 1e-4, down[f] -= 1e-4;
                double d =
                    objective(D, kn_col(z, j), &p, up) - objective(D, kn_col(z, j), &p, down);
                assert_true(fabs(d / 2e-4) < 1e-5 * (1 + fabs(value)));
            }
        }
        free(D.data), free(z.data), free(work);
    }
}

static void growing_noise_is_found_and_order_does_not_matter(void **state)
{
    (void)state;
    static const ptrdiff_t WIDTH[] = {1, 2, 5, 40};
    for (size_t w = 0; w < 4; w++) {
        ptrdiff_t n = 150, T = WIDTH[w];
        kn_mat D = ref_new(n, 3), z = ref_new(n, T), E = ref_new(n, 3), y = ref_new(n, T);
        kn_mat b = ref_new(3, T), c = ref_new(3, T), beta = ref_new(3, T), gamma = ref_new(3, T);
        make(D, z, 1.2);
        for (ptrdiff_t i = 0; i < n; i++) {
            ptrdiff_t to = (i * 7 + 3) % n;
            for (ptrdiff_t f = 0; f < 3; f++)
                kn_col(E, f)[to] = kn_at(D, i, f);
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(y, T - 1 - j)[to] = kn_at(z, i, j);
        }
        kn_noise_scale_prior p = prior_of(D, z, b), q = prior_of(E, y, c);
        assert_ok(ctx, kn_noise_scale_fit(ctx, D, z, &p, beta));
        assert_ok(ctx, kn_noise_scale_fit(ctx, E, y, &q, gamma));
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t f = 0; f < 3; f++)
                assert_close(kn_at(gamma, f, T - 1 - j), kn_at(beta, f, j), 1e-8);
        assert_close(p.mu[1], 1.2, T == 40 ? 0.1 : 0.5);
        assert_close(p.mu[2], 0, T == 40 ? 0.15 : 0.9);
        for (ptrdiff_t j = 0; j < T; j++) /* drawn towards what is common */
            assert_true(fabs(kn_at(beta, 1, j) - p.mu[1]) <= fabs(kn_at(b, 1, j) - p.mu[1]) + 0.05);
        kn_noise_scale_prior_clear(&p), kn_noise_scale_prior_clear(&q);
        free(D.data), free(z.data), free(E.data), free(y.data);
        free(b.data), free(c.data), free(beta.data), free(gamma.data);
    }
}

static void responses_without_values_have_no_part(void **state)
{
    (void)state;
    enum { N = 40 };
    kn_mat D = ref_new(N, 3), z = ref_new(N, 6), b = ref_new(3, 6), c = ref_new(3, 4);
    kn_mat beta = ref_new(3, 6);
    make(D, z, 0.5);
    for (int i = 0; i < N; i++)
        kn_col(z, 4)[i] = NAN, kn_col(z, 5)[i] = 0;
    kn_noise_scale_prior p, q;
    assert_ok(ctx, kn_noise_scale_prior_init(ctx, 3, &p));
    assert_ok(ctx, kn_noise_scale_prior_init(ctx, 3, &q));
    p.kurt = q.kurt = 1.8, p.T_sq = q.T_sq = 3;
    assert_ok(ctx, kn_noise_scale_prior_fit(ctx, D, z, b, &p));
    assert_ok(ctx, kn_noise_scale_prior_fit(ctx, D, kn_cols(z, 0, 4), c, &q));
    assert_ok(ctx, kn_noise_scale_fit(ctx, D, z, &p, beta));
    for (int f = 0; f < 3; f++) {
        assert_close(p.mu[f], q.mu[f], 1e-14);
        assert_close(p.v[f], q.v[f], 1e-14);
        assert_true(isnan(kn_at(b, f, 4)) && isnan(kn_at(b, f, 5)));
        assert_true(kn_at(beta, f, 4) == p.mu[f] && kn_at(beta, f, 5) == p.mu[f]);
    }
    for (int i = 0; i < N; i++)
        kn_col(D, 2)[i] = 2 * kn_at(D, i, 1);
    assert_ok(ctx, kn_noise_scale_prior_fit(ctx, D, z, b, &p)); /* as may happen without a fold */
    assert_true(p.mu[1] == 0 && p.mu[2] == 0 && isfinite(p.mu[0]));
    assert_ok(ctx, kn_noise_scale_fit(ctx, D, z, &p, beta));
    for (int j = 0; j < 4; j++)
        assert_true(fabs(kn_at(beta, 1, j)) < 3 && fabs(kn_at(beta, 2, j)) < 3);
    for (long k = 1; k <= 4; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_noise_scale_prior_fit(ctx, D, z, b, &p), KN_ERR_MEMORY);
    }
    kn_fail_allocation(ctx, 0);
    kn_noise_scale_prior_clear(&p), kn_noise_scale_prior_clear(&q);
    free(D.data), free(z.data), free(b.data), free(c.data), free(beta.data);
}

static void one_step_without_a_fold_is_nearly_the_refit(void **state)
{
    (void)state;
    enum { N = 120, T = 12, FOLDS = 10 };
    kn_mat D = ref_new(N, 3), z = ref_new(N, T), b = ref_new(3, T), beta = ref_new(3, T);
    kn_mat E = ref_new(N, 3), y = ref_new(N, T), exact[FOLDS], out = ref_new(3, FOLDS);
    kn_noise_scale_prior all, without[FOLDS];
    double *work = calloc((size_t)kn_noise_scale_refit_work(N, 3, FOLDS), sizeof *work);
    double moved = 0, off = 0;
    int fold[N];
    make(D, z, 1);
    all = prior_of(D, z, b);
    assert_ok(ctx, kn_noise_scale_fit(ctx, D, z, &all, beta));
    for (int i = 0; i < N; i++)
        fold[i] = (i * 7) % FOLDS;
    for (int f = 0; f < FOLDS; f++) {
        ptrdiff_t n = 0;
        for (int i = 0; i < N; i++) {
            if (fold[i] == f)
                continue;
            for (ptrdiff_t c = 0; c < 3; c++)
                kn_col(E, c)[n] = kn_at(D, i, c);
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(y, j)[n] = kn_at(z, i, j);
            n++;
        }
        kn_mat E1 = kn_sub(E, 0, 0, n, 3), y1 = kn_sub(y, 0, 0, n, T);
        exact[f] = ref_new(3, T);
        without[f] = prior_of(E1, y1, b);
        assert_ok(ctx, kn_noise_scale_fit(ctx, E1, y1, &without[f], exact[f]));
    }
    kn_noise_scale_folds rows = {fold, FOLDS, without, NULL};
    for (ptrdiff_t j = 0; j < T; j++) {
        kn_noise_scale_refit(D, kn_col(z, j), &rows, kn_col(beta, j), work, out);
        for (int f = 0; f < FOLDS; f++)
            for (ptrdiff_t c = 0; c < 3; c++) {
                moved += pow(kn_at(exact[f], c, j) - kn_at(beta, c, j), 2);
                off += pow(kn_at(exact[f], c, j) - kn_at(out, c, f), 2);
            }
    }
    assert_true(moved > 0.01 && off < 0.02 * moved);
    for (int f = 0; f < FOLDS; f++) {
        kn_noise_scale_prior_clear(&without[f]);
        free(exact[f].data);
    }
    kn_noise_scale_prior_clear(&all);
    free(D.data), free(z.data), free(b.data), free(beta.data), free(E.data), free(y.data);
    free(out.data), free(work);
}

/* A fold's spread is every other z0 times so much. */
static void a_spread_is_z_so_many_times_as_large(void **state)
{
    (void)state;
    enum { N = 40, FOLDS = 4 };
    kn_mat D = ref_new(N, 3), z = ref_new(N, 2), b = ref_new(3, 2);
    kn_mat by = ref_new(3, FOLDS), as_it_is = ref_new(3, FOLDS);
    make(D, z, 1);
    kn_noise_scale_prior p = prior_of(D, z, b), same[FOLDS] = {p, p, p, p};
    double *work = calloc((size_t)kn_noise_scale_refit_work(N, 3, FOLDS), sizeof *work);
    double spread[FOLDS] = {1.4, 1, 0.7, 2}, scaled[N];
    int fold[N];
    for (int i = 0; i < N; i++)
        fold[i] = i % FOLDS;
    kn_noise_scale_folds rows = {fold, FOLDS, same, spread}, plain = {fold, FOLDS, same, NULL};
    kn_noise_scale_refit(D, kn_col(z, 0), &rows, kn_col(b, 0), work, by);
    for (int f = 0; f < FOLDS; f++) {
        for (int i = 0; i < N; i++)
            scaled[i] = kn_at(z, i, 0) * spread[f];
        kn_noise_scale_refit(D, scaled, &plain, kn_col(b, 0), work, as_it_is);
        for (int c = 0; c < 3; c++)
            assert_close(kn_at(by, c, f), kn_at(as_it_is, c, f), 1e-12);
    }
    kn_noise_scale_prior_clear(&p);
    free(D.data), free(z.data), free(b.data), free(by.data), free(as_it_is.data), free(work);
}

TEST_PROGRAM(norm_noise_scale)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 54, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_prior_and_fits_match_golden),
        cmocka_unit_test(batch_term_matches_golden),
        cmocka_unit_test(columns_clip_centre_and_leave_constants_out),
        cmocka_unit_test(newton_ends_where_differences_vanish),
        cmocka_unit_test(growing_noise_is_found_and_order_does_not_matter),
        cmocka_unit_test(responses_without_values_have_no_part),
        cmocka_unit_test(one_step_without_a_fold_is_nearly_the_refit),
        cmocka_unit_test(a_spread_is_z_so_many_times_as_large),
    };
    int failed = cmocka_run_group_tests_name("scale", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
