/* Matrix views over column-major doubles. A view may be passed by value; the elements are shared.
 */
#ifndef KN_BASE_MATRIX_H
#define KN_BASE_MATRIX_H

#include "base/memory/alloc.h"

kn_status kn_mat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_mat *out); /* zeroed */
void kn_mat_clear(kn_mat *m); /* for a matrix from kn_mat_new or kn_mat_copy; {0} is fine */
kn_status kn_mat_copy(kn_ctx *ctx, kn_mat from, kn_mat *out);
void kn_mat_set(kn_mat to, kn_mat from);
void kn_mat_zero(kn_mat m);

static inline double *kn_col(kn_mat m, ptrdiff_t j)
{
    return m.data + j * m.ld;
}

static inline double kn_at(kn_mat m, ptrdiff_t i, ptrdiff_t j)
{
    return m.data[i + j * m.ld];
}

/* Rows i .. i+rows-1 of columns j .. j+cols-1; of nothing, nothing. */
static inline kn_mat kn_sub(kn_mat m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat s = {m.data ? m.data + i + j * m.ld : NULL, rows, cols, m.ld};
    return s;
}

static inline kn_mat kn_cols(kn_mat m, ptrdiff_t j, ptrdiff_t cols)
{
    return kn_sub(m, 0, j, m.rows, cols);
}

/* to = the rows of `from` named by index, in that order. */
void kn_mat_rows(kn_mat from, const ptrdiff_t *index, kn_mat to);

/* to (n x 1 or wider) = columns first.. of a view, as doubles. */
void kn_view_block(kn_view from, ptrdiff_t first, kn_mat to);

/* Rows first ... of it. */
kn_view kn_view_some(kn_view v, ptrdiff_t first, ptrdiff_t rows);

double kn_view_at(kn_view v, ptrdiff_t i, ptrdiff_t j);

/* out[n] = rows first .. first + n - 1 of column j, as doubles. */
void kn_view_run(kn_view v, ptrdiff_t first, ptrdiff_t n, ptrdiff_t j, double *out);

double kn_sumsq(kn_mat m); /* |M|_F^2 */

/* The same in float32, where halving the bytes doubles the speed and 1e-7 is enough. */
typedef struct kn_fmat {
    float *data;
    ptrdiff_t rows, cols, ld;
} kn_fmat;

kn_status kn_fmat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_fmat *out); /* zeroed */
void kn_fmat_clear(kn_fmat *m);
void kn_fmat_set(kn_fmat to, kn_mat from); /* rounded */

static inline float *kn_fcol(kn_fmat m, ptrdiff_t j)
{
    return m.data + j * m.ld;
}

static inline kn_fmat kn_fsub(kn_fmat m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_fmat s = {m.data ? m.data + i + j * m.ld : NULL, rows, cols, m.ld};
    return s;
}

static inline kn_fmat kn_fcols(kn_fmat m, ptrdiff_t j, ptrdiff_t cols)
{
    return kn_fsub(m, 0, j, m.rows, cols);
}

#endif
