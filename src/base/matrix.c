/* Implements matrix.h and the view constructors of kronorm.h. Matrices are column-major; views
 * describe data of the caller in either order and are never copied here. */
#include "base/matrix.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

kn_view kn_view_cols(const double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    return (kn_view){data, KN_F64, rows, cols, 1, rows};
}

kn_view kn_view_rows(const double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    return (kn_view){data, KN_F64, rows, cols, cols, 1};
}

kn_view kn_view_rows_f32(const float *data, ptrdiff_t rows, ptrdiff_t cols)
{
    return (kn_view){data, KN_F32, rows, cols, cols, 1};
}

kn_view kn_view_row_range(kn_view v, ptrdiff_t first, ptrdiff_t rows)
{
    if (v.data)
        v.data = (const char *)v.data + first * v.row_stride * (v.type == KN_F32 ? 4 : 8);
    v.rows = rows;
    return v;
}

kn_mat kn_mat_cols(double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    return (kn_mat){data, rows, cols, rows};
}

kn_mat kn_mat_none(void)
{
    return (kn_mat){NULL, 0, 0, 0};
}

kn_status kn_mat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_mat *out)
{
    *out = kn_mat_none();
    if (rows < 0 || cols < 0 || (cols > 0 && rows > PTRDIFF_MAX / 16 / cols))
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", rows, cols);
    double *data;
    kn_status status = kn_alloc_d(ctx, rows * cols, &data);
    if (status == KN_OK)
        *out = (kn_mat){data, rows, cols, rows > 0 ? rows : 1};
    return status;
}

void kn_mat_clear(kn_mat *m)
{
    kn_free(m->data);
    *m = kn_mat_none();
}

void kn_mat_set(kn_mat to, kn_mat from)
{
    for (ptrdiff_t j = 0; j < from.cols; j++)
        if (from.rows > 0)
            memcpy(kn_col(to, j), kn_col(from, j), (size_t)from.rows * sizeof(double));
}

kn_status kn_mat_copy(kn_ctx *ctx, kn_mat from, kn_mat *out)
{
    kn_status status = kn_mat_new(ctx, from.rows, from.cols, out);
    if (status == KN_OK)
        kn_mat_set(*out, from);
    return status;
}

void kn_mat_zero(kn_mat m)
{
    for (ptrdiff_t j = 0; j < m.cols; j++)
        if (m.rows > 0)
            memset(kn_col(m, j), 0, (size_t)m.rows * sizeof(double));
}

void kn_mat_rows(kn_mat from, const ptrdiff_t *index, kn_mat to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++) {
        const double *f = kn_col(from, j);
        double *t = kn_col(to, j);
        for (ptrdiff_t i = 0; i < to.rows; i++)
            t[i] = f[index[i]];
    }
}

double kn_view_at(kn_view v, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t k = i * v.row_stride + j * v.col_stride;
    return v.type == KN_F32 ? (double)((const float *)v.data)[k] : ((const double *)v.data)[k];
}

void kn_view_column(kn_view v, ptrdiff_t first, ptrdiff_t n, ptrdiff_t j, double *out)
{
    ptrdiff_t at = first * v.row_stride + j * v.col_stride, step = v.row_stride;
    if (n == 0) /* data and out may be NULL, which memcpy does not allow */
        return;
    if (v.type == KN_F32) {
        const float *from = (const float *)v.data + at;
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = (double)from[i * step];
    } else if (step == 1) {
        memcpy(out, (const double *)v.data + at, (size_t)n * sizeof(double));
    } else {
        const double *from = (const double *)v.data + at;
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = from[i * step];
    }
}

/* Copies in tiles of 32 x 32, so that the cache lines of both sides are reused. */
void kn_view_block(kn_view from, ptrdiff_t first, kn_mat to)
{
    enum { TILE = 32 };
    for (ptrdiff_t i0 = 0; i0 < to.rows; i0 += TILE)
        for (ptrdiff_t j0 = 0; j0 < to.cols; j0 += TILE) {
            ptrdiff_t i1 = i0 + TILE < to.rows ? i0 + TILE : to.rows;
            ptrdiff_t j1 = j0 + TILE < to.cols ? j0 + TILE : to.cols;
            for (ptrdiff_t j = j0; j < j1; j++)
                kn_view_column(from, i0, i1 - i0, first + j, kn_col(to, j) + i0);
        }
}

double kn_sumsq(kn_mat m)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < m.cols; j++) {
        const double *c = kn_col(m, j);
        double s = 0;
        for (ptrdiff_t i = 0; i < m.rows; i++)
            s += c[i] * c[i];
        sum += s;
    }
    return sum;
}

kn_status kn_fmat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_fmat *out)
{
    *out = (kn_fmat){0};
    if (rows < 0 || cols < 0 || (cols > 0 && rows > PTRDIFF_MAX / 16 / cols))
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", rows, cols);
    float *data;
    kn_status status = kn_alloc_f(ctx, rows * cols, &data);
    if (status == KN_OK)
        *out = (kn_fmat){data, rows, cols, rows > 0 ? rows : 1};
    return status;
}

void kn_fmat_clear(kn_fmat *m)
{
    kn_free(m->data);
    *m = (kn_fmat){0};
}

void kn_fmat_set(kn_fmat to, kn_mat from)
{
    for (ptrdiff_t j = 0; j < from.cols; j++) {
        float *t = kn_fcol(to, j);
        const double *f = kn_col(from, j);
        for (ptrdiff_t i = 0; i < from.rows; i++)
            t[i] = (float)f[i];
    }
}

/* ---- views of a mapped file ------------------------------------------------------------------ */

/* Drops the pages at both ends too, although neighbouring columns may use them: over many thousand
 * calls the pages that stayed would add up. */
void kn_view_done(const kn_ctx *ctx, kn_view v, ptrdiff_t first, ptrdiff_t count)
{
    size_t size = v.type == KN_F32 ? sizeof(float) : sizeof(double);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)v.data;
    uintptr_t from = start + (size_t)(first * v.col_stride) * size;
    if (count < 1 || !kn_mmap_hint(ctx, (const void *)from))
        return;
    uintptr_t to =
        start +
        (size_t)((first + count - 1) * v.col_stride + (v.rows - 1) * v.row_stride + 1) * size;
    from -= from % page;
    to += (page - to % page) % page;
    madvise((void *)from, to - from, MADV_DONTNEED); /* a failure costs memory only */
}
