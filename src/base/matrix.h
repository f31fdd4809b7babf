/* Matrices of doubles (kn_mat) and floats (kn_fmat), column-major: element (i, j) is
 * data[i + j * ld]. A kn_mat is passed by value and does not own its elements, except in the
 * variable that kn_mat_new filled. kn_view (kronorm.h) is a read-only matrix with any strides. */
#ifndef KN_BASE_MATRIX_H
#define KN_BASE_MATRIX_H

#include "base/context.h"
#include "base/memory/alloc.h"

/* Allocates a rows x cols matrix of zeros, owned by the caller. KN_ERR_MEMORY also if a size is
 * negative or the product overflows. */
kn_status kn_mat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_mat *out);
/* Frees a matrix of kn_mat_new or kn_mat_copy and empties it; {0} is allowed. */
void kn_mat_clear(kn_mat *m);
/* Allocates a copy of `from`, owned by the caller. */
kn_status kn_mat_copy(kn_ctx *ctx, kn_mat from, kn_mat *out);
/* Copies `from` into the upper left corner of `to`, which must be at least as large. */
void kn_mat_set(kn_mat to, kn_mat from);
/* Sets all elements to zero. */
void kn_mat_zero(kn_mat m);

/* The first element of column j; NULL if m has no data. */
static inline double *kn_col(kn_mat m, ptrdiff_t j)
{
    return m.data ? m.data + j * m.ld : NULL;
}

/* Element (i, j). */
static inline double kn_at(kn_mat m, ptrdiff_t i, ptrdiff_t j)
{
    return m.data[i + j * m.ld];
}

/* Rows i .. i+rows-1 of columns j .. j+cols-1, sharing the elements; data stays NULL if m has no
 * data. */
static inline kn_mat kn_sub(kn_mat m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat s = {m.data ? m.data + i + j * m.ld : NULL, rows, cols, m.ld};
    return s;
}

/* Columns j .. j+cols-1, sharing the elements. */
static inline kn_mat kn_cols(kn_mat m, ptrdiff_t j, ptrdiff_t cols)
{
    return kn_sub(m, 0, j, m.rows, cols);
}

/* Copies rows: row i of `to` = row index[i] of `from`, for the to.rows rows and to.cols columns
 * of `to`. */
void kn_mat_rows(kn_mat from, const ptrdiff_t *index, kn_mat to);

/* Copies columns first .. first + cols - 1 of a view with n rows to `to` (n x cols), converted
 * to double. */
void kn_view_block(kn_view from, ptrdiff_t first, kn_mat to);

/* Returns a view of rows first .. first + rows - 1 of v, sharing the elements. */
kn_view kn_view_row_range(kn_view v, ptrdiff_t first, ptrdiff_t rows);

/* Returns element (i, j) of a view as double. */
double kn_view_at(kn_view v, ptrdiff_t i, ptrdiff_t j);

/* Copies rows first .. first + n - 1 of column j of a view to out[n], converted to double. */
void kn_view_column(kn_view v, ptrdiff_t first, ptrdiff_t n, ptrdiff_t j, double *out);

/* Returns the sum of squares of all entries, |M|_F^2. */
double kn_sumsq(kn_mat m);

/* A matrix of float32, for steps in which a relative precision of 1e-7 is enough: half the memory
 * traffic and about twice the speed. */
typedef struct kn_fmat {
    float *data;
    ptrdiff_t rows, cols, ld;
} kn_fmat;

/* Allocates a rows x cols matrix of float32 zeros, owned by the caller. Errors as kn_mat_new. */
kn_status kn_fmat_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_fmat *out);
/* Frees a matrix of kn_fmat_new and empties it; {0} is allowed. */
void kn_fmat_clear(kn_fmat *m);
/* Copies `from`, rounded to float32, into the upper left corner of `to`, which must be at least
 * as large. */
void kn_fmat_set(kn_fmat to, kn_mat from);

/* As kn_col, kn_sub and kn_cols. */
static inline float *kn_fcol(kn_fmat m, ptrdiff_t j)
{
    return m.data ? m.data + j * m.ld : NULL;
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

/* ---- views of a mapped file ------------------------------------------------------------------ */

/* Releases pages of a memory-mapped scratch file after use, so that they do not fill the memory.
 *
 * io/file/scratch_file.c registers its mapping with the context. Code that has read or written
 * columns of a view calls kn_view_done, which does nothing for views of ordinary memory. */

/* Registers the mapping of this context, at most one, MAP_SHARED; start NULL: none. */
void kn_mmap_hint_set(kn_ctx *ctx, const void *start, size_t bytes);
/* Returns whether p is an address in the mapping that kn_mmap_hint_set registered. */
bool kn_mmap_hint(const kn_ctx *ctx, const void *p);

/* Tells the system that columns first .. first + count - 1 have been read or written (madvise): all
 * pages from the first to the last of them may be dropped. Thread-safe; a page that is needed again
 * is read back from the file. */
void kn_view_done(const kn_ctx *ctx, kn_view v, ptrdiff_t first, ptrdiff_t count);

#endif
