#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "stats/gev.h"

static kn_ctx *ctx;

static void distribution_matches_forty_digit_table(void **state)
{
    (void)state;
    kn_mat t = golden_matrix("normative/gevd", "table");
    assert_int_equal(t.cols, 6);
    for (ptrdiff_t i = 0; i < t.rows; i++) {
        kn_gev g = {kn_at(t, i, 0), kn_at(t, i, 1), kn_at(t, i, 2)};
        double x = kn_at(t, i, 3), logpdf = kn_at(t, i, 4), cdf = kn_at(t, i, 5);
        if (isinf(logpdf)) {
            assert_true(kn_gev_log_pdf(g, x) == -INFINITY);
            assert_true(kn_gev_pdf(g, x) == 0);
        } else {
            assert_close(kn_gev_log_pdf(g, x), logpdf, 1e-12);
            assert_close(kn_gev_pdf(g, x) / exp(logpdf), 1, 1e-12);
        }
        if (cdf > 0) {
            assert_close(kn_gev_cdf(g, x) / cdf, 1, 1e-12);
        } else {
            assert_true(kn_gev_cdf(g, x) == 0);
        }
        assert_close(kn_gev_upper(g, x), 1 - cdf, 1e-12);
    }
    free(t.data);
}

/* Values by 50-digit arithmetic: 1 - exp(-(1 + xi u)^(-1/xi)). */
static void upper_tail_does_not_cancel(void **state)
{
    (void)state;
    static const struct {
        double xi, u, upper;
    } far[] = {
        {0, 50, 1.9287498479639178e-22},     {0, 700, 9.859676543759770e-305},
        {1e-12, 50, 1.9287498503748551e-22}, {-1e-12, 50, 1.9287498455529806e-22},
        {0.25, 1e6, 2.5599590404095969e-22}, {-0.25, 3.999, 3.9062499999982715e-15},
    };
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        assert_close(kn_gev_upper((kn_gev){far[i].xi, 0, 1}, far[i].u) / far[i].upper, 1, 1e-11);
    kn_gev bounded = {-0.5, 2, 1}, heavy = {0.5, 2, 1}, gumbel = {0, 2, 1};
    assert_true(kn_gev_cdf(bounded, 4) == 1 && kn_gev_upper(bounded, 5) == 0);
    assert_true(kn_gev_cdf(heavy, 0) == 0 && kn_gev_upper(heavy, -1) == 1);
    assert_true(kn_gev_upper(gumbel, INFINITY) == 0 && kn_gev_cdf(gumbel, -INFINITY) == 0);
    assert_true(isnan(kn_gev_cdf(gumbel, NAN)) && isnan(kn_gev_upper(heavy, NAN)));
}

static void quantile_inverts_the_distribution(void **state)
{
    (void)state;
    static const double SHAPES[] = {-0.9, -0.3, -1e-9, 0, 1e-9, 0.2, 1.5};
    static const double P[] = {1e-10, 0.01, 0.5, 0.95, 0.999999};
    for (size_t s = 0; s < 7; s++)
        for (size_t k = 0; k < 5; k++) {
            kn_gev g = {SHAPES[s], -1, 2};
            assert_close(kn_gev_cdf(g, kn_gev_quantile(g, P[k])) / P[k], 1, 1e-11);
            assert_close(kn_gev_upper(g, kn_gev_quantile_upper(g, P[k])), P[k], 1e-11);
        }
    kn_gev bounded = {-0.5, 2, 1}, heavy = {0.5, 2, 1};
    assert_close(kn_gev_quantile(bounded, 1), 4, 1e-15);
    assert_close(kn_gev_quantile(heavy, 0), 0, 1e-15);
    assert_true(isinf(kn_gev_quantile(heavy, 1)) && isinf(kn_gev_quantile(bounded, 0)));
    assert_true(isnan(kn_gev_quantile(heavy, 1.1)) && isnan(kn_gev_quantile_upper(heavy, -0.1)));
}

