/* Rows of floats that come in any order and are wanted in another: in memory, or in a file without
 * a name that is gone with the process. */
#ifndef KN_IO_FILE_ROW_SPOOL_H
#define KN_IO_FILE_ROW_SPOOL_H

#include "base/memory/alloc.h"

typedef struct kn_row_spool {
    ptrdiff_t n, T;
    float *memory; /* n x T, row by row; NULL: in the file */
    int fd;
} kn_row_spool;

/* folder NULL: in memory. Of a file all space is taken here, so that a full disk is found out
 * before the work. */
kn_status kn_row_spool_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, const char *folder,
                           kn_row_spool *out);
void kn_row_spool_clear(kn_row_spool *s); /* {0} is fine */

kn_status kn_row_spool_put(kn_ctx *ctx, kn_row_spool *s, ptrdiff_t row, const float *values);
kn_status kn_row_spool_get(kn_ctx *ctx, const kn_row_spool *s, ptrdiff_t row, float *values);

#endif
