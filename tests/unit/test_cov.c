/* Covariances as lists of terms: a kernel that the library has never heard of, defined here as one
 * row, goes through everything that a kernel goes through. */
#include "covs.h"
#include "test.h"

#include "base/rng.h"
#include "cov/diagonal.h"
#include "gp/fit_steps.h"
#include "gp/predict.h"
#include "model/kernel_json.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- a new kernel: rational quadratic ---------------------------------------------------------
 *
 *     exp(2a) b^-alpha,   b = 1 + |x-x'|^2/(2 alpha l^2);   theta = (a, ln l, ln alpha) */

static void rq_add(const double *theta, kn_mat d2, bool symmetric, kn_mat K)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), alpha = exp(theta[2]);
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < K.rows; i++)
            kn_col(K, j)[i] += v * pow(1 + kn_at(d2, i, j) / (2 * alpha * l2), -alpha);
}

static void rq_gradient(const double *theta, kn_mat d2, bool symmetric, kn_mat G, double *g)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), alpha = exp(theta[2]);
    g[0] = g[1] = g[2] = 0;
    for (ptrdiff_t j = 0; j < G.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < G.rows; i++) {
            double x = kn_at(d2, i, j) / l2, b = 1 + x / (2 * alpha);
            double k = (symmetric && i > j ? 2 : 1) * kn_at(G, i, j) * v * pow(b, -alpha);
            g[0] += 2 * k;
            g[1] += k * x / b;
            g[2] += k * (x / (2 * b) - alpha * log(b));
        }
}

static const kn_kernel rational_quadratic = {
    .name = "rq",
    .amplitude = "rq_amp",
    .n_shape = 2,
    .shape = {{.name = "rq_len", .range = KN_RANGE_DISTANCE},
              {.name = "rq_alpha", .range = KN_RANGE_FIXED, .low = 0.2, .high = 20}},
    .stat = KN_STAT_D2,
    .add = rq_add,
    .gradient = rq_gradient,
};

static double ref_rq(const double *x, const double *y, ptrdiff_t count, const double *theta)
{
    double alpha = exp(theta[2]);
    return exp(2 * theta[0]) *
           pow(1 + ref_distance2(x, y, count) / (2 * alpha * exp(2 * theta[1])), -alpha);
}

/* ---- the same terms for the library and for the oracle ----------------------------------------
 */

enum { F = 4, MOST_TERMS = 4 };
static const struct {
    ref_term ref;
    const kn_kernel *kernel;
} TERMS[MOST_TERMS] = {
    {{ref_linear, 1, 0, F}, &kn_kernel_linear},
    {{ref_se, 2, 0, 2}, &kn_kernel_se},
    {{ref_rq, 3, 1, 2}, &rational_quadratic},
    {{ref_linear, 1, 2, 2}, &kn_kernel_linear},
};

static kn_cov terms(int from, int n, ref_term *ref)
{
    kn_cov cov = {0};
    for (int k = 0; k < n; k++) {
        ref[k] = TERMS[from + k].ref;
        assert_ok(ctx, kn_cov_add(ctx, &cov, TERMS[from + k].kernel, ref[k].first, ref[k].count));
    }
    return cov;
}

static void random_theta(const kn_cov *cov, double *theta)
{
    for (int i = 0; i < cov->n_theta; i++)
        theta[i] = 0.3 * kn_rng_normal(&rng) - 0.2;
}

static const ptrdiff_t SIZES[] = {1, 2, 3, 40};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

static void mirror(kn_mat K)
{
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(K, j)[i] = kn_at(K, j, i);
}

/* ---- dense ------------------------------------------------------------------------------------
 */

static void matrices_match_one_pair_at_a_time(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++)
        for (int n = 1; n <= MOST_TERMS; n++)
            for (int from = 0; from + n <= MOST_TERMS; from++) {
                ref_term ref[MOST_TERMS];
                kn_cov cov = terms(from, n, ref);
                kn_mat X = ref_normal(&rng, SIZES[s], F), Y = ref_normal(&rng, 5, F);
                kn_mat K = ref_new(X.rows, X.rows), Ks = ref_new(X.rows, 5);
                kn_mat self = ref_new(X.rows, 1), work = ref_new(X.rows, 1);
                double theta[KN_COV_THETA];
                kn_pairs within, between;
                random_theta(&cov, theta);
                assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &within));
                assert_ok(ctx, kn_pairs_between(ctx, X, Y, &cov.stats, &between));
                kn_cov_fill(&cov, theta, &within, K);
                mirror(K);
                kn_cov_fill(&cov, theta, &between, Ks);
                kn_cov_self(&cov, theta, X, work.data, self.data);
                kn_mat R = ref_cov(X, X, ref, n, theta), Rs = ref_cov(X, Y, ref, n, theta);
                assert_same(K, R, 1e-13);
                assert_same(Ks, Rs, 1e-13);
                for (ptrdiff_t i = 0; i < X.rows; i++)
                    assert_close(self.data[i], kn_at(R, i, i), 1e-13);
                kn_pairs_clear(&within);
                kn_pairs_clear(&between);
                free(X.data), free(Y.data), free(K.data), free(Ks.data), free(self.data);
                free(work.data), free(R.data), free(Rs.data);
            }
}

