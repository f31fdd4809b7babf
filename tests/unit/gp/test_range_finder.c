/* Principal components by a range finder. */
#include "data/scaling.h"
#include "support/laid_out.h"

/* Columns of Q orthonormal by the Gram-Schmidt process, carried out twice. */
static void orthonormalise(kn_mat Q)
{
    for (ptrdiff_t p = 0; p < Q.cols; p++)
        for (int again = 0; again < 2; again++)
            for (ptrdiff_t q = 0; q <= p; q++) {
                double s = 0;
                for (ptrdiff_t i = 0; i < Q.rows; i++)
                    s += kn_at(Q, i, p) * kn_at(Q, i, q);
                for (ptrdiff_t i = 0; i < Q.rows; i++)
                    kn_col(Q, p)[i] -= q < p ? s * kn_at(Q, i, q) : 0;
                for (ptrdiff_t i = 0; q == p && i < Q.rows; i++)
                    kn_col(Q, p)[i] /= sqrt(s);
            }
}

typedef struct range_of {
    double residual, below, above; /* by the definition; limits of the one in float32 */
} range_of;

/* The residual that kn_basis_range defines, by dense products in double precision: t and u are the
 * Ritz values and vectors of G = A A' on the range of Q after `passes` steps Q = orth(G Q - t_k/2
 * Q) from orth(sketch), and the residual is the largest |G u_p - t_p u_p| / t_p over p < P.
 *
 * Rounding of the passes in single precision: one product of inner dimension m has an error of
 * u sqrt(m) relative to the norms of its factors (Higham & Mary 2019, inner products with random
 * rounding errors), and orth divides by at least t_k/2, so that the range of Q turns by
 * angle <= passes u (sqrt(n) + sqrt(T)) 2 t_1/t_k. The part of G u_p outside the range changes by
 * 2 t_1 angle, and u_p turns towards another u_q by t_1 angle / |t_p - t_q|, which brings in the
 * residual of u_q. */
static range_of range_by_definition(kn_mat A, kn_mat sketch, int passes, ptrdiff_t P)
{
    ptrdiff_t n = A.rows, k = sketch.cols;
    kn_mat G = ref_mul(0, A, 1, A), Q = ref_new(n, k), M = {0}, X;
    double *t = calloc((size_t)k, sizeof *t), *rho = calloc((size_t)k, sizeof *rho), angle = 0;
    range_of o = {0};
    kn_mat_set(Q, sketch);
    orthonormalise(Q);
    for (int pass = 0;; pass++) {
        free(M.data);
        M = ref_mul(0, G, 0, Q);
        X = ref_mul(1, Q, 0, M);
        assert_ok(ctx, kn_eig(ctx, X, t)); /* ascending */
        if (pass == passes)
            break;
        for (ptrdiff_t i = 0; i < n * k; i++)
            Q.data[i] = M.data[i] - t[0] / 2 * Q.data[i];
        orthonormalise(Q);
        angle += FLT_EPSILON / 2 * (sqrt((double)n) + sqrt((double)A.cols)) * 2 * t[k - 1] / t[0];
        free(X.data);
    }
    kn_mat U = ref_mul(0, Q, 0, X), GU = ref_mul(0, M, 0, X);
    for (ptrdiff_t p = 0; p < k; p++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            sum += pow(kn_at(GU, i, p) - t[p] * kn_at(U, i, p), 2);
        rho[p] = sqrt(sum) / t[p];
    }
    for (ptrdiff_t p = k - P; p < k; p++) {
        double off = 1e-10 * t[k - 1] / t[p]; /* of double precision */
        for (ptrdiff_t q = 0; angle > 0 && q < k; q++)
            off += q == p ? 2 * angle * t[k - 1] / t[p]
                          : fmin(1, t[k - 1] * angle / fabs(t[p] - t[q])) * rho[q] * t[q] / t[p];
        if (rho[p] > o.residual) {
            o.residual = rho[p];
            o.below = rho[p] - off;
        }
        o.above = fmax(o.above, rho[p] + off);
    }
    free(G.data), free(Q.data), free(M.data), free(X.data), free(U.data), free(GU.data);
    free(t), free(rho);
    return o;
}