static void expect_fit(const kn_gev_estimate *e, json_t *expected)
{
    assert_close(e->gev.xi, golden_number(expected, "xi"), 1e-6);
    assert_close(e->gev.mu, golden_number(expected, "mu"), 1e-6);
    assert_close(e->gev.sigma, golden_number(expected, "sigma"), 1e-6);
    if (!(fabs(e->nll - golden_number(expected, "nll")) <= 1e-9))
        fail_msg("nll %.15g, expected %.15g", e->nll, golden_number(expected, "nll"));
    assert_false(e->at_bound);
    assert_true(e->excess < 1e-12);
}

static void fit_matches_golden_samples(void **state)
{
    (void)state;
    json_t *all = golden_json("normative/gevd", "expected");
    for (int s = 1; s <= 4; s++) {
        char name[32];
        snprintf(name, sizeof name, "gevd_sample%d", s);
        kn_mat x = golden_matrix("normative/gevd", name);
        json_t *expected = json_object_get(all, name);
        kn_gev_estimate e;
        assert_ok(ctx, kn_gev_fit(ctx, x.data, x.rows, &e));
        expect_fit(&e, expected);
        kn_mat at = golden_column(expected, "x"), cdf = golden_column(expected, "cdf");
        for (ptrdiff_t i = 0; i < at.rows; i++)
            assert_close(kn_gev_cdf(e.gev, at.data[i]), cdf.data[i], 1e-6);
        free(x.data), free(at.data), free(cdf.data);
    }
    json_decref(all);
}

static void fit_matches_golden_maps(void **state)
{
    (void)state;
    json_t *all = golden_json("normative/map", "expected"), *each;
    const char *key;
    json_object_foreach(json_object_get(all, "stat"), key, each)
    {
        kn_mat value = golden_column(each, "value");
        static const char *const which[] = {"gevd_normal_rows", "gevd_all_rows"};
        for (int w = 0; w < 2; w++) {
            json_t *expected = json_object_get(each, which[w]);
            kn_gev_estimate e;
            assert_ok(ctx, kn_gev_fit(ctx, value.data, w ? 80 : 40, &e));
            expect_fit(&e, expected);
            kn_mat p = golden_column(expected, "probability");
            for (ptrdiff_t i = 0; i < p.rows; i++)
                assert_close(kn_gev_cdf(e.gev, value.data[i]), p.data[i], 1e-6);
            free(p.data);
        }
        free(value.data);
    }
    json_decref(all);
}

static double nll_of(const double *x, ptrdiff_t n, kn_gev g)
{
    double nll = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        nll -= kn_gev_log_pdf(g, x[i]);
    return nll;
}

/* Every shape and size: a local maximum (no nearby point is better), found whatever the units, and
 * at least as good as the truth that made the sample. */
static void fit_converges_for_every_shape_and_size(void **state)
{
    (void)state;
    static const double SHAPES[] = {-0.7, -0.4, -0.1, -1e-6, 0, 1e-6, 0.1, 0.5, 1, 2};
    static const ptrdiff_t SIZES[] = {10, 11, 20, 100, 1000};
    kn_rng rng;
    ref_rng_init(&rng, 5, 0);
    int interior = 0, total = 0;
    for (size_t s = 0; s < 10; s++)
        for (size_t k = 0; k < 5; k++)
            for (int repeat = 0; repeat < (SIZES[k] > 100 ? 2 : 10); repeat++) {
                ptrdiff_t n = SIZES[k];
                double x[1000], far[1000];
                kn_gev truth = {SHAPES[s], 3, 0.2};
                kn_gev_estimate e, f;
                for (ptrdiff_t i = 0; i < n; i++) {
                    x[i] = kn_gev_quantile(truth, kn_rng_uniform(&rng));
                    far[i] = 1e8 + 1e6 * x[i];
                }
                assert_ok(ctx, kn_gev_fit(ctx, x, n, &e));
                total++;
                if (e.at_bound) {
                    assert_true(n <= 20);
                    continue;
                }
                interior++;
                assert_true(e.gev.xi > -1 && e.gev.sigma > 0);
                assert_close(e.nll, nll_of(x, n, e.gev), 1e-9);
                if (truth.xi > -0.5 && n >= 20)
                    assert_true(e.nll <= nll_of(x, n, truth) + 1e-9);
                for (int i = 0; i < 6; i++) {
                    double h = 1e-4 * (i % 2 ? 1 : -1);
                    kn_gev q = e.gev;
                    q.xi += i / 2 == 0 ? h : 0;
                    q.mu += i / 2 == 1 ? h * q.sigma : 0;
                    q.sigma *= i / 2 == 2 ? 1 + h : 1;
                    assert_true(nll_of(x, n, q) > e.nll - 1e-11 * fabs(e.nll));
                }
                assert_ok(ctx, kn_gev_fit(ctx, far, n, &f));
                assert_close(f.gev.xi, e.gev.xi, 1e-5);
                assert_close(f.gev.sigma / (1e6 * e.gev.sigma), 1, 1e-5);
            }
    assert_true(interior > total * 8 / 10);
}

