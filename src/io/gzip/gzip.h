/* Reads and writes gzip (RFC 1952): streams with zlib, whole buffers with libdeflate, which is
 * faster. Consecutive members are read as one file; other bytes after the last member are ignored,
 * as gzip does. */
#ifndef KN_IO_GZIP_GZIP_H
#define KN_IO_GZIP_GZIP_H

#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"

/* Largest compression ratio of deflate: a file of n bytes holds at most 1032 n. Smallest size of a
 * gzip file in bytes. */
enum { KN_GZIP_MAX_RATIO = 1032, KN_GZIP_MIN_SIZE = 18 };

/* True if the first two of n bytes are those of a gzip file. */
bool kn_is_gzip(const unsigned char *bytes, ptrdiff_t n);

/* *length = uncompressed size modulo 2^32, from the last four bytes of the file (of BGZF, from
 * those of all members). Only a hint: with several members it is the size of the last one.
 * KN_ERR_FORMAT if the file is too short. */
kn_status kn_gzip_hint(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t *length);

/* ---- streams ------------------------------------------------------------------------------ */

typedef struct kn_gunzip kn_gunzip;

/* Allocates a decompressor of gzip data, which can be reused for many sources; *out is owned
 * (kn_gunzip_free). Fails only without memory. */
kn_status kn_gunzip_new(kn_ctx *ctx, kn_gunzip **out);
/* Frees the decompressor. NULL is allowed. */
void kn_gunzip_free(kn_gunzip *g);

/* Starts decompression at the beginning of a source, which must stay open. May be called again, for
 * the same or another source. */
kn_status kn_gunzip_start(kn_ctx *ctx, kn_gunzip *g, const kn_byte_source *source);

/* Decompresses the next n bytes into `out`, or skips them if out is NULL. *got < n only at the end.
 * KN_ERR_FORMAT if the data are damaged or truncated. */
kn_status kn_gunzip_read(kn_ctx *ctx, kn_gunzip *g, ptrdiff_t n, void *out, ptrdiff_t *got);

/* *length = uncompressed size, by decompressing the source without storing it, at most `limit`
 * bytes of it. Checksums of what is read are verified. */
kn_status kn_gzip_length(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t limit,
                         ptrdiff_t *length);

/* ---- whole buffers ------------------------------------------------------------------------ */

typedef struct kn_inflater kn_inflater; /* libdeflate's state, reusable for many files */

/* Allocates libdeflate's decompressor, which can be reused for many files; *out is owned by the
 * caller. Fails only without memory. */
kn_status kn_inflater_new(kn_ctx *ctx, kn_inflater **out);
/* Frees the state. NULL is allowed. */
void kn_inflater_free(kn_inflater *inflater);

/* Decompresses n bytes of gzip into `out`, which holds `capacity` bytes; *got = bytes written. If
 * the content is larger than `capacity`, returns KN_OK with *fits false. KN_ERR_FORMAT if damaged.
 */
kn_status kn_inflate(kn_ctx *ctx, kn_inflater *inflater, const char *name,
                     const unsigned char *bytes, ptrdiff_t n, void *out, ptrdiff_t capacity,
                     ptrdiff_t *got, bool *fits);

/* ---- writing ------------------------------------------------------------------------------ */

/* Compresses into a kn_writer, as a single member, which every reader supports. Chunks of 512 kB
 * are compressed in parallel on the context's threads; each ends at a byte boundary, so that they
 * can be concatenated. The output does not depend on the number of threads. Memory: about 1 MB for
 * each of two chunks per thread (at most 32). */
typedef struct kn_gzip_writer kn_gzip_writer;

/* Starts a gzip compressor, whose output goes to the writer `to` (borrowed), and writes the gzip
 * header; *out is owned (kn_gzip_writer_free). */
kn_status kn_gzip_writer_new(kn_ctx *ctx, kn_writer *to, kn_gzip_writer **out);
/* Compresses n bytes of content and writes what is ready. KN_ERR_IO, for example if the disk is
 * full. */
kn_status kn_gzip_writer_write(kn_ctx *ctx, kn_gzip_writer *w, const void *bytes, ptrdiff_t n);
/* Writes the rest and the trailer. The caller then commits the kn_writer. */
kn_status kn_gzip_writer_finish(kn_ctx *ctx, kn_gzip_writer *w);
/* Frees the compressor, not the kn_writer. NULL is allowed. */
void kn_gzip_writer_free(kn_gzip_writer *w);

/* ---- file that may be compressed ------------------------------------------------------------- */

/* A file that is written sequentially, compressed if its extension is .gz or .mgz. */

typedef struct kn_maybe_gzip_file {
    kn_writer *file;      /* owned */
    kn_gzip_writer *gzip; /* owned; NULL: not compressed */
} kn_maybe_gzip_file;

/* Opens a file for writing that is compressed if its name ends in .gz; options as in kn_writer_new.
 * On failure *out is {0}. */
kn_status kn_maybe_gzip_open(kn_ctx *ctx, const char *path, const kn_write_options *options,
                             kn_maybe_gzip_file *out);
/* Appends n bytes. */
kn_status kn_maybe_gzip_write(kn_ctx *ctx, kn_maybe_gzip_file *f, const void *bytes, ptrdiff_t n);
/* Completes the file. */
kn_status kn_maybe_gzip_commit(kn_ctx *ctx, kn_maybe_gzip_file *f);
/* Frees the writers; an uncommitted file is removed. {0} is allowed. */
void kn_maybe_gzip_clear(kn_maybe_gzip_file *f);

#endif
