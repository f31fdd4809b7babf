/* Responses as blocks and strips, the Gram matrix in either precision, and both ways to principal
 * components. */
#include "test.h"

#include "base/rng.h"
#include "gp/basis_range.h"
#include "la/la.h"

static kn_ctx *ctx;
static kn_rng rng;

/* Values N x T in one of the layouts callers have. */
enum { ROWS_F32, COLS_F32, ROWS_F64, COLS_F64, STRIDED_F32, N_LAYOUTS };

static kn_view laid_out(kn_mat values, int layout, void **memory)
{
    ptrdiff_t N = values.rows, T = values.cols, rs, cs;
    bool single = layout == ROWS_F32 || layout == COLS_F32 || layout == STRIDED_F32;
    rs = layout == COLS_F32 || layout == COLS_F64 ? 1 : layout == STRIDED_F32 ? 3 * T + 1 : T;
    cs = layout == COLS_F32 || layout == COLS_F64 ? N : layout == STRIDED_F32 ? 3 : 1;
    size_t room = (size_t)(N * rs + T * cs + 1);
    *memory = calloc(room, single ? sizeof(float) : sizeof(double));
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            if (single)
                ((float *)*memory)[i * rs + j * cs] = (float)kn_at(values, i, j);
            else
                ((double *)*memory)[i * rs + j * cs] = kn_at(values, i, j);
    return (kn_view){*memory, single ? KN_F32 : KN_F64, N, T, rs, cs};
}