static void range_finds_what_pca_finds_when_the_spectrum_decays(void **state)
{
    (void)state;
    data d = data_of(make(150, 2200, 12, .6, .02, 3), true);
    data_open(&d);
    kn_gram gram;
    kn_basis exact, b;
    kn_range_info info;
    kn_range_options o = {.passes = KN_RANGE_PASSES, .seed = 5};
    assert_ok(ctx, kn_gram_new(ctx, &d.Y, &gram));
    assert_ok(ctx, kn_basis_pca(ctx, &d.Y, &gram, 6, &exact));
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 6, &o, &b, &info));
    kn_mat A = plain(&d.Y, NULL);
    check_basis(&b, A);
    for (ptrdiff_t p = 0; p < 6; p++)
        assert_close(kn_sumsq(kn_cols(b.Z, p, 1)) / gram.s2[p], 1, 1e-9);
    assert_same(b.B, exact.B, 1e-5);
    assert_true(outside(exact.B, 6, b.B) < 1e-6);
    assert_true(info.residual < 1e-5);
    assert_close(info.captured, 1 - exact.E / exact.total, 1e-9);
    free(A.data);
    kn_basis_clear(&b), kn_basis_clear(&exact);
    kn_gram_clear(&gram);
    data_free(&d);
}

/* Pure noise, where every direction is as good as the next: a tenth of the best energy at most is
 * missed with two passes, and the residual says that nothing has converged. It is the residual of
 * vectors half a step before the basis; that of the basis itself may be larger or smaller. */
static void range_finder_reports_that_a_flat_spectrum_has_not_converged(void **state)
{
    (void)state;
    data d = data_of(make(200, 1000, 0, 1, 1, 0), false);
    data_open(&d);
    kn_gram gram;
    double best = 0, before = 0;
    assert_ok(ctx, kn_gram_new(ctx, &d.Y, &gram));
    for (ptrdiff_t p = 0; p < 20; p++)
        best += gram.s2[p];
    kn_mat A = plain(&d.Y, NULL), directions = ref_normal(&rng, 1000, 30);
    kn_mat sketch = ref_mul(0, A, 0, directions); /* as many columns as it works with */
    for (int passes = 0; passes < 4; passes++) {
        kn_basis b;
        kn_range_info info;
        kn_range_options o = {.passes = passes, .sketch = sketch};
        assert_ok(ctx, kn_basis_range(ctx, &d.Y, 20, &o, &b, &info));
        check_basis(&b, A);
        double found = kn_sumsq(b.Z) / best;
        assert_true(found > before && found <= 1 + 1e-12);
        assert_true(passes < 2 || found > .9);
        assert_true(info.residual > .05);
        range_of by = range_by_definition(A, sketch, passes, 20);
        if (!(info.residual >= by.below && info.residual <= by.above))
            fail_msg("%d passes: residual %.8f, by the definition %.8f (%.8f to %.8f)", passes,
                     info.residual, by.residual, by.below, by.above);
        assert_int_equal(info.readings, passes + 1);
        before = found;
        kn_basis_clear(&b);
    }
    free(A.data), free(directions.data), free(sketch.data);
    kn_gram_clear(&gram);
    data_free(&d);
}

static void range_of_some_samples_takes_their_own_mean(void **state)
{
    (void)state;
    enum { N = 90, T = 700, n = 50 };
    for (int standardise = 0; standardise < 2; standardise++) { /* 0: means a thousand times sd */
        data d = data_of(make(N, T, 6, .5, .1, 1000), standardise);
        data_open(&d);
        ptrdiff_t rows[n];
        double mean[T];
        for (ptrdiff_t i = 0; i < n; i++)
            rows[i] = (7 * i + 3) % N;
        kn_responses some = kn_responses_rows(&d.Y, rows, n);
        kn_mat A = plain(&some, NULL);
        kn_range_options o = {.centre = true, .passes = KN_RANGE_PASSES, .seed = 2, .mean = mean};
        kn_range_info info;
        kn_basis b;
        assert_ok(ctx, kn_basis_range(ctx, &some, 5, &o, &b, &info));
        for (ptrdiff_t j = 0; j < T; j++) {
            double m = 0;
            for (ptrdiff_t i = 0; i < n; i++)
                m += kn_at(A, i, j) / n;
            assert_close(mean[j], m, 1e-12);
        }
        free(A.data);
        A = plain(&some, mean);
        check_basis(&b, A);
        assert_true(info.residual < .01);
        kn_mat G = ref_mul(0, A, 1, A);
        double s2[n];
        assert_ok(ctx, kn_eig(ctx, G, s2));
        /* Eigenvalues of Z'Z are at least the t_p of the residual r and at most those l_p of AA'.
         * By Kato and Temple l_p - t_p <= (r t_p)^2 / (t_p - l_(p+1)), which is at most
         * 2 (r l_p)^2 / (l_p - l_(p+1)) where r l_p is less than a half of that gap. */
        for (ptrdiff_t p = 0; p < 5; p++) {
            double l = s2[n - 1 - p], gap = (l - s2[n - 2 - p]) / l;
            double below = 1 - kn_sumsq(kn_cols(b.Z, p, 1)) / l;
            assert_true(info.residual < gap / 2);
            assert_true(below > -1e-10 && below < 2 * pow(info.residual, 2) / gap + 1e-10);
        }
        free(A.data), free(G.data);
        kn_basis_clear(&b);
        data_free(&d);
    }
}

