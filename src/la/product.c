/* Products and triangular solves of la.h. A product is split into pieces by tiles.h; each piece is
 * one BLAS call on one thread, so that the bits do not depend on the number of threads. */
#include <assert.h>
#include <cblas.h>
#include <stdlib.h>

#include "la/la.h"
#include "la/tiles.h"

enum { WIDEST = 1 << 30 }; /* largest size: the sum of two still fits the integers of the BLAS */

/* Converts a size to a BLAS integer. */
static int narrow(ptrdiff_t n)
{
    assert(n >= 0 && n <= WIDEST);
    return (int)n;
}

static CBLAS_TRANSPOSE op(kn_trans t)
{
    return t == KN_N ? CblasNoTrans : CblasTrans;
}

/* A factor op(M), and a result, of either precision. */
typedef struct factor {
    const void *data;
    ptrdiff_t ld;
    kn_trans t;
} factor;

typedef struct result {
    void *data;
    ptrdiff_t rows, cols, ld;
} result;

/* C = alpha op(A) op(B) + beta C, or the lower triangle of alpha op(A) op(A)' + beta C. */
typedef struct product {
    bool single; /* float32 */
    double alpha, beta;
    factor A, B;
    ptrdiff_t k;
    result C;
    kn_tiles tiles;
    void *parts; /* m x n for each chunk of k; NULL: not split along k */
} product;

static size_t element(const product *p)
{
    return p->single ? sizeof(float) : sizeof(double);
}

/* Address of element (i, j) of op(A). */
static const void *from(const product *p, factor A, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t at = A.t == KN_N ? i + j * A.ld : j + i * A.ld;
    return A.data ? (const char *)A.data + (size_t)at * element(p) : NULL;
}

/* Rows i .. i+m-1 and columns j .. j+n-1 of C, elements l .. l+k-1 of the inner dimension. */
typedef struct piece {
    ptrdiff_t i, m, j, n, l, k;
} piece;

/* Compute one piece; C is its destination, in the result or among the parts. */
static void gemm_piece(const product *p, piece w, double beta, void *C, ptrdiff_t ldc)
{
    int m = narrow(w.m), n = narrow(w.n), k = narrow(w.k), ld = narrow(ldc);
    int lda = narrow(p->A.ld), ldb = narrow(p->B.ld);
    const void *a = from(p, p->A, w.i, w.l), *b = from(p, p->B, w.l, w.j);
    if (p->single)
        cblas_sgemm(CblasColMajor, op(p->A.t), op(p->B.t), m, n, k, (float)p->alpha, a, lda, b, ldb,
                    (float)beta, C, ld);
    else
        cblas_dgemm(CblasColMajor, op(p->A.t), op(p->B.t), m, n, k, p->alpha, a, lda, b, ldb, beta,
                    C, ld);
}

static void syrk_piece(const product *p, piece w, double beta, void *C, ptrdiff_t ldc)
{
    int n = narrow(w.n), k = narrow(w.k), lda = narrow(p->A.ld), ld = narrow(ldc);
    const void *a = from(p, p->A, w.i, w.l);
    if (p->single)
        cblas_ssyrk(CblasColMajor, CblasLower, op(p->A.t), n, k, (float)p->alpha, a, lda,
                    (float)beta, C, ld);
    else
        cblas_dsyrk(CblasColMajor, CblasLower, op(p->A.t), n, k, p->alpha, a, lda, beta, C, ld);
}

typedef void (*piece_fn)(const product *p, piece w, double beta, void *C, ptrdiff_t ldc);

typedef struct job {
    const product *p;
    piece_fn whole; /* gemm_piece or syrk_piece, for all of C */
} job;

static void *into(const product *p, ptrdiff_t i, ptrdiff_t j)
{
    return (char *)p->C.data + (size_t)(i + j * p->C.ld) * element(p);
}

static void gemm_tiles(void *self, int worker, ptrdiff_t tile, ptrdiff_t end)
{
    (void)worker;
    const product *p = ((const job *)self)->p;
    for (; tile < end; tile++) {
        ptrdiff_t r = tile % p->tiles.rows, c = tile / p->tiles.rows;
        ptrdiff_t i = kn_tiles_at(p->C.rows, p->tiles.rows, r);
        ptrdiff_t j = kn_tiles_at(p->C.cols, p->tiles.cols, c);
        piece w = {.i = i, .j = j, .k = p->k};
        w.m = kn_tiles_at(p->C.rows, p->tiles.rows, r + 1) - i;
        w.n = kn_tiles_at(p->C.cols, p->tiles.cols, c + 1) - j;
        gemm_piece(p, w, p->beta, into(p, i, j), p->C.ld);
    }
}

