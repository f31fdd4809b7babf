/* A file that grows by whole records behind a first line, and outlives the process that writes it.
 *
 *     first line, UTF-8, ended by a newline
 *     8 bytes   length n of the record, little-endian
 *     8 bytes   XXH64 of its bytes, seeded with its place in the file, little-endian
 *     n bytes   the record
 *     ...
 *
 * A record that is torn or damaged, and everything behind it, counts as never written. */
#ifndef KN_IO_RECORDS_H
#define KN_IO_RECORDS_H

#include "base/mem.h"

typedef struct kn_records kn_records;

/* Opens for reading from the first record on. One process at a time. */
kn_status kn_records_open(kn_ctx *ctx, const char *path, kn_records **out);
void kn_records_free(kn_records *r);
const char *kn_records_line(const kn_records *r); /* the first line, without its newline */
ptrdiff_t kn_records_count(const kn_records *r);  /* whole ones that are yet to be taken */
const char *kn_records_path(const kn_records *r);

/* The next record, valid until the next call; NULL at the end. It stays the next until taken. */
kn_status kn_records_peek(kn_ctx *ctx, kn_records *r, const void **bytes, ptrdiff_t *n);
void kn_records_take(kn_records *r);

/* Those not taken are forgotten, on disk too. */
kn_status kn_records_drop(kn_ctx *ctx, kn_records *r);

/* Puts one behind those taken, in place of any that were not. It survives the process at once, and
 * the machine after a second or so. */
kn_status kn_records_append(kn_ctx *ctx, kn_records *r, const void *bytes, ptrdiff_t n);

#endif