static void pairs_of_some_samples_are_bit_for_bit_their_own(void **state)
{
    (void)state;
    enum { ALL = 97, SOME = 64 };
    ref_term ref[MOST_TERMS];
    kn_cov cov = terms(0, MOST_TERMS, ref);
    kn_mat X = ref_normal(&rng, ALL, F), few = ref_new(SOME, F);
    ptrdiff_t index[SOME];
    kn_pairs all, some, own;
    for (ptrdiff_t i = 0; i < SOME; i++)
        index[i] = i + i / 2;
    kn_mat_rows(X, index, few);
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &all));
    assert_ok(ctx, kn_pairs_within(ctx, few, &cov.stats, &own));
    assert_ok(ctx, kn_pairs_some(ctx, &all, index, few, &cov.stats, &some));
    assert_true(some.n == own.n && some.symmetric);
    for (int k = 0; k < own.n; k++)
        for (ptrdiff_t j = 0; j < SOME; j++)
            for (ptrdiff_t i = j; i < SOME; i++)
                assert_true(kn_at(some.stat[k], i, j) == kn_at(own.stat[k], i, j));
    kn_pairs_clear(&all);
    kn_pairs_clear(&some);
    kn_pairs_clear(&own);
    free(X.data), free(few.data);
}

/* The median is the middle one of those that a sort puts in order, ties and all. */
static void the_median_distance_is_that_of_a_sort(void **state)
{
    (void)state;
    for (int ties = 0; ties < 2; ties++)
        for (ptrdiff_t N = 2; N < 60; N += 7) {
            kn_mat X = ref_normal(&rng, N, 2);
            double *d = malloc((size_t)(N * N) * sizeof *d);
            ptrdiff_t n = 0;
            kn_distances found;
            for (ptrdiff_t k = 0; ties && k < 2 * N; k++)
                X.data[k] = round(X.data[k]);
            for (ptrdiff_t a = 0; a < N; a++)
                for (ptrdiff_t b = 0; b < a; b++) {
                    double x = kn_at(X, a, 0) - kn_at(X, b, 0), y = kn_at(X, a, 1) - kn_at(X, b, 1);
                    if (x != 0 || y != 0)
                        d[n++] = sqrt(x * x + y * y);
                }
            for (ptrdiff_t i = 1; i < n; i++)
                for (ptrdiff_t j = i; j > 0 && d[j] < d[j - 1]; j--) {
                    double t = d[j];
                    d[j] = d[j - 1];
                    d[j - 1] = t;
                }
            assert_ok(ctx, kn_row_distances(ctx, X, &found));
            assert_close(found.median, n > 0 ? d[n / 2] : 0, 1e-14);
            free(d), free(X.data);
        }
}

static void contraction_matches_central_differences(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++)
        for (int n = 1; n <= MOST_TERMS; n++) {
            ref_term ref[MOST_TERMS];
            kn_cov cov = terms(0, n, ref);
            kn_mat X = ref_normal(&rng, SIZES[s], F), G = ref_normal(&rng, X.rows, X.rows);
            double theta[KN_COV_THETA], g[KN_COV_THETA], h = 1e-5;
            kn_pairs pairs;
            mirror(G);
            random_theta(&cov, theta);
            assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &pairs));
            kn_cov_gradient(&cov, theta, &pairs, G, g);
            for (int i = 0; i < cov.n_theta; i++) {
                double t = theta[i], f[2] = {0};
                for (int side = 0; side < 2; side++) {
                    theta[i] = t + (side ? h : -h);
                    kn_mat K = ref_cov(X, X, ref, n, theta);
                    for (ptrdiff_t k = 0; k < K.rows * K.cols; k++)
                        f[side] += K.data[k] * G.data[k];
                    free(K.data);
                }
                theta[i] = t;
                assert_close(g[i], (f[1] - f[0]) / (2 * h), 1e-7);
            }
            kn_pairs_clear(&pairs);
            free(X.data), free(G.data);
        }
}