/* Piece (r, c) of q x q: block (r, r) if r = c; the left half of block (r, c) if r > c; the right
 * half of block (c, r) if r < c. */
static void syrk_tiles(void *self, int worker, ptrdiff_t tile, ptrdiff_t end)
{
    (void)worker;
    const product *p = ((const job *)self)->p;
    ptrdiff_t n = p->C.rows, q = p->tiles.rows;
    for (; tile < end; tile++) {
        ptrdiff_t r = tile % q, c = tile / q, low = r > c ? r : c, high = r > c ? c : r;
        ptrdiff_t i = kn_tiles_at(n, q, low), j = kn_tiles_at(n, q, high);
        ptrdiff_t width = kn_tiles_at(n, q, high + 1) - j, half = kn_tiles_at(width, 2, 1);
        piece w = {.i = i, .j = j, .k = p->k, .m = kn_tiles_at(n, q, low + 1) - i, .n = width};
        if (r == c) {
            syrk_piece(p, w, p->beta, into(p, i, j), p->C.ld);
            continue;
        }
        w.j = r > c ? j : j + half;
        w.n = r > c ? half : width - half;
        gemm_piece(p, w, p->beta, into(p, w.i, w.j), p->C.ld);
    }
}

/* The partial products of chunks of the inner dimension. */
static void chunks(void *self, int worker, ptrdiff_t chunk, ptrdiff_t end)
{
    (void)worker;
    const job *b = self;
    const product *p = b->p;
    size_t bytes = (size_t)(p->C.rows * p->C.cols) * element(p);
    for (; chunk < end; chunk++) {
        ptrdiff_t l = kn_tiles_at(p->k, p->tiles.depth, chunk);
        piece w = {.m = p->C.rows, .n = p->C.cols, .l = l};
        w.k = kn_tiles_at(p->k, p->tiles.depth, chunk + 1) - l;
        b->whole(p, w, 0, (char *)p->parts + (size_t)chunk * bytes, p->C.rows);
    }
}

/* C = beta C + the parts, in their order, for columns first .. last - 1; of a triangle only the
 * rows from the diagonal down. */
#define ADD_COLUMNS(REAL)                                                                          \
    for (ptrdiff_t j = first; j < last; j++) {                                                     \
        REAL *c = (REAL *)p->C.data + j * p->C.ld;                                                 \
        const REAL *part = (const REAL *)p->parts + j * m;                                         \
        ptrdiff_t i0 = b->whole == syrk_piece ? j : 0;                                             \
        for (ptrdiff_t i = i0; i < m; i++)                                                         \
            c[i] = p->beta == 0 ? part[i] : (REAL)p->beta * c[i] + part[i];                        \
        for (ptrdiff_t l = 1; l < p->tiles.depth; l++) {                                           \
            part += m * p->C.cols;                                                                 \
            for (ptrdiff_t i = i0; i < m; i++)                                                     \
                c[i] += part[i];                                                                   \
        }                                                                                          \
    }

static void add_parts(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const job *b = self;
    const product *p = b->p;
    ptrdiff_t m = p->C.rows;
    if (p->single)
        ADD_COLUMNS(float)
    else
        ADD_COLUMNS(double)
}

static void multiply(kn_ctx *ctx, product *p, piece_fn whole, kn_worker_fn tiles)
{
    enum { ADDITIONS = 200000 }; /* per chunk, to be worth a thread */
    job b = {p, whole};
    ptrdiff_t m = p->C.rows, n = p->C.cols;
    assert(ctx || kn_blas_inside());
    if (m == 0 || n == 0)
        return;
    if (!ctx) {
        p->tiles = (kn_tiles){1, 1, 1};
        tiles(&b, 0, 0, 1);
        return;
    }
    if (p->tiles.depth > 1)
        p->parts = malloc((size_t)(p->tiles.depth * m * n) * element(p));
    if (p->parts) {
        kn_la_parallel(ctx, p->tiles.depth, 1, chunks, &b);
        kn_parallel(ctx, n, 1 + ADDITIONS / (p->tiles.depth * m), add_parts, &b);
        free(p->parts);
    } else { /* also if malloc failed: the only case in which the last bits differ */
        kn_la_parallel(ctx, p->tiles.rows * p->tiles.cols, 1, tiles, &b);
    }
}

static void gemm(kn_ctx *ctx, product *p)
{
    p->tiles = kn_tiles_gemm(p->C.rows, p->C.cols, p->k);
    multiply(ctx, p, gemm_piece, gemm_tiles);
}

static void syrk(kn_ctx *ctx, product *p)
{
    assert(p->C.rows == p->C.cols);
    p->B = (factor){p->A.data, p->A.ld, p->A.t == KN_N ? KN_T : KN_N}; /* op(B) = op(A)' */
    p->tiles = kn_tiles_syrk(p->C.rows, p->k);
    multiply(ctx, p, syrk_piece, syrk_tiles);
}

