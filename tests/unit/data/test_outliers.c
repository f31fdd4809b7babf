/* Outlying cells: the tails against a sort and against tests/golden/marginals/gross.json, and how
 * rarely cells of clean distributions are taken for errors. */
#include "data/outlier_fill.h"
#include "data/outliers.h"

#include "support/golden.h"
#include "support/test.h"

#include "base/random.h"

static kn_ctx *ctx;
static kn_rng rng;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_quantile(const double *y, ptrdiff_t n, double p)
{
    double at = (double)(n - 1) * p;
    ptrdiff_t i = (ptrdiff_t)floor(at);
    return i + 1 < n ? y[i] + (at - (double)i) * (y[i + 1] - y[i]) : y[i];
}

/* The tails by sorting. */
static kn_tails sorted_tails(double *y, ptrdiff_t n)
{
    ptrdiff_t k = (ptrdiff_t)ceil(0.01 * (double)n) + 1;
    qsort(y, (size_t)n, sizeof *y, by_value);
    double median = sorted_quantile(y, n, 0.5);
    double rsd = (sorted_quantile(y, n, 0.75) - sorted_quantile(y, n, 0.25)) / 1.349;
    return (kn_tails){median, fmax(rsd, (median - y[k]) / 2.3263),
                      fmax(rsd, (y[n - 1 - k] - median) / 2.3263)};
}

static kn_view view_of(kn_mat Y)
{
    return (kn_view){Y.data, KN_F64, Y.rows, Y.cols, 1, Y.ld};
}

static kn_outliers found_in(kn_mat Y)
{
    kn_outliers o;
    assert_ok(ctx, kn_outliers_find(ctx, view_of(Y), (kn_index_range){0, Y.cols}, &o));
    return o;
}

static void tails_and_cells_are_those_of_the_golden_case(void **state)
{
    (void)state;
    json_t *g = golden_json("marginals/gross", "");
    kn_mat Y = golden_matrix("marginals/gross", "Y"),
           tails = golden_matrix("marginals/gross", "tails");
    kn_mat cells = golden_matrix("marginals/gross", "flagged");
    kn_outliers o = found_in(Y);
    assert_int_equal(o.n, cells.rows);
    for (ptrdiff_t k = 0; k < o.n; k++) {
        assert_int_equal(o.cell[k].row, (int)kn_at(cells, k, 0));
        assert_int_equal(o.cell[k].response, (int)kn_at(cells, k, 1));
        assert_true(o.cell[k].value == kn_at(Y, o.cell[k].row, o.cell[k].response));
    }
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        kn_tails t = kn_tails_of(kn_col(Y, j), Y.rows);
        assert_close(t.median, kn_at(tails, j, 0), 1e-9);
        assert_close(t.lower, kn_at(tails, j, 1), 1e-9);
        assert_close(t.upper, kn_at(tails, j, 2), 1e-9);
    }
    kn_outliers_clear(&o);
    free(Y.data);
    free(tails.data);
    free(cells.data);
    json_decref(g);
}

static void tails_by_selection_are_those_by_sorting(void **state)
{
    (void)state;
    enum { MOST = 700 };
    double y[MOST], copy[MOST];
    for (int draw = 0; draw < 300; draw++) {
        ptrdiff_t n = KN_OUTLIERS_MIN + (ptrdiff_t)kn_rng_below(&rng, MOST - KN_OUTLIERS_MIN);
        for (ptrdiff_t i = 0; i < n; i++) /* ties in every third */
            y[i] = draw % 3 == 0 ? floor(3 * kn_rng_normal(&rng)) : exp(kn_rng_normal(&rng));
        memcpy(copy, y, (size_t)n * sizeof *y);
        kn_tails t = kn_tails_of(y, n), want = sorted_tails(copy, n);
        assert_close(t.median, want.median, 1e-14);
        assert_close(t.lower, want.lower, 1e-14);
        assert_close(t.upper, want.upper, 1e-14);
    }
}

/* Cells of 100 responses of 400 participants by one of four distributions. */
static double draw_cell(int kind)
{
    double z = kn_rng_normal(&rng);
    if (kind == 0)
        return z;
    if (kind == 1)
        return -log(1 - kn_rng_uniform(&rng));
    if (kind == 2)
        return exp(z);
    double a = kn_rng_normal(&rng), b = kn_rng_normal(&rng), c = kn_rng_normal(&rng);
    return z / sqrt((a * a + b * b + c * c) / 3); /* Student's t with 3 degrees of freedom */
}

/* The expected numbers per 100,000 cells are 0, 0, about 5 and about 20 (large simulations of the
 * rule); the bounds are five standard errors of 40,000 cells above. */
