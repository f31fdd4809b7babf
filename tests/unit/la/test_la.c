#include "support/test.h"

#include "base/random.h"
#include "la/eig_leading.h"
#include "la/la.h"
#include "la/vec.h"

static kn_ctx *ctx;
static kn_rng rng;

static kn_mat noise(ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        m.data[i] = kn_rng_normal(&rng);
    return m;
}

static const int SIZES[] = {1, 2, 3, 5, 20};
enum { N_SIZES = 5 };

static void products_match_plain_loops(void **state)
{
    (void)state;
    for (int a = 0; a < N_SIZES; a++)
        for (int b = 0; b < N_SIZES; b++)
            for (int t = 0; t < 4; t++) {
                int n = SIZES[a], m = SIZES[b], k = SIZES[(a + b) % N_SIZES];
                kn_trans ta = t & 1 ? KN_T : KN_N, tb = t & 2 ? KN_T : KN_N;
                kn_mat A = ta == KN_N ? noise(n, k) : noise(k, n);
                kn_mat B = tb == KN_N ? noise(k, m) : noise(m, k);
                kn_mat C = noise(n, m), E = ref_mul(ta == KN_T, A, tb == KN_T, B);
                for (ptrdiff_t i = 0; i < n * m; i++)
                    E.data[i] = 2 * E.data[i] + 3 * C.data[i];
                kn_gemm(ctx, 2, ta, A, tb, B, 3, C);
                assert_same(C, E, 1e-14);
                free(A.data), free(B.data), free(C.data), free(E.data);
            }
}

static void a_symmetric_product_fills_the_lower_triangle(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        kn_mat A = noise(7, 4), C = ref_new(t ? 4 : 7, t ? 4 : 7), E = ref_mul(t, A, !t, A);
        kn_syrk(ctx, 1, t ? KN_T : KN_N, A, 0, C);
        kn_mirror(C);
        assert_same(C, E, 1e-14);
        free(A.data), free(C.data), free(E.data);
    }
}

static void eigenvectors_rebuild_the_matrix(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        ptrdiff_t n = SIZES[s];
        kn_mat A = noise(n, n), S = ref_mul(0, A, 1, A), U = ref_mul(0, A, 1, A);
        double w[20];
        assert_ok(ctx, kn_eig(ctx, U, w));
        kn_mat D = ref_new(n, n), I = ref_new(n, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(I, i)[i] = 1;
            for (ptrdiff_t j = 0; j < n; j++)
                kn_col(D, j)[i] = kn_at(U, i, j) * w[j];
            assert_true(i == 0 || w[i] >= w[i - 1]);
        }
        kn_mat R = ref_mul(0, D, 1, U), Q = ref_mul(1, U, 0, U);
        assert_same(R, S, 1e-13);
        assert_same(Q, I, 1e-13);
        free(A.data), free(S.data), free(U.data), free(D.data), free(I.data), free(R.data);
        free(Q.data);
    }
}

/* Few vectors go another way than many; a rank below k is met in real data. */
static void leading_eigenvectors_are_the_last_of_all(void **state)
{
    (void)state;
    static const struct {
        ptrdiff_t n, k, rank;
    } cases[] = {{1, 1, 1}, {5, 0, 5}, {40, 3, 40}, {40, 30, 40}, {60, 12, 8}, {60, 40, 8}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ptrdiff_t n = cases[c].n, k = cases[c].k;
        kn_mat A = noise(n, cases[c].rank), S = ref_mul(0, A, 1, A), U = ref_mul(0, A, 1, A);
        kn_mat V = ref_new(n, k), SV = ref_new(n, k), I = ref_new(k, k);
        double w[60], s[60];
        kn_eig_leading_work work;
        assert_ok(ctx, kn_eig(ctx, U, w));
        assert_ok(ctx, kn_eig_leading_new(ctx, n + 3, k, &work)); /* room for a larger one */
        for (int careful = 0; careful < 2; careful++) {
            work.careful = careful;
            kn_mat_set(kn_sub(work.A, 0, 0, n, n), S);
            assert_int_equal(kn_eig_leading(&work, n, k, s, V), 0);
            kn_gemm(ctx, 1, KN_N, S, KN_N, V, 0, SV);
            kn_gemm(ctx, 1, KN_T, V, KN_N, V, 0, I);
            for (ptrdiff_t j = 0; j < k; j++) {
                assert_close(s[j], w[n - 1 - j], 1e-12);
                for (ptrdiff_t i = 0; i < n; i++) /* S v = s v */
                    assert_close(kn_at(SV, i, j), s[j] * kn_at(V, i, j), 1e-10);
                for (ptrdiff_t i = 0; i < k; i++)
                    assert_close(kn_at(I, i, j), i == j, 1e-12);
            }
        }
        if (k > 0) {
            kn_mat_set(kn_sub(work.A, 0, 0, n, n), S);
            kn_col(work.A, 0)[n - 1] = NAN;
            assert_int_equal(kn_eig_leading(&work, n, k, s, V), -1);
        }
        kn_eig_leading_clear(&work);
        free(A.data), free(S.data), free(U.data), free(V.data), free(SV.data), free(I.data);
    }
}

