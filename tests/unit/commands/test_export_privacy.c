/* A model to give away: nobody is in it. */
#include "support/exports.h"

#include "cov/synthetic_points.h"
#include "gp/method.h"
#include "model/file/file.h"
#include "stats/quantile_summary.h"
#include "stats/sort_select.h"

enum { MOST_FLOATS = 32 };

typedef struct haystack {
    const unsigned char *bytes;
    size_t n;
    int n_floats; /* arrays of float32, from and to */
    size_t floats[MOST_FLOATS][2];
} haystack;

static haystack haystack_of(const void *bytes, size_t n)
{
    haystack h = {.bytes = bytes, .n = n};
    uint64_t length;
    const char *name;
    json_t *one;
    memcpy(&length, bytes, sizeof length);
    json_t *head = json_loadb((const char *)bytes + sizeof length, (size_t)length, 0, NULL);
    size_t first = sizeof length + (size_t)length;
    assert_non_null(head);
    json_object_foreach(head, name, one)
    {
        const char *type = json_string_value(json_object_get(one, "dtype"));
        json_t *at = json_object_get(one, "data_offsets");
        if (!type || strcmp(type, "F32") != 0)
            continue;
        assert_true(h.n_floats < MOST_FLOATS);
        for (size_t k = 0; k < 2; k++)
            h.floats[h.n_floats][k] = first + (size_t)json_integer_value(json_array_get(at, k));
        h.n_floats++;
    }
    json_decref(head);
    return h;
}

static bool holds(haystack h, const void *needle, size_t n)
{
    for (const unsigned char *at = h.bytes, *end = h.bytes + h.n; (size_t)(end - at) >= n; at++) {
        at = memchr(at, *(const unsigned char *)needle, (size_t)(end - at) - n + 1);
        if (!at)
            return false;
        if (memcmp(at, needle, n) == 0)
            return true;
    }
    return false;
}

/* Among arrays of floats only: the upper half of a double is often some float of a thousand. */
static bool holds_float(const haystack *h, float f)
{
    for (int k = 0; k < h->n_floats; k++)
        for (size_t at = h->floats[k][0]; at < h->floats[k][1]; at += sizeof f)
            if (memcmp(h->bytes + at, &f, sizeof f) == 0)
                return true;
    return false;
}

/* As a double or a text, at any byte, or as a float. */
static void is_absent(haystack h, double x, const char *what)
{
    char text[40];
    float f = (float)x;
    int n = snprintf(text, sizeof text, "%.17g", x);
    if (!isfinite(x) || x == 0 || x == floor(x)) /* what everybody may have */
        return;
    if (holds(h, &x, sizeof x) || holds_float(&h, f) || (n > 8 && holds(h, text, (size_t)n)))
        fail_msg("%s %.17g is in the file", what, x);
}

static void are_absent(haystack h, const double *x, ptrdiff_t n, const char *what)
{
    for (ptrdiff_t i = 0; x && i < n; i++)
        is_absent(h, x[i], what);
}

static void search(const people *p, const kn_model *m, haystack h)
{
    const kn_reference *r = &m->reference;
    const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
    for (ptrdiff_t c = 0; c < p->numbers; c++) {
        are_absent(h, kn_col(p->X, c), p->n, "a covariate");
        are_absent(h, kn_col(m->gp.latent.X, c), p->n, "a standardised covariate");
    }
    for (ptrdiff_t j = 0; j < T; j++)
        are_absent(h, kn_col(p->Y, j), p->n, "a response");
    if (m->gp.method->components) {
        kn_mat U = ref_new(p->n, R0->m);
        if (kn_decomp_is_low(R0))
            assert_ok(ctx, kn_decomp_vectors(ctx, R0, NULL, m->gp.latent.X, U));
        else
            kn_mat_set(U, R0->U);
        for (ptrdiff_t k = 0; k < R0->m; k++)
            are_absent(h, kn_col(U, k), p->n, "an entry of U");
        free(U.data);
    }
    are_absent(h, r->statistic, r->n, "a statistic");
    are_absent(h, r->mean_z, r->n, "a mean z");
    are_absent(h, r->extrapolation, r->n, "an extrapolation");
    are_absent(h, r->y_sum, r->n, "a sum of responses");
    are_absent(h, r->deviance.ref, r->n, "a deviance");
    are_absent(h, r->deviance_noise.ref, r->n, "a deviance by noise");
    for (ptrdiff_t i = 0; i < r->n * m->gp.T; i++)
        is_absent(h, (double)r->z[i], "a z");
}

static void nobody_is_in_the_file(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kn_export_info info;
        void *bytes;
        size_t n;
        people p = people_new(60, k == 1 ? 2 : 1, true);
        by_design(&p);
        p.s.method = k == 2 ? "stgpr" : "smtgpr";
        p.s.rank = k == 1 ? -1 : 0;
        kn_model *m = fit(&p);
        assert_non_null(m->reference.z);
        /* what is searched for is there in the model itself */
        assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
        haystack whole = haystack_of(bytes, n);
        assert_true(holds(whole, &m->reference.statistic[3], sizeof(double)));
        assert_true(holds(whole, &m->gp.latent.X.data[3], sizeof(double)));
        assert_true(k != 2 || whole.n_floats > 0); /* alpha */
        kn_bytes_free(bytes);
        kn_model *shared = share(m, &info);
        assert_ok(ctx, kn_model_to_bytes(ctx, shared, &bytes, &n));
        search(&p, m, haystack_of(bytes, n));
        kn_bytes_free(bytes);
        kn_model_free(shared), kn_model_free(m);
        people_free(&p);
    }
}