/* For kn_mat and kn_fmat, which have the same members. */
#define FACTOR(t, M) ((factor){(M).data, (M).ld > 0 ? (M).ld : 1, t})
#define RESULT(M)    ((result){(M).data, (M).rows, (M).cols, (M).ld > 0 ? (M).ld : 1})
#define ROWS(t, M)   ((t) == KN_N ? (M).rows : (M).cols) /* of op(M) */
#define COLS(t, M)   ((t) == KN_N ? (M).cols : (M).rows)

void kn_gemm(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, kn_trans tb, kn_mat B, double beta,
             kn_mat C)
{
    assert(ROWS(ta, A) == C.rows && COLS(tb, B) == C.cols && COLS(ta, A) == ROWS(tb, B));
    product p = {.alpha = alpha, .beta = beta, .A = FACTOR(ta, A), .B = FACTOR(tb, B)};
    p.k = COLS(ta, A);
    p.C = RESULT(C);
    gemm(ctx, &p);
}

void kn_syrk(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, double beta, kn_mat C)
{
    assert(ROWS(ta, A) == C.rows);
    product p = {.alpha = alpha, .beta = beta, .A = FACTOR(ta, A), .k = COLS(ta, A)};
    p.C = RESULT(C);
    syrk(ctx, &p);
}

void kn_gemm_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, kn_trans tb, kn_fmat B,
                 float beta, kn_fmat C)
{
    assert(ROWS(ta, A) == C.rows && COLS(tb, B) == C.cols && COLS(ta, A) == ROWS(tb, B));
    product p = {.single = true, .alpha = (double)alpha, .beta = (double)beta};
    p.A = FACTOR(ta, A);
    p.B = FACTOR(tb, B);
    p.k = COLS(ta, A);
    p.C = RESULT(C);
    gemm(ctx, &p);
}

void kn_syrk_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, float beta, kn_fmat C)
{
    assert(ROWS(ta, A) == C.rows);
    product p = {.single = true, .alpha = (double)alpha, .beta = (double)beta};
    p.A = FACTOR(ta, A);
    p.k = COLS(ta, A);
    p.C = RESULT(C);
    syrk(ctx, &p);
}

void kn_mirror(kn_mat A)
{
    enum { TILE = 32 };
    for (ptrdiff_t j0 = 0; j0 < A.cols; j0 += TILE)
        for (ptrdiff_t i0 = j0; i0 < A.rows; i0 += TILE)
            for (ptrdiff_t j = j0; j < j0 + TILE && j < A.cols; j++)
                for (ptrdiff_t i = i0 > j ? i0 : j + 1; i < i0 + TILE && i < A.rows; i++)
                    A.data[j + i * A.ld] = A.data[i + j * A.ld];
}

/* ---- triangular solves ------------------------------------------------------------------------
 */

typedef struct solve {
    CBLAS_SIDE side;
    kn_trans t;
    kn_mat L, B;
    ptrdiff_t parts; /* into which the rows (right) or columns (left) of B are split */
} solve;

static void solve_parts(void *self, int worker, ptrdiff_t part, ptrdiff_t end)
{
    (void)worker;
    const solve *s = self;
    bool right = s->side == CblasRight;
    ptrdiff_t length = right ? s->B.rows : s->B.cols;
    ptrdiff_t i = kn_tiles_at(length, s->parts, part), n = kn_tiles_at(length, s->parts, end) - i;
    kn_mat B = right ? kn_sub(s->B, i, 0, n, s->B.cols) : kn_cols(s->B, i, n);
    cblas_dtrsm(CblasColMajor, s->side, CblasLower, op(s->t), CblasNonUnit, narrow(B.rows),
                narrow(B.cols), 1.0, s->L.data, narrow(s->L.ld), B.data, narrow(B.ld));
}

static void trsm(kn_ctx *ctx, CBLAS_SIDE side, kn_trans t, kn_mat L, kn_mat B)
{
    bool right = side == CblasRight;
    assert(L.rows == (right ? B.cols : B.rows));
    assert(ctx || kn_blas_inside());
    if (B.rows == 0 || B.cols == 0)
        return;
    solve s = {side, t, L, B, 1};
    if (ctx) {
        s.parts = kn_tiles_trsm(right ? B.rows : B.cols, L.rows);
        kn_la_parallel(ctx, s.parts, 1, solve_parts, &s);
    } else {
        solve_parts(&s, 0, 0, 1);
    }
}

void kn_trsm_right(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B)
{
    trsm(ctx, CblasRight, t, L, B);
}

void kn_trsm_left(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B)
{
    trsm(ctx, CblasLeft, t, L, B);
}