typedef struct single_job {
    kn_eig_leading_f32_work work;
    ptrdiff_t n, k;
    double s[60];
    kn_mat V;
    int failed;
} single_job;

static void single_one(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    (void)worker, (void)from, (void)to;
    single_job *j = self;
    j->failed = kn_eig_leading_f32(&j->work, j->n, j->k, j->s, j->V);
}

/* Of matrices of any size: values to the square of what vectors are good to, which is float32. */
static double square(double x)
{
    return x * x;
}

/* From w[j] to the nearest other eigenvalue of n, ascending. */
static double gap(const double *w, ptrdiff_t n, ptrdiff_t j)
{
    double below = j > 0 ? w[j] - w[j - 1] : INFINITY,
           above = j < n - 1 ? w[j + 1] - w[j] : INFINITY;
    return fmin(below, above);
}

/* A Rayleigh quotient in double is off by the squared residual over the gap (Kato and Temple), not
 * by the precision of its vector: the same bound holds for any matrix. */
static void leading_eigenvectors_in_float32_have_values_in_double(void **state)
{
    (void)state;
    static const struct {
        ptrdiff_t n, k, rank;
        double size;
    } cases[] = {
        {1, 1, 1, 1}, {5, 0, 5, 1}, {40, 3, 40, 1e30}, {60, 12, 60, 1e-30}, {60, 12, 8, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ptrdiff_t n = cases[c].n, k = cases[c].k;
        kn_mat A = noise(n, cases[c].rank), S = ref_mul(0, A, 1, A), U = ref_mul(0, A, 1, A);
        kn_mat V = ref_new(n, k), SV = ref_new(n, k), I = ref_new(k, k);
        double w[60], size = cases[c].size;
        single_job job = {.n = n, .k = k, .V = V};
        const double *s = job.s;
        assert_ok(ctx, kn_eig(ctx, U, w));
        assert_ok(ctx, kn_eig_leading_f32_new(ctx, n + 3, k, &job.work));
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(job.work.A, j)[i] = i < j ? NAN : size * kn_at(S, i, j);
        kn_la_parallel(ctx, 1, 1, single_one, &job);
        assert_int_equal(job.failed, 0);
        kn_gemm(ctx, 1, KN_N, S, KN_N, V, 0, SV);
        kn_gemm(ctx, 1, KN_T, V, KN_N, V, 0, I);
        double unit = 30 * (double)n * FLT_EPSILON; /* what LAPACK's own tests of sstemr accept */
        for (ptrdiff_t j = 0; j < k; j++) {
            double value = s[j] / size, residual = 0;
            for (ptrdiff_t i = 0; i < n; i++)
                residual += square(kn_at(SV, i, j) - value * kn_at(V, i, j));
            residual = sqrt(residual);
            assert_true(residual <= unit * w[n - 1]);
            assert_close(value / w[n - 1], w[n - 1 - j] / w[n - 1],
                         1e-12 +
                             fmin(residual, residual * residual / gap(w, n, n - 1 - j)) / w[n - 1]);
            for (ptrdiff_t i = 0; i < k; i++)
                assert_close(kn_at(I, i, j), i == j, unit);
        }
        kn_mat_set(kn_sub(job.work.A, 0, 0, n, n), S);
        kn_col(job.work.A, 0)[n - 1] = NAN;
        kn_la_parallel(ctx, 1, 1, single_one, &job);
        assert_int_equal(job.failed, k > 0 ? -1 : 0);
        kn_eig_leading_f32_clear(&job.work);
        free(A.data), free(S.data), free(U.data), free(V.data), free(SV.data), free(I.data);
    }
}

static void single_products_match_double_ones(void **state)
{
    (void)state;
    kn_fmat A, C, G;
    kn_mat Ad = noise(7, 5), Gd = ref_new(5, 5), Cd = ref_new(7, 7);
    assert_ok(ctx, kn_fmat_new(ctx, 7, 5, &A));
    assert_ok(ctx, kn_fmat_new(ctx, 7, 7, &C));
    assert_ok(ctx, kn_fmat_new(ctx, 5, 5, &G));
    for (ptrdiff_t i = 0; i < 35; i++)
        A.data[i] = (float)Ad.data[i];
    kn_gemm_f32(ctx, 2, KN_N, A, KN_T, A, 0, C);
    kn_syrk_f32(ctx, 1, KN_T, A, 0, G);
    kn_gemm(ctx, 2, KN_N, Ad, KN_T, Ad, 0, Cd);
    kn_syrk(ctx, 1, KN_T, Ad, 0, Gd);
    for (ptrdiff_t i = 0; i < 49; i++)
        assert_close((double)C.data[i], Cd.data[i], 2e-6);
    for (ptrdiff_t j = 0; j < 5; j++)
        for (ptrdiff_t i = j; i < 5; i++)
            assert_close((double)kn_fcol(G, j)[i], kn_at(Gd, i, j), 2e-6);
    kn_fmat_clear(&A), kn_fmat_clear(&C), kn_fmat_clear(&G);
    free(Ad.data), free(Gd.data), free(Cd.data);
}

static void an_eigenproblem_with_nan_is_refused(void **state)
{
    (void)state;
    kn_mat A = noise(3, 3);
    double w[3];
    A.data[1] = NAN;
    assert_refused(ctx, kn_eig(ctx, A, w), KN_ERR_NUMERIC, "entry (2, 1)");
    free(A.data);
}

static void cholesky_and_triangular_solves_agree_with_the_matrix(void **state)
{
    (void)state;
    kn_mat A = noise(6, 9), S = ref_mul(0, A, 1, A), L = ref_mul(0, A, 1, A), X = noise(6, 2);
    kn_mat Y = ref_mul(0, S, 0, X), Yt = ref_mul(1, X, 0, S);
    assert_ok(ctx, kn_chol(ctx, L, "test"));
    kn_trsm_left(ctx, KN_N, L, Y);
    kn_trsm_left(ctx, KN_T, L, Y);
    assert_same(Y, X, 1e-11);
    kn_trsm_right(ctx, KN_T, L, Yt);
    kn_trsm_right(ctx, KN_N, L, Yt);
    kn_mat Xt = ref_new(2, 6);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 2; j++)
            kn_col(Xt, i)[j] = kn_at(X, i, j);
    assert_same(Yt, Xt, 1e-11);
    S.data[0] = -1;
    assert_refused(ctx, kn_chol(ctx, S, "the test matrix"), KN_ERR_NUMERIC,
                   "the test matrix is not positive definite");
    free(A.data), free(S.data), free(L.data), free(X.data), free(Y.data), free(Yt.data);
    free(Xt.data);
}

