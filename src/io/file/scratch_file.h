/* Temporary files without a name: a memory-mapped matrix for responses that exceed the memory
 * budget, and a spool whose rows are written in one order and read in another. The file is unlinked
 * before any value is written; the system removes it when the process ends, however it ends. */
#ifndef KN_IO_FILE_SCRATCH_FILE_H
#define KN_IO_FILE_SCRATCH_FILE_H

#include "base/matrix.h"
#include "base/memory/alloc.h"

/* ---- mapped matrix --------------------------------------------------------------------------- */

/* Scratch file: a memory-mapped temporary file for responses that exceed the memory budget.
 *
 * A fit reads blocks of responses many times, so its file is column-major (a block is contiguous).
 * Scoring reads participants once, so its file is row-major. The file is unlinked before any value
 * is written; the system removes it when the process ends, however it ends. */

typedef struct kn_scratch {
    kn_ctx *ctx;  /* borrowed; the mapping is registered with it (base/matrix.h) */
    void *data;   /* the mapping; NULL: no scratch file */
    size_t bytes; /* size of the mapping */
    kn_view view; /* rows x cols over the mapping */
} kn_scratch;

/* The default folder: $TMPDIR, else /var/tmp, which unlike /tmp is rarely a RAM disk. */
const char *kn_scratch_folder(void);

/* Creates the file in `dir`, reserves its disk space, so that a full disk fails here and not during
 * the computation, and maps it. by_rows: row-major, else column-major. KN_ERR_IO if the space
 * cannot be reserved, KN_ERR_MEMORY if it cannot be mapped. At most one per context. */
kn_status kn_scratch_new(kn_ctx *ctx, const char *dir, ptrdiff_t rows, ptrdiff_t cols, kn_type type,
                         bool by_rows, kn_scratch *out);
/* Unmaps the file. {0} is allowed. */
void kn_scratch_clear(kn_scratch *scratch);

/* Writes `count` rows, starting with row `first`, to a column-major file. values: count x cols,
 * row-major, of the view's type. Each call touches every page of the file, so pass many rows per
 * call. */
void kn_scratch_write_rows(kn_ctx *ctx, kn_scratch *scratch, ptrdiff_t first, ptrdiff_t count,
                           const void *values);

/* ---- row spool ------------------------------------------------------------------------------- */

/* Temporary storage of an n x T float matrix whose rows are written in one order and read in
 * another: in memory, or in an unlinked scratch file that vanishes with the process. */

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
kn_status kn_row_spool_write(kn_ctx *ctx, kn_row_spool *s, ptrdiff_t row, const float *values);
/* Reads row `row` into `values` (T of them). KN_ERR_IO if the file cannot be read. */
kn_status kn_row_spool_read(kn_ctx *ctx, const kn_row_spool *s, ptrdiff_t row, float *values);

#endif