/* ---- weights on the simplex -------------------------------------------------------------------
 */

static void weights_are_a_softmax_and_lead_back(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST_TERMS; n++) {
        ref_term ref[MOST_TERMS];
        kn_cov cov = terms(0, n, ref);
        double x[KN_COV_OUTER], back[KN_COV_OUTER], theta[KN_COV_THETA], sum = 0, all = 1, total;
        kn_cov_point again;
        for (int i = 0; i < kn_cov_n_outer(&cov); i++)
            x[i] = kn_rng_normal(&rng);
        for (int k = 1; k < n; k++)
            all += exp(x[k - 1]);
        kn_cov_point p = kn_cov_point_at(&cov, x);
        for (int k = 0; k < n; k++) {
            assert_close(p.w[k], (k > 0 ? exp(x[k - 1]) : 1) / all, 1e-14);
            sum += p.w[k];
        }
        assert_close(sum, 1, 1e-15);
        kn_cov_coordinates(&cov, &p, back);
        for (int i = 0; i < kn_cov_n_outer(&cov); i++)
            assert_close(back[i], x[i], 1e-13);
        kn_cov_theta(&cov, &p, theta);
        for (int k = 0; k < n; k++) /* twice the covariance is the same point */
            theta[cov.term[k].at] += 0.5 * log(2);
        kn_cov_point_of(&cov, theta, &again, &total);
        assert_close(total, 2, 1e-14);
        for (int k = 0; k < n; k++)
            assert_close(again.w[k], p.w[k], 1e-14);
        for (int i = 0; i < cov.n_shapes; i++)
            assert_close(again.shape[i], p.shape[i], 1e-14);
    }
}

static void two_terms_are_rho_and_length(void **state)
{
    (void)state;
    kn_cov cov = cov_of("linear+se", F), one = cov_of("se", F);
    ref_term ref[MOST_TERMS];
    kn_cov three = terms(0, 3, ref);
    double theta[KN_COV_THETA], rho, length;
    kn_cov_point p = kn_cov_at_rho(&cov, 0.3, 2);
    kn_cov_theta(&cov, &p, theta);
    assert_close(theta[0], 0.5 * log(0.7 / F), 1e-15);
    assert_close(theta[1], 0.5 * log(0.3), 1e-15);
    assert_close(theta[2], log(2), 1e-15);
    kn_cov_rho_length(&cov, &p, &rho, &length);
    assert_true(rho == 0.3 && length == 2);
    p = kn_cov_at_rho(&one, 0.3, 2);
    kn_cov_rho_length(&one, &p, &rho, &length);
    assert_true(rho == 1 && length == 2);
    assert_true(kn_cov_is_rho_length(&cov) && kn_cov_is_rho_length(&one));
    assert_false(kn_cov_is_rho_length(&three));
}

/* ---- the engine's gradient --------------------------------------------------------------------
 */

typedef struct setting {
    ptrdiff_t N;
    int terms;
    bool iso, low;
} setting;

static kn_spec spec_of(setting s, ref_term *ref)
{
    kn_spec spec = {.noise = s.iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                    .sample = terms(0, s.terms, ref),
                    .rank = s.low ? (s.N + 1) / 2 : 0};
    if (s.iso) {
        assert_ok(ctx, kn_cov_add(ctx, &spec.sample, &kn_kernel_iso, 0, F));
        spec.task = cov_of("linear+se+iso", KN_ALL_COLUMNS);
    }
    return spec;
}

/* The pivots of the first evaluation stay, far from enough as they may be. */
static kn_status nested(kn_engine *e, const double *x, double *lml, double *g)
{
    kn_cov_point at = kn_cov_point_at(&e->cov, x);
    e->low.tol = e->low.n_set > 0 ? 1 : 0;
    return kn_engine_nested(ctx, e, &at, lml, g);
}