static void column_of(void *self, ptrdiff_t j, double *column)
{
    kn_mat *A = self;
    memcpy(column, kn_col(*A, j), (size_t)A->rows * sizeof(double));
}

static void pivoted_cholesky_finds_the_rank_and_the_matrix(void **state)
{
    (void)state;
    kn_mat A = noise(15, 4), S = ref_mul(0, A, 1, A), L = ref_new(15, 15);
    double diag[15], residual;
    ptrdiff_t pivot[15], rank;
    for (int i = 0; i < 15; i++)
        diag[i] = kn_at(S, i, i);
    assert_ok(ctx,
              kn_pivoted_chol(ctx, diag, NULL, column_of, &S, 1e-13, L, pivot, &rank, &residual));
    assert_int_equal(rank, 4);
    assert_true(residual <= 1e-13);
    kn_mat R = ref_mul(0, kn_cols(L, 0, rank), 1, kn_cols(L, 0, rank));
    assert_same(R, S, 1e-13);
    diag[3] = NAN;
    assert_refused(ctx,
                   kn_pivoted_chol(ctx, diag, NULL, column_of, &S, 0, L, pivot, &rank, &residual),
                   KN_ERR_NUMERIC, "entry 4");
    free(A.data), free(S.data), free(L.data), free(R.data);
}

