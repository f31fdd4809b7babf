/* The block of a category with many levels [METHOD 6a]: the eigenproblem, and the low-rank
 * decomposition with a block against the one without and against dense matrices. */
#include "support/test.h"

#include "base/random.h"
#include "cov/lowrank.h"
#include "la/la.h"

static kn_ctx *ctx;

/* ---- the eigenproblem ----------------------------------------------------------------------- */

/* S v = w v for all pairs, V'V = I, w ascending and those of the dense solver. */
static void check_eigenpairs(kn_mat S, kn_mat V, const double *w)
{
    ptrdiff_t M = S.rows;
    kn_mat SV = ref_mul(0, S, 0, V), VV = ref_mul(1, V, 0, V), I = ref_new(M, M),
           Vw = ref_new(M, M);
    double *dense = calloc((size_t)M, sizeof *dense), largest = DBL_MIN;
    for (ptrdiff_t j = 0; j < M; j++) {
        kn_col(I, j)[j] = 1;
        for (ptrdiff_t i = 0; i < M; i++)
            kn_col(Vw, j)[i] = kn_at(V, i, j) * w[j];
    }
    assert_same(VV, I, 1e-12);
    assert_same(SV, Vw, 1e-12);
    assert_ok(ctx, kn_eig(ctx, S, dense));
    for (ptrdiff_t j = 0; j < M; j++)
        largest = fmax(largest, fabs(dense[j]));
    for (ptrdiff_t j = 0; j < M; j++) {
        assert_true(j == 0 || w[j - 1] <= w[j]);
        assert_close(w[j] / largest, dense[j] / largest, 1e-12);
    }
    free(dense), free(SV.data), free(VV.data), free(I.data), free(Vw.data);
}

/* L levels of `sizes` different sizes between `before` and `after` thin features. */
static void check_eig(kn_rng *rng, ptrdiff_t L, int sizes, ptrdiff_t before, ptrdiff_t after)
{
    ptrdiff_t m1 = before + after, M = L + m1;
    kn_indicators b = {before, L, 0};
    kn_mat C = ref_normal(rng, L, m1), H = ref_normal(rng, m1 + 3, m1), V = ref_new(M, M);
    kn_mat G = ref_mul(1, H, 0, H), S = ref_new(M, M);
    double *D = calloc((size_t)L, sizeof *D), *w = calloc((size_t)M, sizeof *w);
    for (ptrdiff_t l = 0; l < L; l++) {
        D[l] = 0.3 * (double)kn_rng_below(rng, sizes); /* 0: no row has the level */
        kn_col(S, before + l)[before + l] = D[l];
        for (ptrdiff_t j = 0; j < m1; j++) {
            ptrdiff_t at = j < before ? j : j + L;
            kn_col(C, j)[l] *= D[l] > 0;
            kn_col(S, at)[before + l] = kn_col(S, before + l)[at] = kn_at(C, l, j);
        }
    }
    for (ptrdiff_t j = 0; j < m1; j++)
        for (ptrdiff_t i = 0; i < m1; i++)
            kn_col(S, j < before ? j : j + L)[i < before ? i : i + L] = kn_at(G, i, j);
    assert_ok(ctx, kn_indicator_eig(ctx, &b, D, C, G, V, w));
    check_eigenpairs(S, V, w);
    free(C.data), free(H.data), free(G.data), free(V.data), free(S.data), free(D), free(w);
}

static void eigenpairs_are_those_of_the_dense_matrix(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 31, 1);
    const ptrdiff_t levels[] = {1, 2, 3, 10, 40};
    const int sizes[] = {2, 3, 12};
    for (int l = 0; l < 5; l++)
        for (int s = 0; s < 3; s++)
            for (int m = 0; m < 9; m++)
                check_eig(&rng, levels[l], sizes[s], m / 3 * 3, m % 3 * 3);
}

/* ---- the decomposition ---------------------------------------------------------------------- */

enum { N_MAX = 240 };

/* Age, another category of `other` levels, and a category of L levels of which some have one row.
 * nested: levels of the other category consist of levels of the first. */
typedef struct cohort {
    kn_cov cov;
    kn_mat X, Z;
    kn_groups groups;
    double theta[KN_COV_THETA];
} cohort;

