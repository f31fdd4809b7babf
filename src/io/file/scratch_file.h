/* A temporary file without a name, mapped: room for responses that memory has no room for.
 *
 * A fit reads blocks of responses again and again: values are stored column by column, so that a
 * block is one piece. Scoring passes by samples, once: row by row. The file has no name from the
 * start, or loses it before anything is written: it is gone when the process is, however that ends.
 */
#ifndef KN_IO_FILE_SCRATCH_FILE_H
#define KN_IO_FILE_SCRATCH_FILE_H

#include "base/memory/mmap_hint.h"

typedef struct kn_scratch {
    kn_ctx *ctx;  /* which knows of the mapping */
    void *data;   /* NULL: there is none */
    size_t bytes; /* of the mapping */
    kn_view view; /* rows x cols */
} kn_scratch;

/* $TMPDIR, or /var/tmp: unlike /tmp, that is hardly ever kept in memory. */
const char *kn_scratch_folder(void);

/* Makes the file in `dir`, reserves its space, so that a full disk is found out here and not in
 * the middle, and maps it. One at a time for a context. */
kn_status kn_scratch_new(kn_ctx *ctx, const char *dir, ptrdiff_t rows, ptrdiff_t cols, kn_type type,
                         bool by_rows, kn_scratch *out);
void kn_scratch_clear(kn_scratch *scratch); /* {0} is fine */

/* Rows first .. first + count - 1 from values that lie row by row, cols each, of the view's type,
 * to a file that is stored column by column. Every page of the file is touched once per call: many
 * rows at a time are better than few. */
void kn_scratch_put_rows(kn_ctx *ctx, kn_scratch *scratch, ptrdiff_t first, ptrdiff_t count,
                         const void *values);

#endif