static void check_gradient(setting s)
{
    ref_term ref[MOST_TERMS];
    kn_spec spec = spec_of(s, ref);
    ptrdiff_t P = s.N < 4 ? 1 : 3;
    kn_mat X = ref_normal(&rng, s.N, F), Z = ref_normal(&rng, s.N, P);
    double x[KN_COV_OUTER], g[KN_COV_OUTER], none[KN_COV_OUTER], lml, h = 1e-3;
    kn_engine e;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, P + 2, 1.5, 10, &e));
    e.inside_tolerance = 1e-13;
    /* what the inside search leaves in the likelihood, its root is in the envelope's gradient */
    double tol = s.iso ? 2e-5 : 1e-6;
    for (int i = 0; i < kn_cov_n_outer(&e.cov); i++)
        x[i] = 0.4 * kn_rng_normal(&rng);
    assert_ok(ctx, nested(&e, x, &lml, g));
    assert_ok(ctx, nested(&e, x, &lml, g));
    for (int i = 0; i < kn_cov_n_outer(&e.cov); i++) {
        double t = x[i], f[4];
        for (int k = 0; k < 4; k++) {
            x[i] = t + h * (k < 2 ? k - 2 : k - 1);
            assert_ok(ctx, nested(&e, x, &f[k], none));
        }
        x[i] = t; /* fourth order: a step that is large beside what the inside search leaves */
        assert_close(g[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), tol);
    }
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

static void nested_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++)
        for (int iso = 0; iso < 2; iso++)
            for (int s = 0; s < N_SIZES; s++)
                for (int n = 1; n <= MOST_TERMS; n++)
                    check_gradient((setting){SIZES[s], n, iso, low});
}

static void joint_gradient_matches_central_differences(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++)
        for (int n = 1; n <= MOST_TERMS; n++) {
            setting s = {20, n, true, low};
            ref_term ref[MOST_TERMS];
            kn_spec spec = spec_of(s, ref);
            kn_mat X = ref_normal(&rng, s.N, F), Z = ref_normal(&rng, s.N, 3);
            double theta[KN_THETA], g[KN_THETA], lml, h = 1e-4;
            kn_engine e;
            assert_ok(ctx, engine_over(ctx, &spec, X, Z, 5, 1.5, 10, &e));
            for (int i = 0; i < kn_spec_n_theta(&spec); i++)
                theta[i] = 0.3 * kn_rng_normal(&rng) - 0.4;
            e.low.tol = 0;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            e.low.tol = 1;
            assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &lml, g));
            for (int i = 0; i < kn_spec_n_theta(&spec); i++) {
                double f[4], t = theta[i];
                for (int k = 0; k < 4; k++) {
                    theta[i] = t + h * (k < 2 ? k - 2 : k - 1);
                    assert_ok(ctx, kn_engine_joint(ctx, &e, theta, &f[k], NULL));
                }
                theta[i] = t;
                assert_close(g[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
            }
            kn_engine_clear(&e);
            free(X.data), free(Z.data);
        }
}

static void all_pivots_are_the_dense_likelihood(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST_TERMS; n++) {
        ref_term ref[MOST_TERMS];
        kn_spec spec = spec_of((setting){30, n, false, false}, ref);
        kn_mat X = ref_normal(&rng, 30, F), Z = ref_normal(&rng, 30, 3);
        double x[KN_COV_OUTER], lml[2], g[2][KN_COV_OUTER];
        for (int i = 0; i < KN_COV_OUTER; i++)
            x[i] = 0.4 * kn_rng_normal(&rng);
        for (int dense = 0; dense < 2; dense++) {
            kn_engine e;
            spec.rank = dense ? 0 : 30;
            assert_ok(ctx, engine_over(ctx, &spec, X, Z, 5, 2, 10, &e));
            kn_cov_point at = kn_cov_point_at(&e.cov, x);
            assert_ok(ctx, kn_engine_nested(ctx, &e, &at, &lml[dense], g[dense]));
            kn_engine_clear(&e);
        }
        assert_close(lml[0], lml[1], 1e-9);
        for (int i = 0; i < kn_cov_n_outer(&spec.sample); i++)
            assert_close(g[0][i], g[1][i], 1e-6);
        free(X.data), free(Z.data);
    }
}

/* ---- a whole fit with three terms -------------------------------------------------------------
 */

enum { N = 80, NS = 9, P = 3 };

/* Components that follow the third term's columns, smoothly, under noise. */
static kn_mat smooth(kn_mat X)
{
    kn_mat Z = ref_new(X.rows, P);
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(Z, p)[i] = 2 * sin(kn_at(X, i, 1) - kn_at(X, i, 2) + (double)p) +
                              0.5 * kn_at(X, i, 0) + 0.4 * kn_rng_normal(&rng);
    return Z;
}