static void range_holds_for_awkward_sizes(void **state)
{
    (void)state;
    static const ptrdiff_t CASE[][3] = {/* n, T, P */
                                        {2, 1, 1},    {2, 40, 1},   {2, 40, 2},    {3, 2, 2},
                                        {40, 1, 1},   {30, 12, 1},  {30, 12, 12},  {30, 12, 11},
                                        {12, 30, 11}, {12, 30, 12}, {25, 2500, 24}};
    for (int c = 0; c < 11; c++)
        for (int centre = 0; centre < 2; centre++) {
            ptrdiff_t n = CASE[c][0], T = CASE[c][1], P = CASE[c][2];
            data d = data_of(make(n, T, 3, .5, 1, 0), false);
            data_open(&d);
            double *mean = calloc((size_t)T, sizeof *mean);
            kn_range_options o = {.centre = centre,
                                  .passes = KN_RANGE_PASSES,
                                  .seed = 9,
                                  .mean = mean};
            kn_range_info info;
            kn_basis b;
            if (centre && P == n)
                assert_refused(ctx, kn_basis_range(ctx, &d.Y, P, &o, &b, &info), KN_ERR_ARGUMENT,
                               "allow at most");
            else {
                assert_ok(ctx, kn_basis_range(ctx, &d.Y, P, &o, &b, &info));
                kn_mat A = plain(&d.Y, mean);
                check_basis(&b, A);
                assert_int_equal(b.B.cols, P);
                if (P == (n - centre < T ? n - centre : T))
                    assert_close(info.captured, 1, 1e-12);
                free(A.data);
                kn_basis_clear(&b);
            }
            free(mean);
            data_free(&d);
        }
}

static void range_finds_as_many_components_as_there_are(void **state)
{
    (void)state;
    data d = data_of(make(80, 900, 4, .9, 0, 0), false);
    data_open(&d);
    kn_range_options o = {.passes = KN_RANGE_PASSES, .seed = 1};
    kn_range_info info;
    kn_basis b;
    kn_gram gram;
    /* float32 values of rank 4 have rank 80 by their rounding, 1e-7 of the rest */
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 4, &o, &b, &info));
    assert_true(info.captured > 1 - 1e-12);
    kn_basis_clear(&b);
    /* whole numbers of rank 3 are exact */
    for (ptrdiff_t j = 0; j < 900; j++)
        for (ptrdiff_t i = 0; i < 80; i++)
            ((float *)d.memory)[i * 900 + j] =
                (float)(i % 2 * (j % 7) + i % 3 * (j % 11) + i % 5 * (j % 13));
    kn_scaling_clear(&d.scaling);
    assert_ok(ctx, kn_scaling_new(ctx, d.Y.Y, false, &d.scaling));
    data_open(&d);
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 10, &o, &b, &info));
    assert_ok(ctx, kn_gram_new(ctx, &d.Y, &gram));
    assert_int_equal(b.B.cols, 3);
    assert_int_equal(gram.rank, 3);
    kn_gram_clear(&gram);
    kn_basis_clear(&b);
    /* the same sample over and over has no component of its own once centred */
    ptrdiff_t rows[6] = {7, 7, 7, 7, 7, 7};
    kn_responses same = kn_responses_rows(&d.Y, rows, 6);
    o.centre = true;
    assert_refused(ctx, kn_basis_range(ctx, &same, 2, &o, &b, &info), KN_ERR_DATA,
                   "no response varies");
    assert_null(b.B.data);
    data_free(&d);
}

static void components_far_below_the_first_are_as_exact(void **state)
{
    (void)state;
    data d = data_of(make(40, 300, 8, .1, 0, 0), false);
    data_open(&d);
    kn_range_options o = {.passes = KN_RANGE_PASSES, .seed = 1};
    kn_range_info info;
    kn_basis b;
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 6, &o, &b, &info));
    kn_mat A = plain(&d.Y, NULL), Z = ref_mul(0, A, 0, b.B);
    check_basis(&b, A);
    assert_int_equal(info.readings, 5);
    double s6 = sqrt(kn_sumsq(kn_cols(b.Z, 5, 1)));
    for (ptrdiff_t i = 0; i < 40; i++)
        assert_close(kn_at(b.Z, i, 5) / s6, kn_at(Z, i, 5) / s6, 1e-8);
    free(A.data), free(Z.data);
    kn_basis_clear(&b);
    data_free(&d);
}

