/* A model to give away: no participant is in it. */
#include "support/exports.h"

#include "cov/lowrank.h"
#include "cov/synthetic_points.h"
#include "gp/limit_leverage.h"
#include "gp/method.h"
#include "model/file/file.h"
#include "stats/order_statistics.h"

enum { MAX_FLOATS = 32 };

typedef struct haystack {
    const unsigned char *bytes;
    size_t n;
    int n_floats; /* arrays of float32, from and to */
    size_t floats[MAX_FLOATS][2];
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
        assert_true(h.n_floats < MAX_FLOATS);
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
    if (!isfinite(x) || x == 0 || x == floor(x)) /* a value that any participant may have */
        return;
    if (holds(h, &x, sizeof x) || holds_float(&h, f) || (n > 8 && holds(h, text, (size_t)n)))
        fail_msg("%s %.17g is in the file", what, x);
}

static void are_absent(haystack h, const double *x, ptrdiff_t n, const char *what)
{
    for (ptrdiff_t i = 0; x && i < n; i++)
        is_absent(h, x[i], what);
}

static void search(const participants *p, const kn_model *m, haystack h)
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

static void the_file_holds_no_participant(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kn_export_info info;
        void *bytes;
        size_t n;
        participants p = participants_new(60, k == 1 ? 2 : 1, true);
        by_design(&p);
        p.s.method = k == 2 ? "stgpr" : "smtgpr";
        p.s.components = k == 2 ? KN_COMPONENTS_AUTO : 5;
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
        participants_free(&p);
    }
}

/* ---- maps of participants with unusual covariates ----------------------------------------------
 */

enum { UNUSUAL = 4, MANY = 500 }; /* participants far from the others; responses */
static const double LIMIT = 0.15;

/* Participants of 20 to 80 and some far beyond; responses with a trend over the first number (in
 * `trend`, n x responses) and independent noise of variance 1. */
static participants with_unusual(ptrdiff_t n, ptrdiff_t responses, bool levels, kn_mat *trend)
{
    participants p = participants_new(n, 1, levels);
    by_design(&p);
    free(p.Y.data);
    p.Y = ref_normal(&rng, n, responses);
    *trend = ref_new(n, responses);
    for (ptrdiff_t i = 0; i < UNUSUAL; i++)
        kn_col(p.X, 0)[i] = i % 2 ? 110 + 20 * (double)i : -10 - 20 * (double)i;
    for (ptrdiff_t j = 0; j < responses; j++)
        for (ptrdiff_t i = 0; i < n; i++) {
            double x = (kn_at(p.X, i, 0) - 50) / 17;
            kn_col(*trend, j)[i] = (j % 2 ? 1 : -1) * (0.5 * x + 1.5 * sin(2.5 * x));
            kn_col(p.Y, j)[i] += kn_at(*trend, i, j);
        }
    return p;
}

static const kn_latent_cell *cell_of(const kn_model *m)
{
    return &m->gp.latent.cell[0];
}