/* N x T float32-representable numbers: `rank` directions of size decay^k, and noise. */
static kn_mat make(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank, double decay, double noise,
                   double offset)
{
    kn_mat A = ref_normal(&rng, N, rank), C = ref_normal(&rng, rank, T);
    for (ptrdiff_t k = 0; k < rank; k++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(A, k)[i] *= pow(decay, (double)k);
    kn_mat Y = ref_mul(0, A, 0, C);
    for (ptrdiff_t i = 0; i < N * T; i++) {
        double e = noise > 0 ? noise * kn_rng_normal(&rng) : 0;
        Y.data[i] = (float)(offset + Y.data[i] + e);
    }
    free(A.data), free(C.data);
    return Y;
}

typedef struct data {
    kn_mat values;
    void *memory;
    kn_scaling scaling;
    kn_responses Y;
} data;

static data data_of(kn_mat values, bool standardise)
{
    data d = {.values = values};
    kn_view view = laid_out(values, ROWS_F32, &d.memory);
    assert_ok(ctx, kn_scaling_new(ctx, view, standardise, &d.scaling));
    return d;
}

/* d->scaling must stay where it is, so the responses are made last. */
static void data_open(data *d)
{
    kn_view view = {d->memory, KN_F32, d->values.rows, d->values.cols, d->values.cols, 1};
    d->Y = kn_responses_of(view, &d->scaling);
}

static void data_free(data *d)
{
    free(d->values.data);
    free(d->memory);
    kn_scaling_clear(&d->scaling);
}

/* (n x T) standardised values of these responses by the definition, minus mean where given */
static kn_mat plain(const kn_responses *Y, const double *mean)
{
    kn_mat A = ref_new(Y->N, Y->T);
    const kn_scaling *s = Y->scaling;
    for (ptrdiff_t j = 0; j < Y->T; j++)
        for (ptrdiff_t i = 0; i < Y->N; i++)
            kn_col(A, j)[i] =
                (kn_view_at(Y->Y, Y->rows ? Y->rows[i] : i, s->kept[j]) - s->mean[j]) / s->sd[j] -
                (mean ? mean[j] : 0);
    return A;
}

static void blocks_and_strips_are_the_same_in_every_layout(void **state)
{
    (void)state;
    static const ptrdiff_t SIZE[][2] = {{2, 1}, {3, 5}, {8, 256}, {9, 257}, {65, 600}};
    for (int s = 0; s < 5; s++)
        for (int layout = 0; layout < N_LAYOUTS; layout++) {
            ptrdiff_t N = SIZE[s][0], T = SIZE[s][1], rows[3] = {1, 0, N - 1};
            kn_mat values = make(N, T, 1, 1, 1, 5);
            if (T > 200) { /* one constant, one not finite: the rest no longer lie side by side */
                for (ptrdiff_t i = 0; i < N; i++)
                    kn_col(values, 100)[i] = 7;
                kn_col(values, 150)[1] = NAN;
            }
            void *memory;
            kn_scaling scaling;
            kn_view view = laid_out(values, layout, &memory);
            assert_ok(ctx, kn_scaling_new(ctx, view, true, &scaling));
            assert_int_equal(scaling.n_kept, T > 200 ? T - 2 : T);
            kn_responses all = kn_responses_of(view, &scaling);
            kn_responses some = kn_responses_rows(&all, rows, 3);
            for (int part = 0; part < 2; part++) {
                const kn_responses *Y = part ? &some : &all;
                ptrdiff_t first = Y->T > 2 ? 1 : 0, count = Y->T - first;
                kn_mat A = plain(Y, NULL), block = ref_new(Y->N, count);
                kn_mat strip = ref_new(count, Y->N), named = ref_new(Y->N, 1);
                kn_fmat narrow;
                assert_ok(ctx, kn_fmat_new(ctx, count, Y->N, &narrow));
                kn_responses_block(ctx, Y, first, block);
                kn_responses_strip(ctx, Y, first, strip);
                kn_responses_strip_f32(ctx, Y, first, narrow);
                kn_responses_columns(ctx, Y, &first, named);
                assert_same(block, kn_cols(A, first, count), 1e-14);
                for (ptrdiff_t i = 0; i < Y->N; i++)
                    for (ptrdiff_t j = 0; j < count; j++) {
                        assert_true(kn_at(strip, j, i) == kn_at(block, i, j));
                        assert_true(kn_fcol(narrow, i)[j] == (float)kn_at(block, i, j));
                        assert_true(j > 0 || kn_at(named, i, 0) == kn_at(block, i, 0));
                    }
                kn_fmat_clear(&narrow);
                free(A.data), free(block.data), free(strip.data), free(named.data);
            }
            kn_scaling_clear(&scaling);
            free(values.data), free(memory);
        }
}

static void moments_far_from_zero_keep_their_digits(void **state)
{
    (void)state;
    enum { N = 1003, T = 3 };
    kn_mat Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < N; i++) { /* far away; a ramp; an outlier first */
        kn_col(Y, 0)[i] = 1e8 + kn_rng_normal(&rng);
        kn_col(Y, 1)[i] = -1e6 + 1e3 * (double)i;
        kn_col(Y, 2)[i] = i == 0 ? 1e9 : kn_rng_normal(&rng);
    }
    kn_scaling s;
    assert_ok(ctx, kn_scaling_new(ctx, kn_view_cols(Y.data, N, T), true, &s));
    for (ptrdiff_t j = 0; j < T; j++) {
        long double mean = 0, S = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += kn_at(Y, i, j) / (long double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            S += (kn_at(Y, i, j) - mean) * (kn_at(Y, i, j) - mean) / (long double)N;
        assert_close(s.mean[j] / (double)mean, 1, 1e-14);
        assert_close(s.sd[j] / (double)sqrtl(S), 1,
                     j == 0 ? 1e-8 : 1e-12); /* 1e8 eps: the data's */
    }
    kn_scaling_clear(&s);
    free(Y.data);
}

/* ---- the Gram matrix ----------------------------------------------------------------------- */

static void a_float32_gram_is_good_to_1e_7_of_its_diagonal(void **state)
{
    (void)state;
    data d = data_of(make(40, 50000, 5, .8, 1, 100), true);
    data_open(&d);
    kn_gram wide, narrow;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F64, &wide));
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &narrow));
    for (ptrdiff_t i = 0; i < 40; i++) {
        for (ptrdiff_t j = 0; j < 40; j++)
            assert_true(fabs(kn_at(narrow.G, i, j) - kn_at(wide.G, i, j)) <=
                        1e-7 * sqrt(kn_at(wide.G, i, i) * kn_at(wide.G, j, j)));
        assert_true(fabs(narrow.s2[i] - wide.s2[i]) <= narrow.noise);
    }
    assert_true(narrow.noise > wide.noise);
    assert_int_equal(narrow.rank, 39);
    assert_int_equal(wide.rank, 39);
    kn_gram_clear(&wide), kn_gram_clear(&narrow);
    data_free(&d);
}