/* Observed information against central differences of the log density. */
static void standard_errors_invert_the_observed_information(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 6, 0);
    for (int s = 0; s < 4; s++) {
        enum { N = 80 };
        double x[N];
        kn_gev truth = {s == 0 ? -0.3 : s == 1 ? 0 : s == 2 ? 1e-3 : 0.3, 2, 0.5};
        for (int i = 0; i < N; i++)
            x[i] = kn_gev_quantile(truth, kn_rng_uniform(&rng));
        kn_gev_estimate e;
        assert_ok(ctx, kn_gev_fit(ctx, x, N, &e));
        kn_mat H = ref_new(3, 3), I = ref_new(3, 3);
        const double h = 1e-3;
        for (int a = 0; a < 3; a++) {
            kn_col(I, a)[a] = 1;
            for (int b = 0; b < 3; b++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) {
                    double d[3] = {0};
                    d[a] += k & 1 ? h : -h;
                    d[b] += k & 2 ? h : -h;
                    kn_gev q = {e.gev.xi + d[0], e.gev.mu + d[1], e.gev.sigma + d[2]};
                    sum += ((k & 1) == (k >> 1) ? 1 : -1) * nll_of(x, N, q);
                }
                kn_col(H, a)[b] = sum / (4 * h * h);
            }
        }
        ref_solve(H, I);
        assert_close(e.se.xi / sqrt(kn_at(I, 0, 0)), 1, 1e-3);
        assert_close(e.se.mu / sqrt(kn_at(I, 1, 1)), 1, 1e-3);
        assert_close(e.se.sigma / sqrt(kn_at(I, 2, 2)), 1, 1e-3);
        free(H.data), free(I.data);
    }
}

static void a_sample_piled_up_at_its_end_has_the_bound_shape_minus_one(void **state)
{
    (void)state;
    double x[40];
    for (int i = 0; i < 40; i++) /* reflected exponential, twice steeper: xi = -2 */
        x[i] = 5 - pow(-log((i + 0.5) / 40), 2);
    kn_gev_estimate e;
    assert_ok(ctx, kn_gev_fit(ctx, x, 40, &e));
    assert_true(e.at_bound);
    double mean = 0, limit = x[39];
    for (int i = 0; i < 40; i++)
        mean += (limit - x[i]) / 40;
    assert_close(e.gev.xi, -1, 0);
    assert_close(e.gev.sigma, mean, 1e-12);
    assert_close(e.gev.mu + e.gev.sigma, limit, 1e-12);
    assert_close(e.nll, 40 * (log(mean) + 1), 1e-12);
    assert_true(isnan(e.se.xi));
}

/* Three values crowd the smallest: the likelihood rises to infinite shape. */
static void a_sample_piled_up_at_its_start_has_the_bound_shape_one(void **state)
{
    (void)state;
    double x[10] = {0, 8.66e-4, 1.73e-3, .05273, .282689, .317059, .329039, .404664, .471788, 1};
    kn_gev_estimate e;
    assert_ok(ctx, kn_gev_fit(ctx, x, 10, &e));
    assert_true(e.at_bound && isnan(e.se.xi));
    assert_close(e.gev.xi, 1, 1e-14);
    assert_close(e.nll, nll_of(x, 10, e.gev), 1e-12);
    for (int i = 0; i < 4; i++) { /* the best of its line ... */
        kn_gev q = e.gev;
        *(i / 2 ? &q.mu : &q.sigma) *= i % 2 ? 1.001 : 0.999;
        assert_true(nll_of(x, 10, q) > e.nll);
    }
    kn_gev q = {1.01, e.gev.mu, e.gev.sigma}; /* ... which is no maximum of the whole */
    assert_true(nll_of(x, 10, q) < e.nll);
}