/* W = R0 U diag(1/r), n x m, at the rows X. */
static kn_mat rows_of(const kn_decomp *R0, kn_mat X)
{
    kn_mat F = ref_new(X.rows, R0->map.rows), W = ref_new(X.rows, R0->m);
    kn_decomp_cross(ctx, R0, X, F, W);
    for (ptrdiff_t k = 0; k < R0->m; k++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(W, k)[i] /= R0->r[k];
    free(F.data);
    return W;
}

/* What somebody who knows the covariates computes from the file: M (n x m) = W (W'W)^-1 with
 * W = R0 U diag(1/r); row i of M A is the estimate of participant i, with noise of the variance
 * |row i of M|^2 from the others. With more than 0, W'W + ridge I is inverted. */
static kn_mat weights_of(const kn_latent_cell *cell, kn_mat X, double ridge)
{
    const kn_decomp *R0 = &cell->R0;
    kn_mat W = rows_of(R0, X);
    kn_mat G = ref_mul(1, W, 0, W), M_t = ref_new(R0->m, X.rows);
    for (ptrdiff_t k = 0; k < R0->m; k++) {
        kn_col(G, k)[k] += ridge;
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(M_t, i)[k] = kn_at(W, i, k);
    }
    ref_solve(G, M_t);
    free(W.data), free(G.data);
    return M_t; /* m x n */
}

static double correlation(const double *a, const double *b, ptrdiff_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        ab += a[j] * b[j];
        aa += a[j] * a[j];
        bb += b[j] * b[j];
    }
    return aa > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The coordinates Z = Y B (P x n) of standardised maps; trend: of the trend alone. */
static kn_mat coordinates(const kn_model *m, kn_mat Y)
{
    kn_mat Z = ref_new(m->gp.P, Y.rows);
    for (ptrdiff_t i = 0; i < Y.rows; i++)
        for (ptrdiff_t j = 0; j < Y.cols; j++)
            for (ptrdiff_t k = 0; k < m->gp.P; k++)
                kn_col(Z, i)[k] +=
                    (kn_at(Y, i, j) - m->y.mean[j]) / m->y.sd[j] * kn_at(m->gp.B, j, k);
    return Z;
}

/* The largest correlation, over participants and seven ridges, of recovered coordinates with the
 * true ones, both about the trend, which the attacker is told. One cell. */
static double best_recovery(const kn_model *m, const kn_model *shared, const participants *p,
                            kn_mat trend)
{
    static const double RIDGES[] = {0, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 2};
    const kn_latent_cell *cell = cell_of(shared);
    kn_mat Z = coordinates(m, p->Y), t = coordinates(m, trend);
    kn_mat exact = weights_of(cell, m->gp.latent.X, 0), of_trend = ref_mul(0, exact, 1, t);
    kn_mat A = ref_new(cell->A.rows, cell->A.cols);
    double best = 0;
    assert_int_equal(shared->gp.latent.n_cells, 1);
    for (ptrdiff_t k = 0; k < A.cols; k++)
        for (ptrdiff_t l = 0; l < A.rows; l++)
            kn_col(A, k)[l] = kn_at(cell->A, l, k) - kn_at(of_trend, l, k);
    for (ptrdiff_t i = 0; i < Z.cols; i++)
        for (ptrdiff_t k = 0; k < Z.rows; k++)
            kn_col(Z, i)[k] -= kn_at(t, k, i);
    for (size_t r = 0; r < sizeof RIDGES / sizeof *RIDGES; r++) {
        kn_mat M = weights_of(cell, m->gp.latent.X, RIDGES[r]), guess = ref_mul(1, A, 0, M);
        for (ptrdiff_t i = 0; i < Z.cols; i++)
            best = fmax(best, correlation(kn_col(guess, i), kn_col(Z, i), Z.rows));
        free(M.data), free(guess.data);
    }
    free(exact.data), free(of_trend.data), free(A.data), free(Z.data), free(t.data);
    return best;
}

static void no_participant_is_recovered(void **state)
{
    (void)state;
    kn_export_info info;
    kn_mat trend, B = ref_new(MANY, MANY);
    participants p = with_unusual(100, MANY, true, &trend);
    for (ptrdiff_t j = 0; j < MANY; j++)
        kn_col(B, j)[j] = 1; /* A is of the responses themselves */
    p.s.basis_view = view(B);
    p.s.basis_axes = KN_AXES_GIVEN;
    p.s.folds = 0;
    kn_model *m = fit(&p);
    kn_model *open = share(m, &info);
    assert_true(info.leverage > 0.9 && info.leverage_left == info.leverage && info.blurred == 0);
    assert_true(best_recovery(m, open, &p, trend) > 0.9);
    kn_model *limited = share_limited(m, LIMIT, &info);
    assert_true(info.leverage > 0.9 && info.leverage_left <= LIMIT * (1 + 1e-6));
    assert_true(info.blurred >= 1);
    assert_true(best_recovery(m, limited, &p, trend) <= 0.5);
    kn_model_free(open), kn_model_free(limited), kn_model_free(m);
    participants_free(&p);
    free(trend.data), free(B.data);
}

/* One cell of random numbers: map' = map K with K'diag(r) K = diag(r'), A' - K'A has the covariance
 * d (I - K'K), and leverages |row i of U K|^2 after it. */
static void noise_is_that_of_the_posterior(void **state)
{
    (void)state;
    enum { N = 40, M = 6, F = 9, P = 2000 };
    kn_mat U = ref_orthonormal(&rng, N, M), map = ref_normal(&rng, F, M),
           A = ref_normal(&rng, M, P);
    kn_deidentification how = {.leverage = LIMIT};
    kn_latent_cell cell = {.n = P, .R0 = {.N = N, .m = M}};
    double d[P], r[M];
    for (int p = 0; p < P; p++)
        d[p] = 0.5 + kn_rng_uniform(&rng);
    assert_ok(ctx, kn_mat_copy(ctx, map, &cell.R0.map));
    assert_ok(ctx, kn_mat_copy(ctx, A, &cell.A));
    assert_ok(ctx, kn_alloc_d(ctx, M, &cell.R0.r));
    for (int k = 0; k < M; k++)
        cell.R0.r[k] = r[k] = 1 + k;
    assert_ok(ctx, kn_limit_leverage(ctx, U, NULL, d, &how, &cell));
    assert_true(how.before > LIMIT && how.blurred > 0);
    kn_mat G = ref_mul(1, map, 0, map), K = ref_mul(1, map, 0, cell.R0.map);
    ref_solve(G, K);
    for (int k = 0; k < M; k++) {
        double left = 1, found = 0;
        for (int l = 0; l < M; l++) {
            double rotated = 0;
            for (int i = 0; i < M; i++)
                rotated += kn_at(K, i, k) * r[i] * kn_at(K, i, l);
            assert_close(rotated, k == l ? cell.R0.r[k] : 0, 1e-9);
            left -= kn_at(K, l, k) * kn_at(K, l, k);
        }
        for (int p = 0; p < P; p++) {
            double e = kn_at(cell.A, k, p);
            for (int i = 0; i < M; i++)
                e -= kn_at(K, i, k) * kn_at(A, i, p);
            found += e * e / (d[p] * P);
        }
        assert_close(found, left, 6 * left * sqrt(2.0 / P)); /* chi^2: six standard deviations */
    }
    kn_mat UK = ref_mul(0, U, 0, K);
    double largest = 0;
    for (int i = 0; i < N; i++) {
        double h = 0;
        for (int k = 0; k < M; k++)
            h += kn_at(UK, i, k) * kn_at(UK, i, k);
        largest = fmax(largest, h);
    }
    assert_close(largest, LIMIT, 1e-9);
    assert_close(how.after, largest, 1e-9);
    kn_mat_clear(&cell.R0.map), kn_mat_clear(&cell.A), kn_free(cell.R0.r);
    free(U.data), free(map.data), free(A.data), free(G.data), free(K.data), free(UK.data);
}

/* What the export reports. noise_is_that_of_the_posterior checks that this number is the leverage,
 * and no_participant_is_recovered attacks the file. (Leverages by the weights of the file are no
 * oracle: they divide by directions near the cut, where the rounding of one compiler made 5e7
 * of 1.) */
static void leverage_is_bounded_for_components_and_groups(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kn_export_info info;
        kn_mat trend;
        participants p = with_unusual(80, 12, true, &trend);
        p.s.groups = k == 1 ? p.group : NULL;
        p.s.method = k == 2 ? "stgpr" : "smtgpr";
        p.s.components = k == 2 ? KN_COMPONENTS_AUTO : 5;
        kn_model *m = fit(&p);
        kn_model *open = share(m, &info), *limited = share_limited(m, LIMIT, &info);
        assert_true(info.leverage_left <= LIMIT * (1 + 1e-6) && info.blurred > 0);
        assert_true(info.leverage > LIMIT && isfinite(info.mean_blurred + info.sd_blurred));
        kn_model_free(open), kn_model_free(limited), kn_model_free(m);
        participants_free(&p);
        free(trend.data);
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

/* How wrong ranks are, in participants: of values between, and of those themselves. */
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

static void a_participant_without_a_value_is_in_no_quantile(void **state)
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
    assert_ok(ctx, kn_quantiles_new(ctx, x, 1, &q)); /* of one participant nothing may be said */
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
        cmocka_unit_test(the_file_holds_no_participant),
        cmocka_unit_test(no_participant_is_recovered),
        cmocka_unit_test(noise_is_that_of_the_posterior),
        cmocka_unit_test(leverage_is_bounded_for_components_and_groups),
        cmocka_unit_test(ranges_are_rounded_outward),
        cmocka_unit_test(ranges_of_controls_are_not_theirs),
        cmocka_unit_test(ranks_among_quantiles_are_right_to_one_interval),
        cmocka_unit_test(a_participant_without_a_value_is_in_no_quantile),
    };
    int failed = cmocka_run_group_tests_name("export_nobody", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
