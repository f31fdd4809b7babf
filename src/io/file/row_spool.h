/* Temporary storage of an n x T float matrix whose rows are written in one order and read in
 * another: in memory, or in an unlinked scratch file that vanishes with the process. */
#ifndef KN_IO_FILE_ROW_SPOOL_H
#define KN_IO_FILE_ROW_SPOOL_H

#include "base/memory/alloc.h"

typedef struct kn_row_spool {
    ptrdiff_t n, T; /* rows, and values per row */
    float *memory;  /* n x T, row-major; NULL: in the file */
    int fd;
} kn_row_spool;

/* Allocates storage for n >= 1 rows of T values: in memory if folder is NULL, else in a scratch
 * file in `folder`. The disk space is reserved here, so that a full disk fails before the
 * computation (KN_ERR_IO). */
kn_status kn_row_spool_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, const char *folder,
                           kn_row_spool *out);
/* Frees the memory or closes the file. {0} is allowed. */
void kn_row_spool_clear(kn_row_spool *s);

/* Stores T values as row `row`, 0 <= row < n. KN_ERR_IO if the file cannot be written. */
kn_status kn_row_spool_put(kn_ctx *ctx, kn_row_spool *s, ptrdiff_t row, const float *values);
/* Reads row `row` into `values` (T of them). KN_ERR_IO if the file cannot be read. */
kn_status kn_row_spool_get(kn_ctx *ctx, const kn_row_spool *s, ptrdiff_t row, float *values);

#endif