static ptrdiff_t level_of(kn_rng *rng, ptrdiff_t i, ptrdiff_t L)
{
    return i < L ? i : kn_rng_below(rng, (int)(L > 2 ? L - L / 3 : L)); /* the last have one row */
}

static cohort cohort_new(kn_rng *rng, ptrdiff_t N, ptrdiff_t L, ptrdiff_t other, bool nested,
                         bool grouped)
{
    cohort q = {.cov = {.exact = true}};
    int code[N_MAX];
    q.X = ref_new(N, 1 + other + L + 1);
    q.Z = ref_normal(rng, N, 3);
    for (ptrdiff_t i = 0; i < N; i++) {
        ptrdiff_t l = level_of(rng, i, L), o = nested ? l % other : kn_rng_below(rng, (int)other);
        bool again = grouped && i > L && i % 2;
        if (again) /* another row of the group before it, at the same level */
            for (l = 0; kn_at(q.X, i - 1, 1 + other + l) == 0;)
                l++;
        code[i] = (int)(again ? i - 1 : i);
        kn_col(q.X, 0)[i] = kn_rng_normal(rng);
        kn_col(q.X, 1 + o)[i] = 1;
        kn_col(q.X, 1 + other + l)[i] = 1;
    }
    assert_ok(ctx, kn_cov_add(ctx, &q.cov, &kn_kernel_linear, 0, 1));
    assert_ok(ctx, kn_cov_add(ctx, &q.cov, &kn_kernel_se, 0, 1));
    assert_ok(ctx, kn_cov_add(ctx, &q.cov, &kn_kernel_same, 1, other));
    assert_ok(ctx, kn_cov_add(ctx, &q.cov, &kn_kernel_same, 1 + other, L + 1));
    double theta[] = {-0.7, -0.4, 0.2, -0.9, -0.3}; /* linear, se and its length, same, same */
    assert_int_equal(q.cov.n_theta, 5);
    memcpy(q.theta, theta, sizeof theta);
    if (grouped)
        assert_ok(ctx, kn_groups_new(ctx, N, code, &q.groups));
    return q;
}

static void cohort_free(cohort *q)
{
    kn_groups_clear(&q->groups);
    free(q->X.data), free(q->Z.data);
}

/* What a decomposition of low rank gives, independent of the choice of eigenvectors. Directions
 * with r near rounding are inexact in U, so they are weighted by r. */
typedef struct outcome {
    kn_mat smoother; /* N x N   U diag(r/(r + 0.7)) U' */
    kn_mat cross;    /* N x N   R0* U U' */
    kn_mat fit;      /* N x P   U diag(r/(r + 0.7)) A */
    double form[3];  /* 0.7 z'(R0 + 0.7 H)^-1 z */
    double gradient[KN_COV_THETA], logdet;
} outcome;