static void clean_cells_are_hardly_ever_outlying(void **state)
{
    (void)state;
    static const int MOST[] = {0, 1, 10, 23};
    for (int kind = 0; kind < 4; kind++) {
        kn_mat Y = ref_new(400, 100);
        for (ptrdiff_t i = 0; i < 40000; i++)
            Y.data[i] = draw_cell(kind);
        kn_outliers o = found_in(Y);
        assert_in_range(o.n, 0, MOST[kind]);
        kn_outliers_clear(&o);
        free(Y.data);
    }
}

static void fences_have_their_exceptions(void **state)
{
    (void)state;
    enum { N = 200, FEW = 19 };
    kn_mat Y = ref_new(N, 6), few = ref_new(FEW, 1);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t j = 0; j < 3; j++)
            kn_col(Y, j)[i] = 10 + kn_rng_normal(&rng);
        kn_col(Y, 3)[i] = i < 3; /* 1 in three: a tail of scale 0 has no fence */
        kn_col(Y, 4)[i] = 5;     /* constant */
        kn_col(Y, 5)[i] = i % 20 == 0 ? 0 : 10 + kn_rng_normal(&rng);
    }
    kn_col(Y, 0)[7] = 0;   /* one of 200 is 0, all others are above: 10 and not 12 SD are enough */
    kn_col(Y, 1)[8] = 0.1; /* not 0 */
    kn_col(Y, 2)[9] = 1000;
    kn_col(Y, 2)[3] = NAN;
    for (ptrdiff_t i = 0; i < FEW; i++)
        few.data[i] = i == 4 ? 1000 : kn_rng_normal(&rng);
    kn_outliers o = found_in(Y), none = found_in(few);
    assert_int_equal(none.n, 0);
    assert_int_equal(o.n, 2);
    assert_true(kn_is_outlier(&o, 7, 0) && kn_is_outlier(&o, 9, 2));
    assert_false(kn_is_outlier(&o, 8, 1) || kn_is_outlier(&o, 7, 2) || kn_is_outlier(&o, 3, 2));
    kn_outliers_clear(&o);
    free(Y.data);
    free(few.data);
}

/* A float32 image by rows has the cells of the same values by columns, hidden and restored. */
static void the_layout_does_not_matter_and_cells_are_restored(void **state)
{
    (void)state;
    enum { N = 60, T = 70 };
    static float rows[N * T], before[N * T];
    kn_mat Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++) {
            bool planted = (i + 3 * j) % 97 == 0 && i % 7 == 0;
            rows[i * T + j] = (float)(planted ? 500.25 : kn_rng_normal(&rng));
            kn_col(Y, j)[i] = (double)rows[i * T + j];
        }
    memcpy(before, rows, sizeof rows);
    kn_view by_rows = {rows, KN_F32, N, T, T, 1};
    kn_outliers a = found_in(Y), b;
    assert_ok(ctx, kn_outliers_find(ctx, by_rows, (kn_index_range){0, T}, &b));
    assert_true(a.n > 0 && a.n == b.n);
    kn_outliers_hide(&b, by_rows, (kn_index_range){0, T});
    for (ptrdiff_t k = 0; k < a.n; k++) {
        assert_true(a.cell[k].row == b.cell[k].row && a.cell[k].response == b.cell[k].response);
        assert_true(isnan(kn_view_at(by_rows, a.cell[k].row, a.cell[k].response)));
    }
    kn_outliers_restore(&b, by_rows, (kn_index_range){0, T});
    assert_memory_equal(rows, before, sizeof rows);
    kn_outliers_clear(&a);
    kn_outliers_clear(&b);
    free(Y.data);
}

/* Solves A x = b (n) by Gaussian elimination without pivoting, for a positive definite A (n x n, by
 * rows); x replaces b. */
static void eliminate(double *A, double *b, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double f = A[i * n + k] / A[k * n + k];
            for (int j = k; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++)
            b[k] -= A[k * n + j] * b[j];
        b[k] /= A[k * n + k];
    }
}

/* A filled cell is its prediction by the ridge regression of the header, solved here by the normal
 * equations; other cells stay, and so do responses outside the range. */
