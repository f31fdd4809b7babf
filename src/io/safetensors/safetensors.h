/* Named arrays in one file, in the safetensors format: 8 bytes of header length (little-endian),
 * a JSON header {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}, ...}, and
 * the arrays' bytes, little-endian, in C order (the last index runs fastest).
 *
 * The format allows neither holes nor overlaps between arrays. Written files start their data on a
 * multiple of 64 and hold the widest elements first, so that every array is aligned for its type
 * when the file is mapped. */
#ifndef KN_IO_SAFETENSORS_SAFETENSORS_H
#define KN_IO_SAFETENSORS_SAFETENSORS_H

#include <stdint.h>

#include "base/matrix.h"
#include "io/file/atomic_writer.h"

enum { KN_ST_DIMS = 4 }; /* at most */

typedef enum kn_st_type { /* the widest first: the order of the data in a written file */
                          KN_ST_F64 = 0,
                          KN_ST_I64 = 1,
                          KN_ST_F32 = 2,
                          KN_ST_I32 = 3,
                          KN_ST_U8 = 4
} kn_st_type;

enum { KN_ST_TYPES = 5 };

const char *kn_st_type_name(kn_st_type type); /* "F64" */
ptrdiff_t kn_st_type_size(kn_st_type type);   /* bytes */

/* Writing. Arrays are collected first and read when the file is written: their memory must last
 * until then. Names and metadata are copied. The same calls give the same bytes. */

typedef struct kn_st_writer kn_st_writer;

/* Puts elements first .. first + n - 1, counted in C order, into `out`. A block is some whole rows
 * (runs of the last index), or a part of one where a row is very long; blocks come in order. */
typedef kn_status (*kn_st_fill)(kn_ctx *ctx, void *user, ptrdiff_t first, ptrdiff_t n, void *out);

kn_status kn_st_writer_new(kn_ctx *ctx, kn_st_writer **out);
void kn_st_writer_free(kn_st_writer *writer);

/* A name or key may be given once, and must be UTF-8, as must a value. */
kn_status kn_st_set_metadata(kn_ctx *ctx, kn_st_writer *writer, const char *key, const char *value);
/* The file will carry a checksum of all its bytes. Before any metadata. */
kn_status kn_st_seal(kn_ctx *ctx, kn_st_writer *writer);
kn_status kn_st_add(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_st_type type, int ndim,
                    const ptrdiff_t *shape, const void *data); /* ndim 0: one value */
kn_status kn_st_add_doubles(kn_ctx *ctx, kn_st_writer *writer, const char *name, const double *data,
                            ptrdiff_t n); /* F64, shape [n] */
kn_status kn_st_add_fill(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_st_type type,
                         int ndim, const ptrdiff_t *shape, kn_st_fill fill, void *user);

/* Shape [rows, cols], transposed on the way out block by block. As KN_ST_F64 or KN_ST_F32; a
 * finite value beyond float's range is an error when the file is written. */
kn_status kn_st_add_view(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_view view,
                         kn_st_type type);
kn_status kn_st_add_mat(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_mat mat,
                        kn_st_type type);
kn_status kn_st_add_text(kn_ctx *ctx, kn_st_writer *writer, const char *name,
                         const char *text); /* U8, without the closing 0 */

kn_status kn_st_write(kn_ctx *ctx, const kn_st_writer *writer, const char *path,
                      const kn_write_options *options); /* whole or not at all */
/* The same bytes in memory. Free with kn_free. */
kn_status kn_st_write_bytes(kn_ctx *ctx, const kn_st_writer *writer, void **bytes, ptrdiff_t *n);
/* XXH64 of these bytes, without holding them. Two passes over the arrays where there is a seal. */
kn_status kn_st_write_hash(kn_ctx *ctx, const kn_st_writer *writer, uint64_t *out);

/* Reading. A file is checked in full when it is opened; after that nothing here changes it, and
 * any thread may use it. */

typedef struct kn_st_file kn_st_file;

typedef struct kn_st_tensor {
    const char *name; /* lives as long as the file, like the data */
    kn_st_type type;
    int ndim;
    ptrdiff_t shape[KN_ST_DIMS];
    ptrdiff_t count;  /* of elements */
    const void *data; /* aligned for the type */
} kn_st_tensor;

/* _open maps the file: it must not be cut while in use (replacing it by renaming is fine). _parse
 * borrows the bytes. An array that lies unaligned is copied, the others are used in place. */
kn_status kn_st_open(kn_ctx *ctx, const char *path, kn_st_file **out);
kn_status kn_st_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                      kn_st_file **out);
void kn_st_close(kn_st_file *file);
const char *kn_st_name(const kn_st_file *file); /* as opened, for messages */

/* Do the bytes have the checksum that the file says? *sealed false: it says none. Reads all of the
 * file once, in order. */
kn_status kn_st_verify(kn_ctx *ctx, const kn_st_file *file, bool *sealed);
uint64_t kn_st_hash(const kn_st_file *file); /* XXH64 of all of it */

/* In the order of the header. */
ptrdiff_t kn_st_count(const kn_st_file *file);
const kn_st_tensor *kn_st_at(const kn_st_file *file, ptrdiff_t i);
const kn_st_tensor *kn_st_find(const kn_st_file *file, const char *name); /* NULL: not there */

ptrdiff_t kn_st_metadata_count(const kn_st_file *file);
void kn_st_metadata_at(const kn_st_file *file, ptrdiff_t i, const char **key, const char **value);
const char *kn_st_metadata(const kn_st_file *file, const char *key); /* NULL: not there */

/* The same with a sentence when it is not there. */
kn_status kn_st_need(kn_ctx *ctx, const kn_st_file *file, const char *name,
                     const kn_st_tensor **out);
kn_status kn_st_need_metadata(kn_ctx *ctx, const kn_st_file *file, const char *key,
                              const char **out);

/* Copies. Sizes are those expected, -1 for any. Free with kn_mat_clear or kn_free.
 *   _mat      2-D F64 or F32
 *   _doubles  F64 or F32 of any shape, in C order
 *   _i64      I64, I32 or U8 of any shape, in C order
 *   _text     1-D U8 without a 0 in it */
kn_status kn_st_read_mat(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t rows,
                         ptrdiff_t cols, kn_mat *out);
kn_status kn_st_read_doubles(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                             double **out, ptrdiff_t *count); /* count may be NULL */
kn_status kn_st_read_i64(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                         int64_t **out, ptrdiff_t *count); /* count may be NULL */
kn_status kn_st_read_text(kn_ctx *ctx, const kn_st_file *file, const char *name, char **out);

#endif