/* Euclidean distance of column p of two matrices, the second times `sign`. */
static double apart(kn_mat a, kn_mat b, ptrdiff_t p, double sign)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < a.rows; i++)
        sum += pow(kn_at(a, i, p) - sign * kn_at(b, i, p), 2);
    return sqrt(sum);
}

/* The sign that brings column p of b to that of a. A component has the sign that makes its largest
 * entry positive: rounding may turn it where an entry of the other sign is as large up to `off`. */
static double sign_of(kn_mat a, kn_mat b, ptrdiff_t p, double off)
{
    double dot = 0, top = 0, bottom = 0;
    for (ptrdiff_t j = 0; j < a.rows; j++) {
        dot += kn_at(a, j, p) * kn_at(b, j, p);
        top = fmax(top, kn_at(a, j, p));
        bottom = fmin(bottom, kn_at(a, j, p));
    }
    assert_true(dot > 0 || top + bottom <= 2 * off);
    return dot > 0 ? 1 : -1;
}

/* The last reading in float32 against double: B is orthonormal as before, numbers agree to what
 * float32 has, with and without a mean of their own; two values of s_1/s_P.
 *
 * With u the unit roundoff of float32, column q of A'Q in float32 has an error of e_q = u |A| from
 * the values and the sums, and 4 u s_q from what is made of it afterwards. In units of s_p that is
 * the error of b_p out of the span; within the span b_p turns towards b_q by
 * (s_p e_q + s_q e_p) / |s_p^2 - s_q^2| (first order of an eigenvector of Z'Z). The spectra decay
 * far enough for all twelve components to be separate from each other and from the noise. */
static void a_last_reading_in_float32_is_as_good_as_the_responses(void **state)
{
    (void)state;
    enum { N = 160, T = 5000, P = 6, DIRECTIONS = 12 };
    const double u = FLT_EPSILON / 2;
    static double mean[2][T];
    for (int what = 0; what < 4; what++) {
        data d = data_of(make(N, T, DIRECTIONS, what < 2 ? .7 : .4, .02, 1), true);
        data_open(&d);
        kn_basis b[2];
        kn_range_info info[2];
        kn_gram gram;
        assert_ok(ctx, kn_gram_new(ctx, &d.Y, &gram));
        for (int k = 0; k < 2; k++) {
            kn_range_options o = {.centre = what % 2,
                                  .passes = KN_RANGE_PASSES,
                                  .seed = 4,
                                  .mean = mean[k],
                                  .last = k ? KN_LAST_SINGLE : KN_LAST_DOUBLE};
            assert_ok(ctx, kn_basis_range(ctx, &d.Y, P, &o, &b[k], &info[k]));
        }
        kn_mat I = ref_mul(1, b[1].B, 0, b[1].B);
        double size = sqrt(b[0].total), e[DIRECTIONS];
        for (ptrdiff_t q = 0; q < DIRECTIONS; q++)
            e[q] = u * (size + 4 * sqrt(gram.s2[q]));
        for (ptrdiff_t p = 0; p < P; p++) {
            double s = sqrt(gram.s2[p]), off = e[p] / s;
            for (ptrdiff_t q = 0; q < DIRECTIONS; q++)
                if (q != p)
                    off += (s * e[q] + sqrt(gram.s2[q]) * e[p]) / fabs(gram.s2[p] - gram.s2[q]);
            for (ptrdiff_t q = 0; q < P; q++)
                assert_close(kn_at(I, q, p), p == q, 1e-12);
            double sign = sign_of(b[0].B, b[1].B, p, off);
            double off_B = apart(b[0].B, b[1].B, p, sign),
                   off_Z = apart(b[0].Z, b[1].Z, p, sign) / s;
            if (!(off_B <= off && off_Z <= off))
                fail_msg("component %d: B %.2e, Z %.2e apart, allowed %.2e", (int)p, off_B, off_Z,
                         off);
        }
        for (ptrdiff_t j = 0; j < T; j++)
            assert_close(mean[1][j], mean[0][j], 1e-7);
        assert_close(b[1].total / b[0].total, 1, 1e-7);
        assert_close(b[1].E / b[0].total, b[0].E / b[0].total, 1e-6);
        free(I.data);
        kn_gram_clear(&gram);
        kn_basis_clear(&b[0]), kn_basis_clear(&b[1]);
        data_free(&d);
    }
}