static void a_float32_gram_does_not_take_its_rounding_for_components(void **state)
{
    (void)state;
    data d = data_of(make(150, 3000, 4, .7, 0, 0), false);
    data_open(&d);
    kn_gram gram;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &gram));
    assert_int_equal(gram.rank, 4);
    kn_gram_clear(&gram);
    data_free(&d);
}

static void only_long_work_on_float32_is_done_in_float32(void **state)
{
    (void)state;
    kn_responses Y = {.Y = {.type = KN_F32}, .N = 600, .T = 5438};
    assert_int_equal(kn_gram_precision(&Y), KN_F64);
    Y.N = 2000, Y.T = 200000;
    assert_int_equal(kn_gram_precision(&Y), KN_F32);
    Y.Y.type = KN_F64;
    assert_int_equal(kn_gram_precision(&Y), KN_F64);
}

/* ---- bases --------------------------------------------------------------------------------- */

/* B'B = I, Z = A B, Z'Z diagonal and descending, E, signs. */
static void check_basis(const kn_basis *b, kn_mat A)
{
    ptrdiff_t P = b->B.cols;
    kn_mat I = ref_mul(1, b->B, 0, b->B), Z = ref_mul(0, A, 0, b->B), D = ref_mul(1, b->Z, 0, b->Z);
    double total = kn_sumsq(A), s1 = kn_at(D, 0, 0);
    assert_int_equal(b->Z.cols, P);
    for (ptrdiff_t p = 0; p < P; p++) {
        for (ptrdiff_t q = 0; q < P; q++) {
            assert_close(kn_at(I, p, q), p == q, 1e-12);
            if (p != q)
                assert_close(kn_at(D, p, q) / s1, 0, 1e-12);
        }
        assert_true(p == 0 || kn_at(D, p, p) <= kn_at(D, p - 1, p - 1) * (1 + 1e-12));
        double top = 0;
        for (ptrdiff_t j = 0; j < A.cols; j++)
            top = fabs(kn_at(b->B, j, p)) > fabs(top) ? kn_at(b->B, j, p) : top;
        assert_true(top > 0);
        for (ptrdiff_t i = 0; i < A.rows; i++)
            assert_close(kn_at(b->Z, i, p) / sqrt(s1), kn_at(Z, i, p) / sqrt(s1), 1e-11);
    }
    assert_close(b->total / total, 1, 1e-12);
    assert_close(b->E / total, (total - kn_sumsq(Z)) / total, 1e-12);
    free(I.data), free(Z.data), free(D.data);
}

/* max over the first n columns of a of the part outside span(b) */
static double outside(kn_mat a, ptrdiff_t n, kn_mat b)
{
    kn_mat C = ref_mul(1, b, 0, kn_cols(a, 0, n));
    double worst = 0;
    for (ptrdiff_t p = 0; p < n; p++)
        worst = fmax(worst, sqrt(fmax(0, 1 - kn_sumsq(kn_cols(C, p, 1)))));
    free(C.data);
    return worst;
}

/* max over columns of |A'z - s^2 b| / s^2 with z = A b, s = |z| */
static double true_residual(const kn_basis *b, kn_mat A)
{
    kn_mat R = ref_mul(1, A, 0, b->Z);
    double worst = 0;
    for (ptrdiff_t p = 0; p < R.cols; p++) {
        double s2 = kn_sumsq(kn_cols(b->Z, p, 1)), sum = 0;
        for (ptrdiff_t j = 0; j < R.rows; j++)
            sum += pow(kn_at(R, j, p) - s2 * kn_at(b->B, j, p), 2);
        worst = fmax(worst, sqrt(sum) / s2);
    }
    free(R.data);
    return worst;
}

