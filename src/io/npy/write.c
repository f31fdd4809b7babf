/* Writes .npy arrays (npy.h) row by row. The number of rows is fixed at the start and checked at
 * the end. */
#include <stdio.h>
#include <string.h>

#include "base/matrix.h"
#include "io/file/byte_order.h"
#include "io/npy/npy.h"

struct kn_npy_writer {
    kn_writer *file;
    kn_type type;
    ptrdiff_t cols, left; /* left: rows still to be written */
};

/* Writes a .npy header of version 1.0, padded so that the data start at a multiple of 64 bytes. */
static kn_status put_header(kn_ctx *ctx, const kn_npy_writer *w)
{
    enum { ALIGN = 64, SIZE = 192, START = 10 };
    char text[SIZE];
    int n = snprintf(text + START, SIZE - START,
                     "{'descr': '<f%d', 'fortran_order': False, 'shape': (%td, %td), }",
                     w->type == KN_F32 ? 4 : 8, w->left, w->cols);
    int total = (START + n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(text + START + n, ' ', (size_t)(total - START - n));
    text[total - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    kn_store16((unsigned char *)text + 8, (uint16_t)(total - START), KN_BIG_ENDIAN);
    return kn_writer_write(ctx, w->file, text, total);
}

kn_status kn_npy_writer_new(kn_ctx *ctx, const char *path, ptrdiff_t rows, ptrdiff_t cols,
                            kn_type type, const kn_write_options *options, kn_npy_writer **out)
{
    kn_npy_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->type = type;
    w->cols = cols;
    w->left = rows;
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
    KN_TRY(put_header(ctx, w));
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_npy_writer_free(w);
    return status;
}

kn_status kn_npy_writer_rows(kn_ctx *ctx, kn_npy_writer *w, kn_view v)
{
    enum { STEP = 1024 }; /* values per converted piece */
    unsigned char bytes[STEP * sizeof(double)];
    ptrdiff_t size = w->type == KN_F32 ? 4 : 8;
    kn_status status = KN_OK;

    if (v.rows > w->left || v.cols != w->cols)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more data than were announced",
                       kn_writer_path(w->file));
    bool as_is = v.type == w->type && v.col_stride == 1 && !KN_BIG_ENDIAN;
    for (ptrdiff_t i = 0; i < v.rows; i++) {
        if (as_is) {
            const char *row = (const char *)v.data + i * v.row_stride * size;
            KN_TRY(kn_writer_write(ctx, w->file, row, v.cols * size));
            continue;
        }
        for (ptrdiff_t j = 0; j < v.cols; j += STEP) {
            ptrdiff_t n = v.cols - j < STEP ? v.cols - j : STEP;
            for (ptrdiff_t k = 0; k < n; k++) {
                double x = kn_view_at(v, i, j + k);
                if (w->type == KN_F32)
                    kn_store_f32(bytes + 4 * k, (float)x, KN_BIG_ENDIAN);
                else
                    kn_store_f64(bytes + 8 * k, x, KN_BIG_ENDIAN);
            }
            KN_TRY(kn_writer_write(ctx, w->file, bytes, n * size));
        }
    }
    w->left -= v.rows;
out:
    return status;
}

kn_status kn_npy_writer_commit(kn_ctx *ctx, kn_npy_writer *w)
{
    if (w->left > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: %td rows are missing", kn_writer_path(w->file),
                       w->left);
    return kn_writer_commit(ctx, w->file);
}

void kn_npy_writer_free(kn_npy_writer *w)
{
    if (!w)
        return;
    kn_writer_free(w->file);
    kn_free(w);
}

kn_status kn_npy_write(kn_ctx *ctx, const char *path, kn_view v, kn_type type,
                       const kn_write_options *options)
{
    kn_npy_writer *w = NULL;
    kn_status status;
    KN_TRY(kn_npy_writer_new(ctx, path, v.rows, v.cols, type, options, &w));
    KN_TRY(kn_npy_writer_rows(ctx, w, v));
    KN_TRY(kn_npy_writer_commit(ctx, w));
out:
    kn_npy_writer_free(w);
    return status;
}