static void a_start_from_some_samples_saves_a_pass(void **state)
{
    (void)state;
    data d = data_of(make(300, 1200, 30, .9, .5, 0), true);
    data_open(&d);
    ptrdiff_t rows[100];
    for (ptrdiff_t i = 0; i < 100; i++)
        rows[i] = 3 * i;
    kn_responses some = kn_responses_rows(&d.Y, rows, 100);
    kn_basis start, cold, warm;
    kn_range_info info, cold_info, warm_info;
    kn_range_options o = {.passes = KN_RANGE_PASSES, .seed = 1};
    assert_ok(ctx, kn_basis_range(ctx, &some, 20, &o, &start, &info));
    o.passes = 1;
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 12, &o, &cold, &cold_info));
    kn_mat A = plain(&d.Y, NULL), sketch = ref_mul(0, A, 0, start.B);
    o.sketch = sketch; /* 20 columns, of which 12 + 10 fit: two random ones fill up */
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 12, &o, &warm, &warm_info));
    assert_true(warm_info.residual < cold_info.residual / 2);
    assert_true(warm.E < cold.E);
    kn_basis_clear(&warm);
    assert_ok(ctx, kn_basis_range(ctx, &d.Y, 5, &o, &warm, &warm_info)); /* more than fit */
    assert_int_equal(warm_info.readings, 2);
    free(A.data), free(sketch.data);
    kn_basis_clear(&start), kn_basis_clear(&cold), kn_basis_clear(&warm);
    data_free(&d);
}

/* Where a residual is enough, a pass that reaches it was the last; where none is, as before. */
static void a_pass_that_is_enough_is_the_last(void **state)
{
    (void)state;
    data d = data_of(make(200, 1500, 10, .6, .05, 0), true);
    data_open(&d);
    kn_basis b[3];
    kn_range_info info[3];
    double enough[3] = {0, .5, 1e-12};
    for (int k = 0; k < 3; k++) {
        kn_range_options o = {.passes = 1, .seed = 1, .enough = enough[k], .last = KN_LAST_SINGLE};
        assert_ok(ctx, kn_basis_range(ctx, &d.Y, 5, &o, &b[k], &info[k]));
    }
    assert_int_equal(info[0].readings, 3);
    assert_int_equal(info[1].readings, 2);
    assert_int_equal(info[2].readings, 3);
    assert_true(info[1].residual <= .5 && info[1].residual > info[0].residual);
    assert_true(outside(b[0].B, 5, b[1].B) < info[1].residual);
    assert_memory_equal(b[0].B.data, b[2].B.data, 1500 * 5 * sizeof(double));
    for (int k = 0; k < 3; k++)
        kn_basis_clear(&b[k]);
    data_free(&d);
}

static void one_seed_one_basis(void **state)
{
    (void)state;
    data d = data_of(make(70, 4500, 10, .7, .2, 0), true);
    data_open(&d);
    kn_basis b[3];
    kn_range_info info[3];
    for (int r = 0; r < 3; r++) {
        kn_range_options o = {.passes = KN_RANGE_PASSES, .seed = r < 2 ? 1 : 2};
        assert_ok(ctx, kn_basis_range(ctx, &d.Y, 5, &o, &b[r], &info[r]));
    }
    assert_memory_equal(b[0].B.data, b[1].B.data, 4500 * 5 * sizeof(double));
    assert_memory_equal(b[0].Z.data, b[1].Z.data, 70 * 5 * sizeof(double));
    assert_true(memcmp(b[0].B.data, b[2].B.data, 4500 * 5 * sizeof(double)) != 0);
    assert_true(outside(b[0].B, 5, b[2].B) < 1e-4);
    for (int r = 0; r < 3; r++)
        kn_basis_clear(&b[r]);
    data_free(&d);
}

TEST_PROGRAM(gp_range_finder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_finds_what_pca_finds_when_the_spectrum_decays),
        cmocka_unit_test(range_finder_reports_that_a_flat_spectrum_has_not_converged),
        cmocka_unit_test(range_of_some_samples_takes_their_own_mean),
        cmocka_unit_test(range_holds_for_awkward_sizes),
        cmocka_unit_test(range_finds_as_many_components_as_there_are),
        cmocka_unit_test(a_last_reading_in_float32_is_as_good_as_the_responses),
        cmocka_unit_test(components_far_below_the_first_are_as_exact),
        cmocka_unit_test(a_start_from_some_samples_saves_a_pass),
        cmocka_unit_test(a_pass_that_is_enough_is_the_last),
        cmocka_unit_test(one_seed_one_basis),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