/* R0 between samples, where low rank makes it so by way of the pivots: K_am K_mm^-1 K_mb */
static kn_mat oracle(const kn_decomp *R0, const ref_term *ref, kn_mat X, kn_mat A, kn_mat B)
{
    if (R0->n_pivots == 0)
        return ref_cov(A, B, ref, R0->cov.n, R0->theta);
    kn_mat M = ref_new(R0->n_pivots, F);
    kn_mat_rows(X, R0->pivot, M);
    kn_mat Kmm = ref_cov(M, M, ref, R0->cov.n, R0->theta);
    kn_mat Kmb = ref_cov(M, B, ref, R0->cov.n, R0->theta);
    kn_mat Kam = ref_cov(A, M, ref, R0->cov.n, R0->theta);
    ref_solve(Kmm, Kmb);
    kn_mat K = ref_mul(0, Kam, 0, Kmb);
    free(M.data), free(Kmm.data), free(Kmb.data), free(Kam.data);
    return K;
}

/* One component ~ N(0, c R0 + d I) by the oracle: its likelihood, and what it predicts */
static double check_component(const kn_latent *l, kn_mat Z, int p, const ref_term *ref, kn_mat Xs,
                              kn_mat mean, kn_mat var)
{
    kn_mat K = oracle(&l->cell[0].R0, ref, l->X, l->X, l->X),
           Ks = oracle(&l->cell[0].R0, ref, l->X, Xs, l->X);
    kn_mat Kss = ref_cov(Xs, Xs, ref, l->cell[0].R0.cov.n, l->cell[0].R0.theta);
    kn_mat m = ref_new(NS, 1), v = ref_new(NS, 1);
    double c = l->c[p], kss[NS];
    for (ptrdiff_t i = 0; i < N * N; i++)
        K.data[i] *= c;
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(K, i)[i] += l->d[p];
    for (ptrdiff_t i = 0; i < NS * N; i++)
        Ks.data[i] *= c;
    for (ptrdiff_t i = 0; i < NS; i++)
        kss[i] = c * kn_at(Kss, i, i);
    double lml = ref_gp(K, kn_col(Z, p), Ks, kss, m.data, v.data);
    assert_same(kn_cols(mean, p, 1), m, 1e-9);
    assert_same(kn_cols(var, p, 1), v, 1e-9);
    free(K.data), free(Ks.data), free(Kss.data), free(m.data), free(v.data);
    return lml;
}

/* Nothing is better anywhere else, the vertices included. */
static void check_maximum(const kn_spec *spec, kn_mat X, kn_mat Z, double best)
{
    kn_engine e;
    kn_box box;
    assert_ok(ctx, engine_over(ctx, spec, X, Z, P, 0, 1, &e));
    assert_ok(ctx, kn_box_new(ctx, &e.cov, &e.pairs, X, &box));
    for (int k = 0; k < 100; k++) {
        double x[KN_COV_OUTER], lml;
        for (int i = 0; i < kn_cov_n_outer(&e.cov); i++)
            x[i] = box.lower[i] + kn_rng_uniform(&rng) * (box.upper[i] - box.lower[i]);
        kn_cov_point point = kn_cov_point_at(&e.cov, x);
        for (int m = 0; k < e.cov.n && m < e.cov.n; m++)
            point.w[m] = m == k;
        assert_ok(ctx, kn_engine_nested(ctx, &e, &point, &lml, NULL));
        assert_true(lml <= best + 1e-3);
    }
    kn_engine_clear(&e);
}

static void check_fit(ptrdiff_t rank)
{
    ref_term ref[MOST_TERMS];
    kn_spec spec = spec_of((setting){N, 3, false, false}, ref);
    kn_mat X = ref_normal(&rng, N, F), Xs = ref_normal(&rng, NS, F), Z = smooth(X), own;
    kn_mat mean = ref_new(NS, P), var = ref_new(NS, P);
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = NAN, .length = NAN, .seed = 1};
    kn_found found;
    kn_engine e;
    kn_latent latent;
    double clamped = 0, lml = 0;
    spec.rank = rank;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, P, 0, 1, &e));
    assert_ok(ctx, kn_search(ctx, &e, &o, &found));
    assert_close(found.at.w[0] + found.at.w[1] + found.at.w[2], 1, 1e-14);
    assert_true(found.at.w[2] > found.at.w[1]); /* the columns of the second do not suffice */
    assert_ok(ctx, kn_mat_copy(ctx, X, &own));
    assert_ok(ctx, kn_fit_latent(ctx, &own, &e, &latent));
    assert_int_equal(latent.cell[0].R0.n_pivots, rank);
    assert_ok(ctx, kn_latent_predict(ctx, &latent, &(kn_newcomers){.X = Xs}, mean, var, &clamped));
    for (int p = 0; p < P; p++)
        lml += check_component(&latent, Z, p, ref, Xs, mean, var);
    assert_close(found.lml, lml, 1e-9);
    if (rank == 0) { /* few pivots move with the parameters, and the likelihood jumps */
        assert_int_equal(found.stop, KN_STOP_CONVERGED);
        assert_true(found.projected < 1e-4);
        check_maximum(&spec, X, Z, found.lml);
    }
    kn_latent_clear(&latent);
    kn_engine_clear(&e);
    free(X.data), free(Xs.data), free(Z.data), free(mean.data), free(var.data);
}

