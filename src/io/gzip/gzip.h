/* gzip (RFC 1952): whole buffers are read through libdeflate, streams through zlib. Files of
 * several members, one after the other, are read as one; bytes after the last member that are not
 * another are left alone, as gzip itself does. */
#ifndef KN_IO_GZIP_GZIP_H
#define KN_IO_GZIP_GZIP_H

#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"

/* Deflate cannot do better than this: what a file of n bytes can hold at most is n times it. */
enum { KN_GZIP_MAX_RATIO = 1032, KN_GZIP_MIN_SIZE = 18 };

bool kn_is_gzip(const unsigned char *bytes, ptrdiff_t n); /* by its two first bytes */

/* What the last four bytes say: the length modulo 2^32 of the last member; of BGZF, the lengths of
 * all members together. A hint, no more. */
kn_status kn_gzip_hint(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t *length);

/* ---- streams ------------------------------------------------------------------------------ */

typedef struct kn_gunzip kn_gunzip;

kn_status kn_gunzip_new(kn_ctx *ctx, kn_gunzip **out);
void kn_gunzip_free(kn_gunzip *g);

/* From the start of a source, which must stay open. May be called again for the next one. */
kn_status kn_gunzip_start(kn_ctx *ctx, kn_gunzip *g, const kn_byte_source *source);

/* Up to n bytes; *got < n only at the end. out NULL: they are passed over. */
kn_status kn_gunzip_read(kn_ctx *ctx, kn_gunzip *g, ptrdiff_t n, void *out, ptrdiff_t *got);

/* Length of all that is in a source, found by passing over it; checksums are checked. */
kn_status kn_gzip_length(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t *length);

/* ---- whole buffers ------------------------------------------------------------------------ */

typedef struct kn_inflater kn_inflater; /* libdeflate's tables, to be kept between files */

kn_status kn_inflater_new(kn_ctx *ctx, kn_inflater **out);
void kn_inflater_free(kn_inflater *inflater);

/* *got = bytes written. *fits is false, with KN_OK, when the contents are larger than `room`. */
kn_status kn_inflate(kn_ctx *ctx, kn_inflater *inflater, const char *name,
                     const unsigned char *bytes, ptrdiff_t n, void *out, ptrdiff_t room,
                     ptrdiff_t *got, bool *fits);

/* ---- writing ------------------------------------------------------------------------------ */

/* Compresses into a writer, as a single member, which every reader understands: chunks of a fixed
 * size, several at a time on the context's threads, each ended on a byte so that they can be
 * joined. The bytes depend on the contents alone, the memory on neither. */
typedef struct kn_gzip_writer kn_gzip_writer;

kn_status kn_gzip_writer_new(kn_ctx *ctx, kn_writer *to, kn_gzip_writer **out);
kn_status kn_gzip_writer_write(kn_ctx *ctx, kn_gzip_writer *w, const void *bytes, ptrdiff_t n);
kn_status kn_gzip_writer_finish(kn_ctx *ctx, kn_gzip_writer *w);
void kn_gzip_writer_free(kn_gzip_writer *w);

#endif
