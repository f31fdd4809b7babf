/* A file that is written sequentially, compressed if its extension is .gz or .mgz. */
#ifndef KN_IO_GZIP_MAYBE_GZIP_FILE_H
#define KN_IO_GZIP_MAYBE_GZIP_FILE_H

#include "io/file/atomic_writer.h"
#include "io/gzip/gzip.h"

typedef struct kn_maybe_gzip_file {
    kn_writer *file;      /* owned */
    kn_gzip_writer *gzip; /* owned; NULL: not compressed */
} kn_maybe_gzip_file;

/* Opens the file; options as in kn_writer_new. On failure *out is {0}. */
kn_status kn_maybe_gzip_open(kn_ctx *ctx, const char *path, const kn_write_options *options,
                             kn_maybe_gzip_file *out);
/* Appends n bytes. */
kn_status kn_maybe_gzip_put(kn_ctx *ctx, kn_maybe_gzip_file *f, const void *bytes, ptrdiff_t n);
/* Completes the file. */
kn_status kn_maybe_gzip_commit(kn_ctx *ctx, kn_maybe_gzip_file *f);
/* Frees the writers; an uncommitted file is removed. {0} is allowed. */
void kn_maybe_gzip_clear(kn_maybe_gzip_file *f);

#endif