static void a_new_kernel_is_fitted_and_predicts_as_the_dense_oracle(void **state)
{
    (void)state;
    check_fit(0);
    check_fit(25);
}

/* One term holds all: the search ends at the vertex itself, where no coordinate gets. */
static void a_search_of_three_terms_reaches_a_vertex(void **state)
{
    (void)state;
    kn_spec spec = {0};
    kn_mat X = ref_normal(&rng, 60, 3), Z = ref_new(60, 1);
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = NAN, .length = NAN, .seed = 1};
    kn_found found;
    kn_engine e;
    for (int f = 0; f < 3; f++)
        assert_ok(ctx, kn_cov_add(ctx, &spec.sample, &kn_kernel_linear, f, 1));
    for (ptrdiff_t i = 0; i < 60; i++)
        Z.data[i] = 3 * kn_at(X, i, 1);
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 1, 0, 1, &e));
    assert_ok(ctx, kn_search(ctx, &e, &o, &found));
    assert_true(found.at.w[0] == 0 && found.at.w[1] == 1 && found.at.w[2] == 0);
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static void texts_are_read_in_the_order_of_theta(void **state)
{
    (void)state;
    char text[64], name[16];
    kn_cov cov, r0;
    assert_ok(ctx, kn_cov_parse(ctx, "iso+se+linear", F, &cov));
    assert_string_equal(kn_cov_text(&cov, text, sizeof text), "linear+se+iso");
    assert_int_equal(cov.n_theta, 4);
    assert_int_equal(cov.n_between, 2);
    assert_int_equal(cov.stats.n, 2);
    assert_true(cov.term[0].scale == F && cov.term[1].scale == 1);
    r0 = kn_cov_between(&cov);
    assert_string_equal(kn_cov_text(&r0, text, sizeof text), "linear+se");
    static const char *const names[] = {"R.lin", "R.se_amp", "R.se_len", "R.diag"};
    for (int i = 0; i < 4; i++) {
        kn_cov_param_name(&cov, 'R', i, name, sizeof name);
        assert_string_equal(name, names[i]);
    }
    static const char *const wrong[] = {"", "linear+", "+se", "Linear", "linear,se", "quadratic"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(ctx, kn_cov_parse(ctx, wrong[i], F, &cov), KN_ERR_ARGUMENT,
                       "kernels are sums of linear, se and iso");
}

static void terms_share_statistics_and_come_before_iso(void **state)
{
    (void)state;
    char name[16];
    kn_cov cov = cov_of("linear+se+iso", F);
    assert_ok(ctx, kn_cov_add(ctx, &cov, &rational_quadratic, 0, F)); /* the distances of se */
    assert_int_equal(cov.stats.n, 2);
    assert_ok(ctx, kn_cov_add(ctx, &cov, &kn_kernel_linear, 1, 2)); /* products of its own */
    assert_int_equal(cov.stats.n, 3);
    assert_true(cov.term[cov.n - 1].kernel == &kn_kernel_iso);
    assert_int_equal(cov.term[cov.n - 1].at, cov.n_theta - 1);
    kn_cov_param_name(&cov, 'R', cov.term[3].at, name, sizeof name);
    assert_string_equal(name, "R.lin2");
    assert_refused(ctx, kn_cov_add(ctx, &cov, &kn_kernel_linear, 1, 2), KN_ERR_ARGUMENT, "twice");
    assert_refused(ctx, kn_cov_add(ctx, &cov, &kn_kernel_iso, 0, 1), KN_ERR_ARGUMENT, "twice");
    for (int f = 0; cov.n < KN_COV_TERMS; f++)
        assert_ok(ctx, kn_cov_add(ctx, &cov, &kn_kernel_linear, 10 + f, 1));
    assert_refused(ctx, kn_cov_add(ctx, &cov, &kn_kernel_linear, 90, 1), KN_ERR_ARGUMENT,
                   "at most 16 terms");
}

static void task_covariances_know_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool spectral;
    } cases[] = {{"linear", true},     {"linear+iso", true}, {"iso", true},
                 {"linear+se", false}, {"se+iso", false},    {"se", false}};
    kn_mat Z = ref_normal(&rng, 4, 6), Q = ref_orthonormal(&rng, 6, 4), Qt = ref_new(4, 6);
    for (ptrdiff_t j = 0; j < 6; j++)
        for (ptrdiff_t i = 0; i < 4; i++)
            kn_col(Qt, j)[i] = (double)(i + 1) * kn_at(Q, j, i);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        kn_cov cov = cov_of(cases[k].text, KN_ALL_COLUMNS);
        kn_pairs pairs;
        assert_true(kn_cov_is_spectral(&cov) == cases[k].spectral);
        assert_ok(ctx, kn_pairs_within(ctx, Qt, &cov.stats, &pairs)); /* tasks at right angles */
        assert_true(kn_cov_is_diagonal(&cov, &pairs) == cases[k].spectral);
        kn_pairs_clear(&pairs);
        assert_ok(ctx, kn_pairs_within(ctx, Z, &cov.stats, &pairs));
        assert_true(kn_cov_is_diagonal(&cov, &pairs) == (strcmp(cases[k].text, "iso") == 0));
        kn_pairs_clear(&pairs);
    }
    free(Z.data), free(Q.data), free(Qt.data);
}