static void vector_functions_match_the_scalar_ones(void **state)
{
    (void)state;
    double x[37], g[37], y[37], e[37], s = 0, sx = 0, sl = 0, d = 0;
    for (int i = 0; i < 37; i++) {
        x[i] = fabs(kn_rng_normal(&rng)) * pow(10, i % 5 - 2);
        g[i] = kn_rng_normal(&rng);
        y[i] = e[i] = g[i];
        e[i] += 1.5 * exp(-x[i] / 0.7);
        s += g[i] * exp(-x[i] / 0.7);
        sx += g[i] * x[i] * exp(-x[i] / 0.7);
        sl += log(x[i] + 0.25);
        d += g[i] * x[i];
    }
    double a, b;
    kn_vec_add_exp(37, x, 0.7, 1.5, y);
    for (int i = 0; i < 37; i++)
        assert_close(y[i], e[i], 1e-15);
    kn_vec_dot_exp(37, g, x, 0.7, &a, &b);
    assert_close(a, s, 1e-14);
    assert_close(b, sx, 1e-14);
    assert_close(kn_vec_sum_log_shift(37, x, 0.25), sl, 1e-14);
    assert_close(kn_vec_dot(37, g, x), d, 1e-14);
    double far[3] = {0, 1e6, 1e300}, k[3] = {0};
    kn_vec_add_exp(3, far, 1.0, 1.0, k);
    assert_true(k[0] == 1 && k[1] < 1e-300 && k[2] < 1e-300);
}

/* What is left over at the end of a vector has the bits that it has in the middle. */
static void exp_and_log_know_neither_place_nor_number(void **state)
{
    (void)state;
    enum { MAX_COUNT = 41, AT = 3 };
    for (int n = 1; n <= MAX_COUNT; n++)
        for (int first = 0; first <= AT; first++) {
            double e[MAX_COUNT + AT], l[MAX_COUNT + AT];
            for (int i = 0; i < n; i++) {
                e[first + i] = 0.37 * i - 5;
                l[first + i] = 0.11 + 1.7 * i;
            }
            kn_vec_exp(n, e + first);
            kn_vec_log(n, l + first);
            for (int i = 0; i < n; i++) {
                double same_e[MAX_COUNT], same_l[MAX_COUNT];
                for (int k = 0; k < MAX_COUNT; k++) {
                    same_e[k] = 0.37 * i - 5;
                    same_l[k] = 0.11 + 1.7 * i;
                }
                kn_vec_exp(MAX_COUNT, same_e);
                kn_vec_log(MAX_COUNT, same_l);
                for (int k = 0; k < MAX_COUNT; k += MAX_COUNT / 4) {
                    assert_true(e[first + i] == same_e[k]);
                    assert_true(l[first + i] == same_l[k]);
                }
            }
        }
}

TEST_PROGRAM(la)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_plain_loops),
        cmocka_unit_test(a_symmetric_product_fills_the_lower_triangle),
        cmocka_unit_test(eigenvectors_rebuild_the_matrix),
        cmocka_unit_test(leading_eigenvectors_are_the_last_of_all),
        cmocka_unit_test(leading_eigenvectors_in_float32_have_values_in_double),
        cmocka_unit_test(single_products_match_double_ones),
        cmocka_unit_test(an_eigenproblem_with_nan_is_refused),
        cmocka_unit_test(cholesky_and_triangular_solves_agree_with_the_matrix),
        cmocka_unit_test(pivoted_cholesky_finds_the_rank_and_the_matrix),
        cmocka_unit_test(vector_functions_match_the_scalar_ones),
        cmocka_unit_test(exp_and_log_know_neither_place_nor_number),
    };
    int failed = cmocka_run_group_tests_name("la", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
