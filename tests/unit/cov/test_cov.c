/* Covariances as lists of terms: a kernel that the library has never heard of goes through
 * everything that a kernel goes through. Here matrices, weights and lists. */
#include "support/own_kernels.h"

#include "cov/spectral_task.h"
#include "gp/methods/fit_steps.h"

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
        for (int n = 1; n <= MAX_TERMS; n++)
            for (int from = 0; from + n <= MAX_TERMS; from++) {
                ref_term ref[MAX_TERMS];
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
    ref_term ref[MAX_TERMS];
    kn_cov cov = terms(0, MAX_TERMS, ref);
    kn_mat X = ref_normal(&rng, ALL, F), few = ref_new(SOME, F);
    ptrdiff_t index[SOME];
    kn_pairs all, some, own;
    for (ptrdiff_t i = 0; i < SOME; i++)
        index[i] = i + i / 2;
    kn_mat_rows(X, index, few);
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &all));
    assert_ok(ctx, kn_pairs_within(ctx, few, &cov.stats, &own));
    assert_ok(ctx, kn_pairs_select(ctx, &all, index, few, &cov.stats, &some));
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
        for (int n = 1; n <= MAX_TERMS; n++) {
            ref_term ref[MAX_TERMS];
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
    for (int n = 1; n <= MAX_TERMS; n++) {
        ref_term ref[MAX_TERMS];
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
    ref_term ref[MAX_TERMS];
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
    ref_term ref[MAX_TERMS];
    kn_spec spec = spec_of((setting){20, 3, false, false}, ref);
    kn_mat X = ref_normal(&rng, 20, F), Z = ref_normal(&rng, 20, 2);
    kn_search_options o = {.limits = {.evals_left = -1}, .optimise = true, .rho = 0.5, .length = 1};
    kn_search_result found;
    kn_engine e;
    assert_ok(ctx, engine_over(ctx, &spec, X, Z, 2, 0, 1, &e));
    assert_refused(ctx, kn_search(ctx, &e, &o, &found), KN_ERR_ARGUMENT, "at most two terms");
    kn_engine_clear(&e);
    free(X.data), free(Z.data);
}

TEST_PROGRAM(cov)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 42, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_match_one_pair_at_a_time),
        cmocka_unit_test(pairs_of_some_samples_are_bit_for_bit_their_own),
        cmocka_unit_test(the_median_distance_is_that_of_a_sort),
        cmocka_unit_test(contraction_matches_central_differences),
        cmocka_unit_test(weights_are_a_softmax_and_lead_back),
        cmocka_unit_test(two_terms_are_rho_and_length),
        cmocka_unit_test(texts_are_read_in_the_order_of_theta),
        cmocka_unit_test(terms_share_statistics_and_come_before_iso),
        cmocka_unit_test(task_covariances_know_what_they_are),
        cmocka_unit_test(what_needs_two_terms_refuses_three),
    };
    int failed = cmocka_run_group_tests_name("cov", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