static void no_standard_errors_where_the_likelihood_is_not_regular(void **state)
{
    (void)state;
    double x[200];
    for (int i = 0; i < 200; i++)
        x[i] = kn_gev_quantile((kn_gev){-0.75, 0, 1}, (i + 0.5) / 200);
    kn_gev_estimate e;
    assert_ok(ctx, kn_gev_fit(ctx, x, 200, &e));
    assert_true(e.gev.xi < -0.5 && !e.at_bound && isnan(e.se.xi));
}

/* Statistics rounded to one digit, or capped: still a fit or a clear refusal, never NaN. */
static void ties_are_survived(void **state)
{
    (void)state;
    double x[20];
    kn_gev_estimate e;
    for (int i = 0; i < 20; i++)
        x[i] = i < 8 ? i : 9; /* the median is the largest */
    assert_ok(ctx, kn_gev_fit(ctx, x, 20, &e));
    assert_true(e.at_bound && e.gev.xi == -1 && isfinite(e.nll));
    for (int i = 0; i < 20; i++)
        x[i] = floor(10 * kn_gev_quantile((kn_gev){0.1, 2, 0.5}, (i + 0.5) / 20)) / 10;
    assert_ok(ctx, kn_gev_fit(ctx, x, 20, &e));
    assert_true(!e.at_bound && e.excess < 1e-9);
}

static void samples_without_information_are_refused(void **state)
{
    (void)state;
    double x[20];
    kn_gev_estimate e;
    for (int i = 0; i < 20; i++)
        x[i] = i;
    assert_refused(ctx, kn_gev_fit(ctx, x, 9, &e), KN_ERR_DATA,
                   "at least 10 reference participants");
    assert_refused(ctx, kn_gev_fit(ctx, x, 0, &e), KN_ERR_DATA, "there are 0");
    x[4] = NAN;
    assert_refused(ctx, kn_gev_fit(ctx, x, 20, &e), KN_ERR_DATA, "participant 5 is not finite");
    for (int i = 0; i < 20; i++)
        x[i] = 2.5;
    assert_refused(ctx, kn_gev_fit(ctx, x, 20, &e), KN_ERR_DATA, "participants are equal");
    x[19] = 3;
    assert_refused(ctx, kn_gev_fit(ctx, x, 20, &e), KN_ERR_NUMERIC,
                   "too many of the 20 statistics are equal");
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(stats_gev_fit, open_fixture, close_fixture)
{
    double x[20];
    kn_gev_estimate e;
    for (int i = 0; i < 20; i++)
        x[i] = i * i;
    for (long k = 1; k <= 2; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_gev_fit(ctx, x, 20, &e), KN_ERR_MEMORY);
    }
    kn_fail_allocation(ctx, 0);
}

TEST_PROGRAM(stats_gev)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distribution_matches_forty_digit_table),
        cmocka_unit_test(upper_tail_does_not_cancel),
        cmocka_unit_test(quantile_inverts_the_distribution),
        cmocka_unit_test(fit_matches_golden_samples),
        cmocka_unit_test(fit_matches_golden_maps),
        cmocka_unit_test(fit_converges_for_every_shape_and_size),
        cmocka_unit_test(standard_errors_invert_the_observed_information),
        cmocka_unit_test(a_sample_piled_up_at_its_end_has_the_bound_shape_minus_one),
        cmocka_unit_test(a_sample_piled_up_at_its_start_has_the_bound_shape_one),
        cmocka_unit_test(no_standard_errors_where_the_likelihood_is_not_regular),
        cmocka_unit_test(ties_are_survived),
        cmocka_unit_test(samples_without_information_are_refused),
    };
    return cmocka_run_group_tests_name("gev", tests, open_fixture, close_fixture);
}
