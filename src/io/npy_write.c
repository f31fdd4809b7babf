#include <stdio.h>
#include <string.h>

#include "base/mat.h"
#include "io/bytes.h"
#include "io/npy.h"

/* Version 1.0; the literal is padded so that the data start on a multiple of 64. */
static kn_status put_header(kn_ctx *ctx, kn_writer *file, kn_view v, kn_type type)
{
    enum { ALIGN = 64, SIZE = 192, START = 10 };
    char text[SIZE];
    int n = snprintf(text + START, SIZE - START,
                     "{'descr': '<f%d', 'fortran_order': False, 'shape': (%td, %td), }",
                     type == KN_F32 ? 4 : 8, v.rows, v.cols);
    int total = (START + n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(text + START + n, ' ', (size_t)(total - START - n));
    text[total - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    kn_store16((unsigned char *)text + 8, (uint16_t)(total - START), KN_BIG_ENDIAN);
    return kn_writer_write(ctx, file, text, total);
}

kn_status kn_npy_write(kn_ctx *ctx, const char *path, kn_view v, kn_type type,
                       const kn_write_options *options)
{
    enum { STEP = 1024 }; /* values at a time */
    unsigned char bytes[STEP * sizeof(double)];
    ptrdiff_t size = type == KN_F32 ? 4 : 8;
    kn_writer *file = NULL;
    kn_status status;

    KN_TRY(kn_writer_new(ctx, path, options, &file));
    KN_TRY(put_header(ctx, file, v, type));
    for (ptrdiff_t i = 0; i < v.rows; i++)
        for (ptrdiff_t j = 0; j < v.cols; j += STEP) {
            ptrdiff_t n = v.cols - j < STEP ? v.cols - j : STEP;
            for (ptrdiff_t k = 0; k < n; k++) {
                double x = kn_view_at(v, i, j + k);
                if (type == KN_F32)
                    kn_store_f32(bytes + 4 * k, (float)x, KN_BIG_ENDIAN);
                else
                    kn_store_f64(bytes + 8 * k, x, KN_BIG_ENDIAN);
            }
            KN_TRY(kn_writer_write(ctx, file, bytes, n * size));
        }
    KN_TRY(kn_writer_commit(ctx, file));
out:
    kn_writer_free(file);
    return status;
}