static outcome outcome_of(const cohort *q, ptrdiff_t least, double gamma, double tol)
{
    ptrdiff_t N = q->X.rows;
    const kn_groups *groups = q->groups.n > 0 ? &q->groups : NULL;
    kn_lowrank w;
    kn_decomp d = {.N = N, .cov = q->cov, .gamma = gamma};
    kn_mat A = {0}, U = {0}, M = {0}, F = {0}, RU = {0};
    double c[] = {0.6, 1.1, 0.9}, noise[] = {0.5, 0.4, 1.3}, *weight;
    assert_ok(ctx, kn_lowrank_new(ctx, q->X, q->Z, groups, &q->cov, N, &w));
    assert_ok(ctx, kn_lowrank_block(ctx, &w, least));
    assert_int_equal(w.block.count > 0, least <= q->cov.term[3].count);
    w.tol = tol;
    assert_ok(ctx, kn_lowrank_at(ctx, &w, q->theta));
    assert_ok(ctx, kn_lowrank_decompose(ctx, &w, &d));
    outcome o = {.smoother = ref_new(N, N), .fit = ref_new(N, 3)};
    assert_ok(ctx, kn_mat_new(ctx, d.m, 3, &A));
    assert_ok(ctx, kn_mat_new(ctx, d.m, 3, &M));
    assert_ok(ctx, kn_mat_new(ctx, N, d.m, &U));
    assert_ok(ctx, kn_mat_new(ctx, N, d.m, &RU));
    assert_ok(ctx, kn_mat_new(ctx, N, kn_decomp_cross_columns(&d), &F));
    assert_ok(ctx, kn_lowrank_project(ctx, &w, &d, A));
    kn_lowrank_rest(&w, gamma, A, o.form);
    assert_ok(ctx, kn_decomp_vectors(ctx, &d, groups, q->X, U));
    kn_decomp_cross(ctx, &d, q->X, F, RU);
    weight = calloc((size_t)d.m, sizeof *weight);
    for (ptrdiff_t k = 0; k < d.m; k++) {
        double share = d.r[k] / (d.r[k] + 0.7);
        o.logdet += log(d.r[k] + 0.7) - log(0.7);
        for (ptrdiff_t j = 0; j < N; j++)
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(o.smoother, j)[i] += kn_at(U, i, k) * kn_at(U, j, k) * share;
        for (ptrdiff_t p = 0; p < 3; p++) {
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(o.fit, p)[i] += kn_at(U, i, k) * share * kn_at(A, k, p);
            o.form[p] += kn_at(A, k, p) * kn_at(A, k, p) * (1 - share);
            double at = c[p] * d.r[k] + noise[p];
            kn_col(M, p)[k] = kn_at(A, k, p) * sqrt(c[p]) / at;
            weight[k] += c[p] / at;
        }
    }
    kn_lowrank_part part = {.R0 = &d, .A = A, .M = M, .c = c, .d = noise, .weight = weight};
    assert_ok(ctx, kn_lowrank_gradient(ctx, &w, &part, 1, o.gradient));
    o.cross = ref_mul(0, RU, 1, U);
    free(weight);
    kn_mat_clear(&A), kn_mat_clear(&M), kn_mat_clear(&U), kn_mat_clear(&F), kn_mat_clear(&RU);
    kn_decomp_clear(&d);
    kn_lowrank_clear(&w);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->smoother.data), free(o->cross.data), free(o->fit.data);
}

/* With few pivots, so that rounding is not divided by small eigenvalues. */
static void check_same(const cohort *q, double gamma)
{
    outcome block = outcome_of(q, 2, gamma, 1e-6), plain = outcome_of(q, 10000, gamma, 1e-6);
    assert_same(block.smoother, plain.smoother, 1e-10);
    assert_same(block.cross, plain.cross, 1e-10);
    assert_same(block.fit, plain.fit, 1e-10);
    assert_close(block.logdet, plain.logdet, 1e-10);
    for (int p = 0; p < 3; p++)
        assert_close(block.form[p], plain.form[p], 1e-10);
    for (int k = 0; k < q->cov.n_theta; k++) { /* a difference of terms of size N */
        double scale = (double)q->X.rows;
        assert_close(block.gradient[k] / scale, plain.gradient[k] / scale, 1e-10);
    }
    outcome_free(&block), outcome_free(&plain);
}

/* Against R0 pair by pair: ln|R0 + 0.7 I| and R0 itself. */
static void check_dense(const cohort *q)
{
    ptrdiff_t N = q->X.rows, first = q->cov.term[2].first, other = q->cov.term[2].count;
    outcome o = outcome_of(q, 2, 0, 1e-14);
    kn_mat R = ref_new(N, N);
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < N; i++) {
            double x = kn_at(q->X, i, 0), y = kn_at(q->X, j, 0), same[2] = {0, 0};
            for (ptrdiff_t l = first; l < q->X.cols; l++)
                same[l >= first + other] += kn_at(q->X, i, l) * kn_at(q->X, j, l);
            kn_col(R, j)[i] = exp(2 * q->theta[0]) * x * y +
                              exp(2 * q->theta[1] - (x - y) * (x - y) / 2 / exp(2 * q->theta[2])) +
                              exp(2 * q->theta[3]) * same[0] + exp(2 * q->theta[4]) * same[1];
        }
    assert_same(o.cross, R, 1e-6); /* se is approximated, up to the root of a trace of 1e-14 */
    double logdet = -(double)N * log(0.7);
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(R, i)[i] += 0.7;
    assert_true(ref_chol(R));
    for (ptrdiff_t i = 0; i < N; i++)
        logdet += 2 * log(kn_at(R, i, i));
    assert_close(o.logdet, logdet, 1e-10);
    outcome_free(&o);
    free(R.data);
}

