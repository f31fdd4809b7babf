/* Responses in the layouts that callers have, and what a basis of them must be. */
#ifndef KN_TEST_LAID_OUT_H
#define KN_TEST_LAID_OUT_H

#include "support/test.h"

#include "base/random.h"
#include "data/scaling.h"
#include "gp/basis/range_finder.h"
#include "la/la.h"

static kn_ctx *ctx;
static kn_rng rng;

/* Values N x T in one of the layouts callers have. */
enum { ROWS_F32, COLS_F32, ROWS_F64, COLS_F64, STRIDED_F32, N_LAYOUTS };

static inline kn_view laid_out(kn_mat values, int layout, void **memory)
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
static inline kn_mat make(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank, double decay, double noise,
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

static inline data data_of(kn_mat values, bool standardise)
{
    data d = {.values = values};
    kn_view view = laid_out(values, ROWS_F32, &d.memory);
    assert_ok(ctx, kn_scaling_new(ctx, view, standardise, &d.scaling));
    return d;
}

/* d->scaling must stay where it is, so the responses are made last. */
static inline void data_open(data *d)
{
    kn_view view = {d->memory, KN_F32, d->values.rows, d->values.cols, d->values.cols, 1};
    d->Y = kn_responses_of(view, &d->scaling);
}

static inline void data_free(data *d)
{
    free(d->values.data);
    free(d->memory);
    kn_scaling_clear(&d->scaling);
}

/* (n x T) standardised values of these responses by the definition, minus mean where given */
static inline kn_mat plain(const kn_responses *Y, const double *mean)
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

/* B'B = I, Z = A B, Z'Z diagonal and descending, E, signs. */
static inline void check_basis(const kn_basis *b, kn_mat A)
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
static inline double outside(kn_mat a, ptrdiff_t n, kn_mat b)
{
    kn_mat C = ref_mul(1, b, 0, kn_cols(a, 0, n));
    double worst = 0;
    for (ptrdiff_t p = 0; p < n; p++)
        worst = fmax(worst, sqrt(fmax(0, 1 - kn_sumsq(kn_cols(C, p, 1)))));
    free(C.data);
    return worst;
}

static inline int setup(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 20, 1);
    return ctx ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

#endif
