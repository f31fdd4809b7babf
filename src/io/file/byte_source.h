/* Bytes to read, from a file or from memory, so that every reader can be fed either. */
#ifndef KN_IO_FILE_BYTE_SOURCE_H
#define KN_IO_FILE_BYTE_SOURCE_H

#include "base/memory/alloc.h"

typedef struct kn_byte_source {
    const char *name;            /* for messages; borrowed */
    const unsigned char *memory; /* borrowed; NULL: read from fd */
    int fd;
    ptrdiff_t size; /* bytes in all */
} kn_byte_source;

kn_status kn_byte_source_open(kn_ctx *ctx, const char *path,
                              kn_byte_source *out); /* regular files only */
kn_byte_source kn_byte_source_of(const char *name, const void *bytes, ptrdiff_t n);
void kn_byte_source_close(kn_byte_source *source); /* a closed or {0} one is fine */

/* Exactly n bytes from `offset` on; fewer is an error. */
kn_status kn_byte_source_read(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                              ptrdiff_t n, void *out);

/* The same without a sentence: false where it would fail. For threads, which have no context. */
bool kn_byte_source_try(const kn_byte_source *source, ptrdiff_t offset, ptrdiff_t n, void *out);
/* The same on the context's threads, for much. */
kn_status kn_byte_source_read_wide(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                                   ptrdiff_t n, void *out);

/* "path: what: the system's reason" with KN_ERR_IO, or KN_ERR_MEMORY for ENOMEM. */
kn_status kn_fail_errno(kn_ctx *ctx, const char *path, const char *what, int error);

#endif