static void what_needs_two_terms_refuses_three(void **state)
{
    (void)state;
    ref_term ref[MOST_TERMS];
    kn_spec spec = spec_of((setting){20, 3, false, false}, ref);
    kn_mat X = ref_normal(&rng, 20, F), Z = ref_normal(&rng, 20, 2);
    kn_search_options o = {.limits = {.evals_left = -1}, .optimise = true, .rho = 0.5, .length = 1};
    kn_found found;
    kn_engine e;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 2, 0, 1, &e));
    assert_refused(ctx, kn_search(ctx, &e, &o, &found), KN_ERR_ARGUMENT, "two terms at most");
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

/* ---- the record of a model --------------------------------------------------------------------
 */

static kn_gp recorded(void)
{
    kn_gp gp = {.F = F, .s2 = 0.3, .pca = true, .spec = {.noise = KN_NOISE_ISO}};
    static const ptrdiff_t columns[][2] = {{0, F}, {2, 1}, {1, 3}};
    for (int k = 0; k < 3; k++)
        assert_ok(ctx, kn_cov_add(ctx, &gp.spec.sample, k < 2 ? &kn_kernel_linear : &kn_kernel_se,
                                  columns[k][0], columns[k][1]));
    assert_ok(ctx, kn_cov_add(ctx, &gp.spec.sample, &kn_kernel_iso, 0, F));
    gp.spec.task = cov_of("linear+iso", KN_ALL_COLUMNS);
    gp.latent.cell[0].R0.cov = kn_cov_between(&gp.spec.sample);
    gp.latent.cell[0].R0.m = 1;
    for (int i = 0; i < gp.latent.cell[0].R0.cov.n_theta; i++)
        gp.latent.cell[0].R0.theta[i] = 0.1 * (i + 1) + 1e-15;
    gp.latent.cell[0].R0.theta[1] = -INFINITY; /* a term that is off */
    for (int i = 0; i < 4; i++)
        gp.inside[i] = -0.2 * (i + 1);
    return gp;
}

static void terms_and_parameters_survive_the_record(void **state)
{
    (void)state;
    kn_gp gp = recorded(), back = {.F = F};
    json_t *j = kn_kernel_to_json(&gp);
    char *text = json_dumps(j, JSON_REAL_PRECISION(17));
    json_t *again = json_loads(text, 0, NULL);
    assert_ok(ctx, kn_kernel_from_json(ctx, "file", again, 2, &back));
    assert_memory_equal(&back.spec.sample, &gp.spec.sample, sizeof gp.spec.sample);
    assert_memory_equal(&back.spec.task, &gp.spec.task, sizeof gp.spec.task);
    assert_memory_equal(back.latent.cell[0].R0.theta, gp.latent.cell[0].R0.theta,
                        sizeof gp.latent.cell[0].R0.theta);
    assert_memory_equal(back.inside, gp.inside, sizeof gp.inside);
    assert_true(back.s2 == gp.s2 && back.pca);
    json_t *w = json_object_get(again, "weights");
    assert_int_equal(json_array_size(w), 3);
    double sum = 0;
    for (size_t k = 0; k < 3; k++)
        sum += json_number_value(json_array_get(w, k));
    assert_close(sum, 1, 1e-14);
    json_decref(j), json_decref(again), free(text);
}

