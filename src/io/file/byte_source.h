/* A random-access source of bytes: a file or a buffer in memory. Readers of src/io take a
 * kn_byte_source, so that tests and fuzzers can feed them from memory. */
#ifndef KN_IO_FILE_BYTE_SOURCE_H
#define KN_IO_FILE_BYTE_SOURCE_H

#include <stdint.h>

#include "base/memory/alloc.h"

/* What tells whether a file changed: device and inode, size in bytes, time of its last change. */
typedef struct kn_file_stamp {
    bool exists; /* false: bytes in memory */
    uint64_t device, inode;
    int64_t size, seconds, nanoseconds;
} kn_file_stamp;

/* KN_ERR_IO if two stamps of the file `path` differ. */
kn_status kn_file_stamp_compare(kn_ctx *ctx, const char *path, const kn_file_stamp *a,
                                const kn_file_stamp *b);

typedef struct kn_byte_source {
    const char *name;            /* borrowed; for messages */
    const unsigned char *memory; /* borrowed; NULL: bytes come from fd */
    int fd;                      /* owned; -1: closed or in memory */
    ptrdiff_t size;              /* total size in bytes */
    kn_file_stamp stamp;         /* when it was opened; {0}: in memory */
} kn_byte_source;

/* Opens a regular file. KN_ERR_IO for a folder, pipe or device. `path` is borrowed. */
kn_status kn_byte_source_open(kn_ctx *ctx, const char *path, kn_byte_source *out);
/* KN_ERR_IO if the open file was written to since it was opened. Nothing in memory. */
kn_status kn_byte_source_check(kn_ctx *ctx, const kn_byte_source *source);
/* Wraps n bytes in memory. `name` and `bytes` are borrowed; bytes may be NULL if n is 0. */
kn_byte_source kn_byte_source_of(const char *name, const void *bytes, ptrdiff_t n);
/* Closes the file. A closed source or {0} is allowed. */
void kn_byte_source_close(kn_byte_source *source);

/* Reads exactly n bytes at `offset`. KN_ERR_FORMAT if the range exceeds the source, KN_ERR_IO if
 * reading fails or the file has become shorter. */
kn_status kn_byte_source_read(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                              ptrdiff_t n, void *out);

/* Like kn_byte_source_read, but returns false on failure and sets no message. For worker threads,
 * which have no context. */
bool kn_byte_source_try(const kn_byte_source *source, ptrdiff_t offset, ptrdiff_t n, void *out);
/* Like kn_byte_source_read, in blocks of 1 MB on the context's threads, for large reads. */
kn_status kn_byte_source_read_wide(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                                   ptrdiff_t n, void *out);

/* Sets the message "path: what: strerror(error)". Returns KN_ERR_MEMORY for ENOMEM, else
 * KN_ERR_IO. */
kn_status kn_fail_errno(kn_ctx *ctx, const char *path, const char *what, int error);

#endif