static void the_basis_of_a_float32_gram_is_exact_in_double(void **state)
{
    (void)state;
    data d = data_of(make(60, 2500, 8, .7, .3, 10), true);
    data_open(&d);
    kn_gram wide, narrow;
    kn_basis exact, b;
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F64, &wide));
    assert_ok(ctx, kn_gram_made(ctx, &d.Y, KN_F32, &narrow));
    assert_ok(ctx, kn_basis_pca(ctx, &d.Y, &wide, 12, &exact));
    assert_ok(ctx, kn_basis_pca(ctx, &d.Y, &narrow, 12, &b));
    kn_mat A = plain(&d.Y, NULL);
    check_basis(&b, A);
    check_basis(&exact, A);
    assert_true(outside(exact.B, 8, b.B) < 1e-5);
    for (ptrdiff_t p = 0; p < 12; p++)
        assert_close(kn_sumsq(kn_cols(b.Z, p, 1)) / wide.s2[p], 1, 1e-9);
    free(A.data);
    kn_basis_clear(&b), kn_basis_clear(&exact);
    kn_gram_clear(&wide), kn_gram_clear(&narrow);
    data_free(&d);
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
 * missed with two passes, and the residual says that nothing has converged. */
static void range_says_that_a_flat_spectrum_has_not_converged(void **state)
{
    (void)state;
    data d = data_of(make(200, 1000, 0, 1, 1, 0), false);
    data_open(&d);
    kn_gram gram;
    double best = 0, before = 0;
    assert_ok(ctx, kn_gram_new(ctx, &d.Y, &gram));
    for (ptrdiff_t p = 0; p < 20; p++)
        best += gram.s2[p];
    kn_mat A = plain(&d.Y, NULL);
    for (int passes = 0; passes < 4; passes++) {
        kn_basis b;
        kn_range_info info;
        kn_range_options o = {.passes = passes, .seed = 5};
        assert_ok(ctx, kn_basis_range(ctx, &d.Y, 20, &o, &b, &info));
        check_basis(&b, A);
        double found = kn_sumsq(b.Z) / best;
        assert_true(found > before && found <= 1 + 1e-12);
        assert_true(passes < 2 || found > .9);
        assert_true(info.residual > .05);
        assert_true(true_residual(&b, A) < info.residual);
        assert_int_equal(info.readings, passes + 2);
        before = found;
        kn_basis_clear(&b);
    }
    free(A.data);
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
        for (ptrdiff_t p = 0; p < 5; p++)
            assert_close(kn_sumsq(kn_cols(b.Z, p, 1)) / s2[n - 1 - p], 1, 1e-6);
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
                               "have at most");
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

/* The last reading in float32 against double: B is orthonormal as before, numbers agree to what
 * float32 has, with and without a mean of their own; two values of s_1/s_P. */