static void a_damaged_record_is_refused(void **state)
{
    (void)state;
    kn_gp gp = recorded();
#define REFUSED(text, change)                                                                      \
    do {                                                                                           \
        json_t *j = kn_kernel_to_json(&gp), *t = json_array_get(json_object_get(j, "terms"), 0);   \
        kn_gp back = {.F = F};                                                                     \
        change;                                                                                    \
        assert_refused(ctx, kn_kernel_from_json(ctx, "file", j, 2, &back), KN_ERR_FORMAT, text);   \
        json_decref(j);                                                                            \
    } while (0)
    REFUSED("a term 'cubic' that this kronorm",
            json_object_set_new(t, "kernel", json_string("cubic")));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 0, F + 1)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", -1, 2)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 1, 0)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 2, 1))); /* twice */
    REFUSED("'kernel'", json_object_del(j, "task_terms"); (void)t);
    REFUSED("'kernel'", json_array_clear(json_object_get(j, "terms")); (void)t);
    REFUSED("'kernel'", json_object_set_new(j, "s2", json_real(-1)); (void)t);
}

/* Bits and arrays of fixed length, as 0.1 wrote them: se alone has its two numbers first. */
static void format_1_is_read(void **state)
{
    (void)state;
    kn_gp gp = {.F = F};
    char text[64];
    json_t *j = json_pack("{s:i s:i s:i s:[f n f] s:[f f f f f f f f f] s:f s:f s:b s:b}",
                          "sample_kernel", 6, "task_kernel", 5, "task_scale", 1, "r0", 0.25, 0.0,
                          "inside", 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, "iso", 0.5, "s2",
                          0.125, "pca", 1, "complement_component", 0);
    assert_ok(ctx, kn_kernel_from_json(ctx, "file", j, 1, &gp));
    assert_string_equal(kn_cov_text(&gp.spec.sample, text, sizeof text), "se+iso");
    assert_string_equal(kn_cov_text(&gp.latent.cell[0].R0.cov, text, sizeof text), "se");
    assert_string_equal(kn_cov_text(&gp.spec.task, text, sizeof text), "linear+iso");
    assert_true(gp.latent.cell[0].R0.theta[0] == 0.25 &&
                gp.latent.cell[0].R0.theta[1] == -INFINITY);
    assert_true(gp.inside[0] == 1 && gp.inside[3] == 4 && gp.latent.iso == 0.5);
    assert_true(gp.spec.task_scale == KN_TASK_SCALE_SQRTN && gp.pca);
    json_object_set_new(j, "sample_kernel", json_integer(8));
    assert_refused(ctx, kn_kernel_from_json(ctx, "file", j, 1, &gp), KN_ERR_FORMAT, "'kernel'");
    json_object_set_new(j, "sample_kernel", json_integer(4)); /* iso alone: no R0 */
    assert_refused(ctx, kn_kernel_from_json(ctx, "file", j, 1, &gp), KN_ERR_FORMAT, "'kernel'");
    json_decref(j);
}

int main(void)
{
    ctx = kn_ctx_new();
    kn_rng_init(&rng, 42, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_match_one_pair_at_a_time),
        cmocka_unit_test(pairs_of_some_samples_are_bit_for_bit_their_own),
        cmocka_unit_test(the_median_distance_is_that_of_a_sort),
        cmocka_unit_test(contraction_matches_central_differences),
        cmocka_unit_test(weights_are_a_softmax_and_lead_back),
        cmocka_unit_test(two_terms_are_rho_and_length),
        cmocka_unit_test(nested_gradient_matches_central_differences),
        cmocka_unit_test(joint_gradient_matches_central_differences),
        cmocka_unit_test(all_pivots_are_the_dense_likelihood),
        cmocka_unit_test(a_new_kernel_is_fitted_and_predicts_as_the_dense_oracle),
        cmocka_unit_test(a_search_of_three_terms_reaches_a_vertex),
        cmocka_unit_test(texts_are_read_in_the_order_of_theta),
        cmocka_unit_test(terms_share_statistics_and_come_before_iso),
        cmocka_unit_test(task_covariances_know_what_they_are),
        cmocka_unit_test(what_needs_two_terms_refuses_three),
        cmocka_unit_test(terms_and_parameters_survive_the_record),
        cmocka_unit_test(a_damaged_record_is_refused),
        cmocka_unit_test(format_1_is_read),
    };
    int failed = cmocka_run_group_tests_name("cov", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
