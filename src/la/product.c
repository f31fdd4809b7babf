/* Products and triangular solves of la.h. A product is split into pieces by the tiles of
 * internal.h; each piece is one BLAS call on one thread, so that the bits do not depend on the
 * number of threads. */
#include "la/la.h"

#include <assert.h>
#include <cblas.h>
#include <stdlib.h>

#include "la/internal.h"

/* ---- tiles ----------------------------------------------------------------------------------- */

enum { MIN_SIDE = 96 };       /* of a tile: the BLAS packs each, which costs about 10/side */
enum { MIN_DEPTH = 256 };     /* of a chunk of the inner dimension */
enum { LONG = 4 };            /* k is long if it is at least this many times m and n */
enum { MAX_PARTS = 1 << 21 }; /* elements of partial products: 16 MB of doubles */
enum { UNIT = 16 };           /* parts are multiples of it, as the BLAS kernels prefer */

/* Returns the number of pieces for a product of `flops` flops. Starting a thread takes 20-60 us,
 * the time of 1e6 flops: small products get few pieces, large ones enough for many threads. */
static ptrdiff_t count_pieces(double flops)
{
    return flops < 1e7 ? 1 : flops < 2e8 ? 4 : flops < 1e9 ? 8 : flops < 1e10 ? 16 : 64;
}

/* Returns the number of chunks, at most `wanted`, into which the inner dimension k of an m x n
 * product is split; 1 if C is too large or k too short to split. */
static ptrdiff_t count_chunks(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t wanted)
{
    if (wanted == 1 || k / LONG < m || k / LONG < n)
        return 1;
    ptrdiff_t fit = kn_min_size(k / MIN_DEPTH, MAX_PARTS / n / m);
    return fit >= 4 ? kn_min_size(wanted, fit) : 1;
}

/* Halves the longer side of the tiles until there are enough. The width counts twice, because tiles
 * of whole columns write contiguous memory. */
kn_tiles kn_tiles_gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t wanted = count_pieces(2.0 * (double)m * (double)n * (double)k);
    kn_tiles t = {1, 1, count_chunks(m, n, k, wanted)};
    while (t.depth == 1 && t.rows * t.cols < wanted) {
        ptrdiff_t high = m / t.rows, wide = n / t.cols;
        if (wide >= 2 * MIN_SIDE && (2 * wide >= high || high < 2 * MIN_SIDE))
            t.cols *= 2;
        else if (high >= 2 * MIN_SIDE)
            t.rows *= 2;
        else
            break;
    }
    return t;
}

kn_tiles kn_tiles_syrk(ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t wanted = count_pieces((double)n * (double)n * (double)k), q = 1;
    kn_tiles t = {1, 1, count_chunks(n, n, k, wanted)};
    while (t.depth == 1 && 4 * q * q <= wanted && n / q >= 2 * MIN_SIDE)
        q *= 2;
    t.rows = t.cols = q;
    return t;
}

ptrdiff_t kn_tiles_trsm(ptrdiff_t length, ptrdiff_t n)
{
    ptrdiff_t wanted = count_pieces((double)length * (double)n * (double)n), parts = 1;
    while (parts < wanted && length / parts >= 2 * MIN_SIDE)
        parts *= 2;
    return parts;
}

