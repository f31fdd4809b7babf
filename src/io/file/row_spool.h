/* Rows of floats that come in any order and are wanted in another: in memory, or in a file without
 * a name that is gone with the process. */
#ifndef KN_IO_FILE_ROW_SPOOL_H
#define KN_IO_FILE_ROW_SPOOL_H

#include "base/memory/alloc.h"

typedef struct kn_rowstore {
    ptrdiff_t n, T;
    float *memory; /* n x T, row by row; NULL: in the file */
    int fd;
} kn_rowstore;

/* folder NULL: in memory. Of a file all space is taken here, so that a full disk is found out
 * before the work. */
kn_status kn_rowstore_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, const char *folder,
                          kn_rowstore *out);
void kn_rowstore_clear(kn_rowstore *s); /* {0} is fine */

kn_status kn_rowstore_put(kn_ctx *ctx, kn_rowstore *s, ptrdiff_t row, const float *values);
kn_status kn_rowstore_get(kn_ctx *ctx, const kn_rowstore *s, ptrdiff_t row, float *values);

#endif
