/* A file that is written front to back, gzipped where its name says so: .gz, .mgz. */
#ifndef KN_IO_GZIP_MAYBE_GZIP_FILE_H
#define KN_IO_GZIP_MAYBE_GZIP_FILE_H

#include "io/file/atomic_writer.h"
#include "io/gzip/gzip.h"

typedef struct kn_maybe_gzip_file {
    kn_writer *file;
    kn_gzip_writer *gzip; /* NULL: plain */
} kn_maybe_gzip_file;

kn_status kn_maybe_gzip_open(kn_ctx *ctx, const char *path, const kn_write_options *options,
                             kn_maybe_gzip_file *out); /* a failure leaves nothing to clear */
kn_status kn_maybe_gzip_put(kn_ctx *ctx, kn_maybe_gzip_file *f, const void *bytes, ptrdiff_t n);
kn_status kn_maybe_gzip_commit(kn_ctx *ctx, kn_maybe_gzip_file *f);
void kn_maybe_gzip_clear(kn_maybe_gzip_file *f); /* not committed: leaves no file */

#endif