ptrdiff_t kn_tiles_at(ptrdiff_t length, ptrdiff_t parts, ptrdiff_t p)
{
    ptrdiff_t units = length / UNIT + (length % UNIT > 0);
    return kn_min_size(units * p / parts * UNIT, length);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { WIDEST = 1 << 30 }; /* largest size: the sum of two still fits the integers of the BLAS */

/* Converts a size to a BLAS integer; asserts that it fits. */
static int to_blas_int(ptrdiff_t n)
{
    assert(n >= 0 && n <= WIDEST);
    return (int)n;
}

static CBLAS_TRANSPOSE blas_transpose(kn_trans t)
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

/* Returns the bytes of an element of the product: 4 or 8. */
static size_t element_size(const product *p)
{
    return p->single ? sizeof(float) : sizeof(double);
}

/* Returns the address of element (i, j) of op(A). */
static const void *factor_element(const product *p, factor A, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t at = A.t == KN_N ? i + j * A.ld : j + i * A.ld;
    return A.data ? (const char *)A.data + (size_t)at * element_size(p) : NULL;
}

/* Rows i .. i+m-1 and columns j .. j+n-1 of C, elements l .. l+k-1 of the inner dimension. */
typedef struct piece {
    ptrdiff_t i, m, j, n, l, k;
} piece;

/* Computes C = alpha op(A) op(B) + beta C for one piece w of a general product, in the product's
 * precision; C (leading dimension ldc) is its destination, in the result or among the parts. */
static void gemm_piece(const product *p, piece w, double beta, void *C, ptrdiff_t ldc)
{
    int m = to_blas_int(w.m), n = to_blas_int(w.n), k = to_blas_int(w.k), ld = to_blas_int(ldc);
    int lda = to_blas_int(p->A.ld), ldb = to_blas_int(p->B.ld);
    const void *a = factor_element(p, p->A, w.i, w.l), *b = factor_element(p, p->B, w.l, w.j);
    if (p->single)
        cblas_sgemm(CblasColMajor, blas_transpose(p->A.t), blas_transpose(p->B.t), m, n, k,
                    (float)p->alpha, a, lda, b, ldb, (float)beta, C, ld);
    else
        cblas_dgemm(CblasColMajor, blas_transpose(p->A.t), blas_transpose(p->B.t), m, n, k,
                    p->alpha, a, lda, b, ldb, beta, C, ld);
}

/* Computes C = alpha op(A) op(A)' + beta C for one piece w of a symmetric product, lower
 * triangle, in the product's precision; C (leading dimension ldc): its destination. */
static void syrk_piece(const product *p, piece w, double beta, void *C, ptrdiff_t ldc)
{
    int n = to_blas_int(w.n), k = to_blas_int(w.k), lda = to_blas_int(p->A.ld),
        ld = to_blas_int(ldc);
    const void *a = factor_element(p, p->A, w.i, w.l);
    if (p->single)
        cblas_ssyrk(CblasColMajor, CblasLower, blas_transpose(p->A.t), n, k, (float)p->alpha, a,
                    lda, (float)beta, C, ld);
    else
        cblas_dsyrk(CblasColMajor, CblasLower, blas_transpose(p->A.t), n, k, p->alpha, a, lda, beta,
                    C, ld);
}

typedef void (*piece_fn)(const product *p, piece w, double beta, void *C, ptrdiff_t ldc);

typedef struct job {
    const product *p;
    piece_fn whole; /* gemm_piece or syrk_piece, for all of C */
} job;

/* Returns the address of element (i, j) of C. */
static void *result_element(const product *p, ptrdiff_t i, ptrdiff_t j)
{
    return (char *)p->C.data + (size_t)(i + j * p->C.ld) * element_size(p);
}

/* Parallel task (self: job): computes tiles tile .. end - 1 of the result, numbered by columns,
 * each over the whole inner dimension. */
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
        gemm_piece(p, w, p->beta, result_element(p, i, j), p->C.ld);
    }
}

/* Parallel task (self: job): computes pieces tile .. end - 1 of a lower triangle. Piece (r, c)
 * of q x q: block (r, r) if r = c; the left half of block (r, c) if r > c; the right half of
 * block (c, r) if r < c. */
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
            syrk_piece(p, w, p->beta, result_element(p, i, j), p->C.ld);
            continue;
        }
        w.j = r > c ? j : j + half;
        w.n = r > c ? half : width - half;
        gemm_piece(p, w, p->beta, result_element(p, w.i, w.j), p->C.ld);
    }
}

/* Parallel task (self: job): computes the partial products of chunks chunk .. end - 1 of the
 * inner dimension, into p->parts. */
static void multiply_chunks(void *self, int worker, ptrdiff_t chunk, ptrdiff_t end)
{
    (void)worker;
    const job *b = self;
    const product *p = b->p;
    size_t bytes = (size_t)(p->C.rows * p->C.cols) * element_size(p);
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
        const REAL *partial = (const REAL *)p->parts + j * m;                                      \
        ptrdiff_t i0 = b->whole == syrk_piece ? j : 0;                                             \
        for (ptrdiff_t i = i0; i < m; i++)                                                         \
            c[i] = p->beta == 0 ? partial[i] : (REAL)p->beta * c[i] + partial[i];                  \
        for (ptrdiff_t l = 1; l < p->tiles.depth; l++) {                                           \
            partial += m * p->C.cols;                                                              \
            for (ptrdiff_t i = i0; i < m; i++)                                                     \
                c[i] += partial[i];                                                                \
        }                                                                                          \
    }