static void a_block_changes_nothing(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 32, 1);
    const ptrdiff_t levels[] = {1, 2, 3, 12, 60}; /* from 51 on, all functions use the block */
    for (int l = 0; l < 5; l++)
        for (int nested = 0; nested < 2; nested++) {
            ptrdiff_t N = levels[l] > 12 ? N_MAX : 50, other = levels[l] == 1 ? 1 : 2;
            cohort q = cohort_new(&rng, N, levels[l], other, nested, false);
            check_same(&q, 0);
            check_dense(&q);
            cohort_free(&q);
            q = cohort_new(&rng, N, levels[l], other, nested, true);
            check_same(&q, 0);
            check_same(&q, 0.3);
            cohort_free(&q);
        }
}

/* Rows without a level, and groups over several levels, take the path without a block. */
static void a_block_needs_a_level_per_row_and_group(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 33, 1);
    for (int missing = 0; missing < 2; missing++) {
        kn_lowrank w;
        cohort q = cohort_new(&rng, 50, 12, 2, false, !missing);
        ptrdiff_t first = q.cov.term[3].first;
        if (missing) {
            for (ptrdiff_t l = 0; l < 12; l++)
                kn_col(q.X, first + l)[7] = 1 / 12.0;
        } else {
            ptrdiff_t row = q.groups.row[q.groups.start[q.groups.of[15]]];
            for (ptrdiff_t l = 0; l < 12; l++)
                kn_col(q.X, first + l)[row] = l == 0 && kn_at(q.X, row, first) == 0;
            kn_col(q.X, first + 1)[row] = kn_at(q.X, row, first) == 0;
        }
        assert_ok(ctx, kn_lowrank_new(ctx, q.X, q.Z, missing ? NULL : &q.groups, &q.cov, 50, &w));
        assert_ok(ctx, kn_lowrank_block(ctx, &w, 2));
        assert_int_equal(w.block.count, 0);
        assert_null(w.level);
        kn_lowrank_clear(&w);
        cohort_free(&q);
    }
}

/* New participants whose category is missing have the shares of the levels. */
static void a_missing_level_is_predicted_from_the_shares(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 34, 1);
    enum { L = 60, N = 200 };
    cohort q = cohort_new(&rng, N, L, 2, false, false);
    kn_lowrank w;
    kn_decomp d = {.N = N, .cov = q.cov};
    ptrdiff_t first = q.cov.term[3].first;
    kn_mat all = ref_new(L + 1, q.X.cols), F = {0}, RU = {0};
    assert_ok(ctx, kn_lowrank_new(ctx, q.X, q.Z, NULL, &q.cov, N, &w));
    w.tol = 1e-12;
    assert_ok(ctx, kn_lowrank_at(ctx, &w, q.theta));
    assert_ok(ctx, kn_lowrank_decompose(ctx, &w, &d));
    for (ptrdiff_t l = 0; l <= L; l++) { /* a row per level, then one with equal shares */
        kn_col(all, 0)[l] = 0.4;
        kn_col(all, 1)[l] = 1;
        for (ptrdiff_t k = 0; k < L; k++)
            kn_col(all, first + k)[l] = l < L ? k == l : 1.0 / L;
    }
    assert_ok(ctx, kn_mat_new(ctx, L + 1, kn_decomp_cross_columns(&d), &F));
    assert_ok(ctx, kn_mat_new(ctx, L + 1, d.m, &RU));
    kn_decomp_cross(ctx, &d, all, F, RU);
    for (ptrdiff_t k = 0; k < d.m; k++) {
        double mean = 0;
        for (ptrdiff_t l = 0; l < L; l++)
            mean += kn_at(RU, l, k) / L;
        assert_close(kn_at(RU, L, k), mean, 1e-12);
    }
    free(all.data);
    kn_mat_clear(&F), kn_mat_clear(&RU);
    kn_decomp_clear(&d);
    kn_lowrank_clear(&w);
    cohort_free(&q);
}

TEST_PROGRAM(cov_indicators)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenpairs_are_those_of_the_dense_matrix),
        cmocka_unit_test(a_block_changes_nothing),
        cmocka_unit_test(a_block_needs_a_level_per_row_and_group),
        cmocka_unit_test(a_missing_level_is_predicted_from_the_shares),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