static void filled_cells_are_predicted_from_the_covariates(void **state)
{
    (void)state;
    enum { N = 80, T = 4, SITES = 3, P = 1 + SITES };
    static const ptrdiff_t ROW[] = {5, 40}; /* outlying cells of responses 1 and 2 */
    kn_mat X = ref_new(N, 2), Y = ref_new(N, T), before = ref_new(N, T);
    kn_covariate column[] = {{.kind = KN_COVARIATE_NUMERIC},
                             {.kind = KN_COVARIATE_CATEGORY, .levels = {.n = SITES}}};
    kn_encoding encoding = {.n = 2, .column = column, .codes = true};
    double mean_age = 0, sd_age = 0;
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(X, 0)[i] = 20 + 60 * kn_rng_uniform(&rng);
        kn_col(X, 1)[i] = (double)kn_rng_below(&rng, SITES);
        mean_age += kn_col(X, 0)[i] / N;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(Y, j)[i] =
                3 - 0.02 * kn_col(X, 0)[i] + 0.3 * kn_col(X, 1)[i] + 0.1 * kn_rng_normal(&rng);
    }
    for (ptrdiff_t i = 0; i < N; i++)
        sd_age += (kn_col(X, 0)[i] - mean_age) * (kn_col(X, 0)[i] - mean_age) / N;
    sd_age = sqrt(sd_age);
    for (int k = 0; k < 2; k++)
        kn_col(Y, 1)[ROW[k]] = kn_col(Y, 2)[ROW[k]] = 250;
    memcpy(before.data, Y.data, N * T * sizeof *Y.data);
    kn_outliers o = found_in(Y);
    assert_int_equal(o.n, 4);
    assert_ok(ctx, kn_outliers_fill(ctx, &o, &(kn_fill_covariates){X, &encoding}, view_of(Y),
                                    (kn_index_range){0, 2}));
    double A[P * P] = {0}, b[P] = {0}, mean = 0, z[N][P] = {{0}};
    for (ptrdiff_t i = 0; i < N; i++) {
        z[i][0] = (kn_col(X, 0)[i] - mean_age) / sd_age;
        z[i][1 + (int)kn_col(X, 1)[i]] = 1;
        mean += i == ROW[0] || i == ROW[1] ? 0 : kn_col(before, 1)[i] / (N - 2);
    }
    for (int p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < N; i++) {
            bool used = i != ROW[0] && i != ROW[1];
            for (int q = 0; q < P; q++)
                A[p * P + q] += used * z[i][p] * z[i][q] + (i == 0 && p == q);
            b[p] += used ? z[i][p] * (kn_col(before, 1)[i] - mean) : 0;
        }
    eliminate(A, b, P);
    for (ptrdiff_t i = 0; i < N; i++) {
        double want = mean;
        for (int p = 0; p < P; p++)
            want += z[i][p] * b[p];
        bool used = i != ROW[0] && i != ROW[1];
        assert_true(fabs(kn_col(Y, 1)[i] - (used ? kn_col(before, 1)[i] : want)) < 1e-5);
        assert_true(kn_col(Y, 2)[i] == kn_col(before, 2)[i]);
    }
    kn_outliers_clear(&o);
    free(X.data);
    free(Y.data);
    free(before.data);
}

/* The bound from moments spares selections, and must not spare a cell that is outlying: the cells
 * of many short samples, some with a far value, are those of the definition by sorting. */
static void no_outlying_cell_is_missed(void **state)
{
    (void)state;
    enum { MOST = 150 };
    double y[MOST], sorted[MOST];
    for (int draw = 0; draw < 2000; draw++) {
        ptrdiff_t n = KN_OUTLIERS_MIN + (ptrdiff_t)kn_rng_below(&rng, MOST - KN_OUTLIERS_MIN);
        ptrdiff_t want = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = draw % 3 == 0 ? (kn_rng_uniform(&rng) < 0.5) + 0.1 * kn_rng_normal(&rng)
                                 : kn_rng_normal(&rng);
        y[0] = (draw % 2 ? 1 : -1) * 25 * kn_rng_uniform(&rng);
        memcpy(sorted, y, (size_t)n * sizeof *y);
        kn_tails t = sorted_tails(sorted, n);
        for (ptrdiff_t i = 0; i < n; i++)
            want += y[i] < t.median - 12 * t.lower || y[i] > t.median + 12 * t.upper;
        kn_mat Y = {.data = y, .rows = n, .cols = 1, .ld = n};
        kn_outliers o = found_in(Y);
        assert_int_equal(o.n, want);
        kn_outliers_clear(&o);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    ref_rng_init(&rng, 31, 0);
    ctx = kn_ctx_new();
    return ctx ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

TEST_PROGRAM(data_outliers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_and_cells_are_those_of_the_golden_case),
        cmocka_unit_test(tails_by_selection_are_those_by_sorting),
        cmocka_unit_test(clean_cells_are_hardly_ever_outlying),
        cmocka_unit_test(fences_have_their_exceptions),
        cmocka_unit_test(the_layout_does_not_matter_and_cells_are_restored),
        cmocka_unit_test(filled_cells_are_predicted_from_the_covariates),
        cmocka_unit_test(no_outlying_cell_is_missed),
    };
    return cmocka_run_group_tests_name("outliers", tests, open_fixture, close_fixture);
}