/* Parallel task (self: job): adds the partial products of all chunks to columns first .. last -
 * 1 of C, in fixed order. */
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

/* Computes a product tile by tile in parallel; ctx NULL: in one call, inside a parallel loop. Tiles
 * depend on shapes alone, so the bits do not depend on the number of threads. */
static void run_product(kn_ctx *ctx, product *p, piece_fn whole, kn_worker_fn tiles)
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
        p->parts = malloc((size_t)(p->tiles.depth * m * n) * element_size(p));
    if (p->parts) {
        kn_la_parallel(ctx, p->tiles.depth, 1, multiply_chunks, &b);
        kn_parallel(ctx, n, 1 + ADDITIONS / (p->tiles.depth * m), add_parts, &b);
        free(p->parts);
    } else { /* also if malloc failed: the only case in which the last bits differ */
        kn_la_parallel(ctx, p->tiles.rows * p->tiles.cols, 1, tiles, &b);
    }
}

/* Chooses the tiles of a general product and computes it. */
static void run_gemm(kn_ctx *ctx, product *p)
{
    p->tiles = kn_tiles_gemm(p->C.rows, p->C.cols, p->k);
    run_product(ctx, p, gemm_piece, gemm_tiles);
}

/* Chooses the tiles of a symmetric product (lower triangle of C) and computes it. */
static void run_syrk(kn_ctx *ctx, product *p)
{
    assert(p->C.rows == p->C.cols);
    p->B = (factor){p->A.data, p->A.ld, p->A.t == KN_N ? KN_T : KN_N}; /* op(B) = op(A)' */
    p->tiles = kn_tiles_syrk(p->C.rows, p->k);
    run_product(ctx, p, syrk_piece, syrk_tiles);
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
    run_gemm(ctx, &p);
}

void kn_syrk(kn_ctx *ctx, double alpha, kn_trans ta, kn_mat A, double beta, kn_mat C)
{
    assert(ROWS(ta, A) == C.rows);
    product p = {.alpha = alpha, .beta = beta, .A = FACTOR(ta, A), .k = COLS(ta, A)};
    p.C = RESULT(C);
    run_syrk(ctx, &p);
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
    run_gemm(ctx, &p);
}

void kn_syrk_f32(kn_ctx *ctx, float alpha, kn_trans ta, kn_fmat A, float beta, kn_fmat C)
{
    assert(ROWS(ta, A) == C.rows);
    product p = {.single = true, .alpha = (double)alpha, .beta = (double)beta};
    p.A = FACTOR(ta, A);
    p.k = COLS(ta, A);
    p.C = RESULT(C);
    run_syrk(ctx, &p);
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

/* Parallel task (self: solve): solves rows (right side) or columns (left side) of B of parts
 * first .. end - 1 with dtrsm. */
static void solve_parts(void *self, int worker, ptrdiff_t first, ptrdiff_t end)
{
    (void)worker;
    const solve *s = self;
    bool right = s->side == CblasRight;
    ptrdiff_t length = right ? s->B.rows : s->B.cols;
    ptrdiff_t i = kn_tiles_at(length, s->parts, first), n = kn_tiles_at(length, s->parts, end) - i;
    kn_mat B = right ? kn_sub(s->B, i, 0, n, s->B.cols) : kn_cols(s->B, i, n);
    cblas_dtrsm(CblasColMajor, s->side, CblasLower, blas_transpose(s->t), CblasNonUnit,
                to_blas_int(B.rows), to_blas_int(B.cols), 1.0, s->L.data, to_blas_int(s->L.ld),
                B.data, to_blas_int(B.ld));
}

/* Solves a triangular system in place, op(L)^-1 B (left) or B op(L)^-1 (right), in parallel over
 * parts of B; ctx NULL: in one call. */
static void run_trsm(kn_ctx *ctx, CBLAS_SIDE side, kn_trans t, kn_mat L, kn_mat B)
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
    run_trsm(ctx, CblasRight, t, L, B);
}

void kn_trsm_left(kn_ctx *ctx, kn_trans t, kn_mat L, kn_mat B)
{
    run_trsm(ctx, CblasLeft, t, L, B);
}