static void ranges_are_rounded_outward(void **state)
{
    (void)state;
    double low = 18.37, high = 88.91;
    kn_round_outward(&low, &high);
    assert_close(low, 18, 1e-12);
    assert_close(high, 89, 1e-12);
    low = -0.00213, high = 0.00871;
    kn_round_outward(&low, &high);
    assert_close(low, -0.0022, 1e-12);
    assert_close(high, 0.0088, 1e-12);
    low = high = 3.3;
    kn_round_outward(&low, &high);
    assert_true(low == 3.3 && high == 3.3);
    for (int k = 0; k < 1000; k++) {
        double a = 1000 * kn_rng_normal(&rng), b = a + exp(5 * kn_rng_normal(&rng)), x = a, y = b;
        kn_round_outward(&x, &y);
        assert_true(x <= a && y >= b && a - x <= 0.02 * (b - a) && y - b <= 0.02 * (b - a));
    }
}

/* Of sites that a model was adapted to: twentieths of what the model says of training. */
static void ranges_of_controls_are_not_theirs(void **state)
{
    (void)state;
    kn_design_column column[2] = {{.min = 20, .max = 80}, {.min = 3, .max = 3, .constant = true}};
    kn_design d = {.C = 2, .column = column};
    double low = 33.37, high = 88.91;
    kn_adapted_round(&d, 0, &low, &high);
    assert_close(low, 32, 1e-12);
    assert_close(high, 89, 1e-12);
    low = high = 1.57;
    kn_adapted_round(&d, 1, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* ---- quantiles --------------------------------------------------------------------------------
 */

/* How wrong ranks are, in people: of values between, and of those themselves. */
static ptrdiff_t rank_error(const double *x, ptrdiff_t n, bool whole)
{
    kn_quantiles q;
    ptrdiff_t worst = 0;
    double *s = calloc((size_t)n, sizeof *s), *e = calloc((size_t)n, sizeof *e);
    memcpy(s, x, (size_t)n * sizeof *s);
    kn_sort(s, n);
    assert_ok(ctx, kn_quantiles_new(ctx, x, n, &q));
    assert_int_equal(q.n, n);
    assert_true(q.K == kn_quantiles_count(n) && q.K <= KN_QUANTILES);
    kn_quantiles_spread(&q, whole, e);
    for (ptrdiff_t i = 1; i < n; i++)
        assert_true(e[i] >= e[i - 1]);
    for (ptrdiff_t i = 0; i < 4 * n; i++) {
        double v = i < n ? x[i] : whole ? (double)(i % 30) : 4 * kn_rng_normal(&rng);
        ptrdiff_t d = kn_count_below(s, n, v, 0) - kn_count_below(e, n, v, 0);
        worst = labs(d) > worst ? labs(d) : worst;
    }
    for (ptrdiff_t k = 0; k < q.K && !whole; k++)
        for (ptrdiff_t i = 0; i < n; i++)
            assert_true(q.knot[k] != x[i]);
    kn_quantiles_clear(&q);
    free(s), free(e);
    return worst;
}

static void ranks_among_quantiles_are_right_to_one_interval(void **state)
{
    (void)state;
    const ptrdiff_t sizes[] = {2, 3, 40, 200, 201, 202, 403, 1000, 2500};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ptrdiff_t n = sizes[k], K = kn_quantiles_count(n), step = (n + K) / (K + 1);
        for (ptrdiff_t i = 1; i < K; i++) /* no value is part of two knots */
            assert_true((i + 1) * n / (K + 1) - i * n / (K + 1) >= 2);
        assert_true(n < 6 || step <= 3 || K == KN_QUANTILES);
        double *x = calloc((size_t)n, sizeof *x);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = exp(kn_rng_normal(&rng));
        assert_true(rank_error(x, n, false) <= step);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = floor(3 * exp(kn_rng_normal(&rng)));
        assert_true(rank_error(x, n, true) <= step);
        free(x);
    }
}

static void who_has_no_value_is_in_no_quantile(void **state)
{
    (void)state;
    double x[8] = {3, NAN, 1, 2, NAN, 5, 9, 7}, e[8];
    kn_quantiles q;
    assert_ok(ctx, kn_quantiles_new(ctx, x, 8, &q));
    assert_int_equal(q.n, 6);
    assert_true(q.K == 2 && q.knot[0] == 2.5 && q.knot[1] == 6);
    kn_quantiles_spread(&q, false, e);
    assert_true(e[0] == -0.125 && e[1] == 1.625 && e[2] == 3.375 && e[5] == 8.625);
    kn_quantiles_clear(&q);
    assert_ok(ctx, kn_quantiles_new(ctx, x, 1, &q)); /* of one person nothing may be said */
    assert_true(q.n == 1 && q.K == 0);
    kn_quantiles_spread(&q, false, e);
    assert_true(isnan(e[0]));
    kn_quantiles_clear(&q);
}

TEST_PROGRAM(commands_export_privacy)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 8, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_in_the_file),
        cmocka_unit_test(ranges_are_rounded_outward),
        cmocka_unit_test(ranges_of_controls_are_not_theirs),
        cmocka_unit_test(ranks_among_quantiles_are_right_to_one_interval),
        cmocka_unit_test(who_has_no_value_is_in_no_quantile),
    };
    int failed = cmocka_run_group_tests_name("export_nobody", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
