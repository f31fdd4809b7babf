#include "gp/products.h"

#include <math.h>

#include "la/clones.h"
#include "la/vec.h"

/* Rows of a product at a time: enough tiles for some threads where rows are few, none so thin that
 * packing the other factor shows. */
static ptrdiff_t tile_of(ptrdiff_t rows)
{
    return rows <= 1024 ? 128 : 512;
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* ---- sums ---------------------------------------------------------------------------------- */

void kn_sum_clear(kn_sum *s)
{
    for (int w = 0; s->part && w < s->workers; w++) {
        kn_mat_clear(&s->part[w].d);
        kn_fmat_clear(&s->part[w].f);
    }
    kn_free(s->part);
    kn_mat_clear(&s->hi);
    kn_mat_clear(&s->lo);
    *s = (kn_sum){0};
}

static ptrdiff_t n_tiles(const kn_sum *s)
{
    ptrdiff_t n = (s->hi.rows + s->tile - 1) / s->tile;
    return s->lower ? n * (n + 1) / 2 : n;
}

kn_status kn_sum_new(kn_ctx *ctx, const kn_sum_shape *shape, kn_sum *out)
{
    kn_status status;
    void *memory;
    int exponent, adds;
    *out = (kn_sum){.lower = shape->lower, .tile = tile_of(shape->rows)};
    /* d1 = 2^(ceil log2 bound - 51), d2 = d1 adds 2^-51, C = 1.5 2^52 d: x + C - C rounds x to a
     * multiple of d, and multiples of d up to 2^53 of them add without rounding. */
    frexp(fmax(shape->bound, 1e-200), &exponent);
    frexp((double)shape->adds, &adds);
    out->C1 = ldexp(1.5, 52 + exponent - 51);
    out->C2 = ldexp(1.5, 52 + exponent - 51 + adds - 51);
    KN_TRY(kn_mat_new(ctx, shape->rows, shape->cols, &out->hi));
    if (shape->limbs > 1)
        KN_TRY(kn_mat_new(ctx, shape->rows, shape->cols, &out->lo));
    out->workers = kn_workers(ctx, n_tiles(out), 1);
    KN_TRY(kn_alloc(ctx, out->workers, sizeof *out->part, &memory));
    out->part = memory;
    ptrdiff_t rows = smaller(out->tile, shape->rows), cols = shape->lower ? rows : shape->cols;
    for (int w = 0; w < out->workers; w++)
        KN_TRY(shape->single ? kn_fmat_new(ctx, rows, cols, &out->part[w].f)
                             : kn_mat_new(ctx, rows, cols, &out->part[w].d));
out:
    if (status != KN_OK)
        kn_sum_clear(out);
    return status;
}

void kn_sum_zero(kn_sum *s)
{
    kn_mat_zero(s->hi);
    if (s->lo.data)
        kn_mat_zero(s->lo);
}

#define DEFINE_ADD(name, type)                                                                     \
    KN_CLONES static void name(ptrdiff_t n, const type *restrict x, double C1, double C2,          \
                               double *restrict hi, double *restrict lo)                           \
    {                                                                                              \
        for (ptrdiff_t i = 0; !lo && i < n; i++)                                                   \
            hi[i] += ((double)x[i] + C1) - C1;                                                     \
        for (ptrdiff_t i = 0; lo && i < n; i++) {                                                  \
            double v = (double)x[i], q = (v + C1) - C1;                                            \
            hi[i] += q;                                                                            \
            lo[i] += ((v - q) + C2) - C2;                                                          \
        }                                                                                          \
    }
DEFINE_ADD(add_d, double)
DEFINE_ADD(add_f, float)

void kn_sum_result(const kn_sum *s, kn_mat out)
{
    for (ptrdiff_t j = 0; j < out.cols; j++)
        for (ptrdiff_t i = s->lower ? j : 0; i < out.rows; i++)
            kn_col(out, j)[i] = kn_at(s->hi, i, j) + (s->lo.data ? kn_at(s->lo, i, j) : 0);
}

void kn_sum_take(kn_sum *s, kn_mat *out)
{
    kn_sum_result(s, s->hi);
    *out = s->hi;
    s->hi = kn_mat_none();
    kn_sum_clear(s);
}

/* ---- products ------------------------------------------------------------------------------ */

typedef struct job {
    kn_sum *s; /* where it is added */
    kn_trans ta;
    bool single;
    kn_mat A, B; /* of one kind or the other */
    kn_fmat Af, Bf;
    ptrdiff_t tile;
} job;

/* Rows i .. i + n - 1 of op(A) */
static kn_mat rows_of(const job *b, ptrdiff_t i, ptrdiff_t n)
{
    return b->ta == KN_N ? kn_sub(b->A, i, 0, n, b->A.cols) : kn_cols(b->A, i, n);
}

static kn_fmat rows_of_f32(const job *b, ptrdiff_t i, ptrdiff_t n)
{
    return b->ta == KN_N ? kn_fsub(b->Af, i, 0, n, b->Af.cols) : kn_fcols(b->Af, i, n);
}

/* Adds the worker's part as rows i0 ... of columns j0 ... */
static void add_part(const job *b, int worker, ptrdiff_t i0, ptrdiff_t ni, ptrdiff_t j0,
                     ptrdiff_t nj)
{
    kn_sum *s = b->s;
    for (ptrdiff_t j = 0; j < nj; j++) {
        ptrdiff_t from = s->lower && i0 == j0 ? j : 0;
        double *hi = kn_col(s->hi, j0 + j) + i0 + from;
        double *lo = s->lo.data ? kn_col(s->lo, j0 + j) + i0 + from : NULL;
        if (b->single)
            add_f(ni - from, kn_fcol(s->part[worker].f, j) + from, s->C1, s->C2, hi, lo);
        else
            add_d(ni - from, kn_col(s->part[worker].d, j) + from, s->C1, s->C2, hi, lo);
    }
}

static void sum_tiles(void *self, int worker, ptrdiff_t t, ptrdiff_t end)
{
    const job *b = self;
    struct kn_sum_part *p = &b->s->part[worker];
    for (; t < end; t++) {
        ptrdiff_t i0 = t * b->tile, n = smaller(b->s->hi.rows - i0, b->tile);
        ptrdiff_t cols = b->s->hi.cols;
        if (b->single)
            kn_gemm_f32(NULL, 1, b->ta, rows_of_f32(b, i0, n), KN_N, b->Bf, 0,
                        kn_fsub(p->f, 0, 0, n, cols));
        else
            kn_gemm(NULL, 1, b->ta, rows_of(b, i0, n), KN_N, b->B, 0, kn_sub(p->d, 0, 0, n, cols));
        add_part(b, worker, i0, n, 0, cols);
    }
}

/* Tile t of the lower triangle, counted by rows of tiles. */
static void gram_tiles(void *self, int worker, ptrdiff_t t, ptrdiff_t end)
{
    const job *b = self;
    struct kn_sum_part *p = &b->s->part[worker];
    ptrdiff_t N = b->s->hi.rows;
    kn_trans tb = b->ta == KN_N ? KN_T : KN_N;
    for (; t < end; t++) {
        ptrdiff_t row = 0;
        while ((row + 1) * (row + 2) / 2 <= t)
            row++;
        ptrdiff_t i0 = row * b->tile, j0 = (t - row * (row + 1) / 2) * b->tile;
        ptrdiff_t ni = smaller(N - i0, b->tile), nj = smaller(N - j0, b->tile);
        kn_mat d = kn_sub(p->d, 0, 0, ni, nj);
        kn_fmat f = kn_fsub(p->f, 0, 0, ni, nj);
        if (b->single && i0 == j0)
            kn_syrk_f32(NULL, 1, b->ta, rows_of_f32(b, i0, ni), 0, f);
        else if (b->single)
            kn_gemm_f32(NULL, 1, b->ta, rows_of_f32(b, i0, ni), tb, rows_of_f32(b, j0, nj), 0, f);
        else if (i0 == j0)
            kn_syrk(NULL, 1, b->ta, rows_of(b, i0, ni), 0, d);
        else
            kn_gemm(NULL, 1, b->ta, rows_of(b, i0, ni), tb, rows_of(b, j0, nj), 0, d);
        add_part(b, worker, i0, ni, j0, nj);
    }
}

void kn_sum_product(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_mat A, kn_mat B)
{
    job b = {.s = s, .ta = ta, .A = A, .B = B, .tile = s->tile};
    kn_la_parallel(ctx, n_tiles(s), 1, sum_tiles, &b);
}

void kn_sum_product_f32(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_fmat A, kn_fmat B)
{
    job b = {.s = s, .ta = ta, .Af = A, .Bf = B, .single = true, .tile = s->tile};
    kn_la_parallel(ctx, n_tiles(s), 1, sum_tiles, &b);
}

void kn_sum_gram(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_mat A)
{
    job b = {.s = s, .ta = ta, .A = A, .tile = s->tile};
    kn_la_parallel(ctx, n_tiles(s), 1, gram_tiles, &b);
}

void kn_sum_gram_f32(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_fmat A)
{
    job b = {.s = s, .ta = ta, .Af = A, .single = true, .tile = s->tile};
    kn_la_parallel(ctx, n_tiles(s), 1, gram_tiles, &b);
}

/* ---- energies ------------------------------------------------------------------------------ */

double kn_energy_bound(const kn_responses *Y)
{
    const kn_scaling *s = Y->scaling;
    double sum = 0;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        sum += sd * sd + shift * shift;
    }
    return (1 + 1e-6) * (double)Y->Y.rows * sum;
}

typedef struct energy_job {
    kn_mat M;
    double *column;
} energy_job;

static void energies(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const energy_job *b = self;
    for (ptrdiff_t j = from; j < to; j++)
        b->column[j] = kn_vec_dot(b->M.rows, kn_col(b->M, j), kn_col(b->M, j));
}

kn_status kn_energy(kn_ctx *ctx, kn_mat M, double *out)
{
    energy_job b = {.M = M};
    kn_status status = kn_alloc_d(ctx, M.cols, &b.column);
    if (status != KN_OK)
        return status;
    kn_parallel(ctx, M.cols, 1 + 50000 / (M.rows + 1), energies, &b);
    *out = 0;
    for (ptrdiff_t j = 0; j < M.cols; j++)
        *out += b.column[j];
    kn_free(b.column);
    return KN_OK;
}