static void a_last_reading_in_float32_is_as_good_as_the_responses(void **state)
{
    (void)state;
    enum { N = 160, T = 5000, P = 6 };
    static double mean[2][T];
    for (int what = 0; what < 4; what++) {
        data d = data_of(make(N, T, 12, what < 2 ? .7 : .2, .02, 1), true);
        data_open(&d);
        kn_basis b[2];
        kn_range_info info[2];
        for (int k = 0; k < 2; k++) {
            kn_range_options o = {.centre = what % 2,
                                  .passes = KN_RANGE_PASSES,
                                  .seed = 4,
                                  .mean = mean[k],
                                  .last = k ? KN_LAST_SINGLE : KN_LAST_DOUBLE};
            assert_ok(ctx, kn_basis_range(ctx, &d.Y, P, &o, &b[k], &info[k]));
        }
        kn_mat I = ref_mul(1, b[1].B, 0, b[1].B);
        for (ptrdiff_t p = 0; p < P; p++) {
            double s = sqrt(kn_sumsq(kn_cols(b[0].Z, p, 1)));
            for (ptrdiff_t q = 0; q < P; q++)
                assert_close(kn_at(I, q, p), p == q, 1e-12);
            for (ptrdiff_t i = 0; i < N; i++)
                assert_close(kn_at(b[1].Z, i, p) / s, kn_at(b[0].Z, i, p) / s, 2e-6);
            for (ptrdiff_t j = 0; j < T; j++)
                assert_close(kn_at(b[1].B, j, p), kn_at(b[0].B, j, p), 2e-6);
        }
        for (ptrdiff_t j = 0; j < T; j++)
            assert_close(mean[1][j], mean[0][j], 1e-7);
        assert_close(b[1].total / b[0].total, 1, 1e-7);
        assert_close(b[1].E / b[0].total, b[0].E / b[0].total, 1e-6);
        free(I.data);
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

static void held_out_samples_are_projected_with_the_mean_of_the_others(void **state)
{
    (void)state;
    enum { T = 300 };
    data d = data_of(make(60, T, 6, .6, .3, 4), true);
    data_open(&d);
    ptrdiff_t train[40], test[20];
    double mean[T];
    for (ptrdiff_t i = 0; i < 60; i++)
        *(i < 40 ? &train[i] : &test[i - 40]) = i;
    kn_responses tr = kn_responses_rows(&d.Y, train, 40), te = kn_responses_rows(&d.Y, test, 20);
    kn_range_options o = {.centre = true, .passes = KN_RANGE_PASSES, .seed = 3, .mean = mean};
    kn_range_info info;
    kn_basis b, held = {0};
    assert_ok(ctx, kn_basis_range(ctx, &tr, 4, &o, &b, &info));
    held.B = b.B;
    held.Z = ref_new(20, 4);
    assert_ok(ctx, kn_basis_project(ctx, &te, mean, &held));
    kn_mat A = plain(&te, mean), Z = ref_mul(0, A, 0, b.B);
    assert_same(held.Z, Z, 1e-12);
    assert_close(held.total / kn_sumsq(A), 1, 1e-12);
    free(A.data), free(Z.data), free(held.Z.data);
    kn_basis_clear(&b);
    data_free(&d);
}

static void memory_that_is_not_there_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    data d = data_of(make(20, 60, 3, .5, .3, 0), true);
    data_open(&d);
    kn_range_options o = {.centre = true, .passes = 1, .seed = 3};
    kn_range_info info;
    kn_basis b;
    kn_gram gram;
    for (int what = 0; what < 2; what++)
        for (long k = 1;; k++) {
            assert_true(k < 200);
            kn_fail_allocation(ctx, k);
            kn_status s = what ? kn_gram_made(ctx, &d.Y, KN_F32, &gram)
                               : kn_basis_range(ctx, &d.Y, 3, &o, &b, &info);
            kn_fail_allocation(ctx, 0);
            if (s == KN_OK)
                break;
            assert_int_equal(s, KN_ERR_MEMORY);
        }
    kn_gram_clear(&gram);
    kn_basis_clear(&b);
    data_free(&d);
}

static int setup(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    kn_rng_init(&rng, 20, 1);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_strips_are_the_same_in_every_layout),
        cmocka_unit_test(moments_far_from_zero_keep_their_digits),
        cmocka_unit_test(a_float32_gram_is_good_to_1e_7_of_its_diagonal),
        cmocka_unit_test(a_float32_gram_does_not_take_its_rounding_for_components),
        cmocka_unit_test(only_long_work_on_float32_is_done_in_float32),
        cmocka_unit_test(the_basis_of_a_float32_gram_is_exact_in_double),
        cmocka_unit_test(range_finds_what_pca_finds_when_the_spectrum_decays),
        cmocka_unit_test(range_says_that_a_flat_spectrum_has_not_converged),
        cmocka_unit_test(range_of_some_samples_takes_their_own_mean),
        cmocka_unit_test(range_holds_for_awkward_sizes),
        cmocka_unit_test(range_finds_as_many_components_as_there_are),
        cmocka_unit_test(a_last_reading_in_float32_is_as_good_as_the_responses),
        cmocka_unit_test(components_far_below_the_first_are_as_exact),
        cmocka_unit_test(a_start_from_some_samples_saves_a_pass),
        cmocka_unit_test(a_pass_that_is_enough_is_the_last),
        cmocka_unit_test(one_seed_one_basis),
        cmocka_unit_test(held_out_samples_are_projected_with_the_mean_of_the_others),
        cmocka_unit_test(memory_that_is_not_there_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
