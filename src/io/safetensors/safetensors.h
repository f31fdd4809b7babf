/* Reads and writes safetensors files (named arrays in one file), the format of the model file:
 * 8 bytes of header length (little-endian), a JSON header
 * {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}, ...}, and the bytes of
 * the arrays, little-endian, in C order (the last index runs fastest).
 *
 * The format allows neither gaps nor overlaps between arrays. In files written here the data start
 * at a multiple of 64 bytes with the widest element types first, so that every array is aligned for
 * its type when the file is mapped. */
#ifndef KN_IO_SAFETENSORS_SAFETENSORS_H
#define KN_IO_SAFETENSORS_SAFETENSORS_H

#include <stdint.h>

#include "base/matrix.h"
#include "io/file/atomic_writer.h"

enum { KN_ST_DIMS = 4 }; /* largest number of dimensions */

typedef enum kn_st_type { /* widest first: the order of the data in a written file */
                          KN_ST_F64 = 0,
                          KN_ST_I64 = 1,
                          KN_ST_F32 = 2,
                          KN_ST_I32 = 3,
                          KN_ST_U8 = 4
} kn_st_type;

enum { KN_ST_TYPES = 5 };

const char *kn_st_type_name(kn_st_type type); /* "F64" */
ptrdiff_t kn_st_type_size(kn_st_type type);   /* bytes */

/* ---- Writing. Add metadata and arrays to a kn_st_writer, then write it. Arrays are borrowed until
 * the file is written; names and metadata are copied. The same calls give the same bytes. */

typedef struct kn_st_writer kn_st_writer;

/* Computes elements first .. first + n - 1 (in C order) of an array into `out`. Called for
 * consecutive blocks: whole rows (runs of the last index), or pieces of a very long row. */
typedef kn_status (*kn_st_fill)(kn_ctx *ctx, void *user, ptrdiff_t first, ptrdiff_t n, void *out);

/* Creates a writer of a safetensors file without entries; *out is owned (kn_st_writer_free). */
kn_status kn_st_writer_new(kn_ctx *ctx, kn_st_writer **out);
/* Frees the writer, not the arrays. NULL is allowed. */
void kn_st_writer_free(kn_st_writer *writer);

/* Adds a metadata entry. KN_ERR_ARGUMENT if the key exists, or key or value is not UTF-8. */
kn_status kn_st_set_metadata(kn_ctx *ctx, kn_st_writer *writer, const char *key, const char *value);
/* Seals the file: its metadata will hold an XXH64 checksum of all its bytes. Call it before
 * kn_st_set_metadata. */
kn_status kn_st_seal(kn_ctx *ctx, kn_st_writer *writer);
/* Adds an array; ndim 0: a single value. KN_ERR_ARGUMENT if the name exists or is not UTF-8,
 * KN_ERR_SHAPE if a size is negative or the product overflows; so for all kn_st_add functions. */
kn_status kn_st_add(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_st_type type, int ndim,
                    const ptrdiff_t *shape, const void *data);
/* Adds n doubles as F64, shape [n]. */
kn_status kn_st_add_doubles(kn_ctx *ctx, kn_st_writer *writer, const char *name, const double *data,
                            ptrdiff_t n);
/* Adds an array whose values `fill` computes block by block while the file is written. `user` is
 * borrowed. */
kn_status kn_st_add_fill(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_st_type type,
                         int ndim, const ptrdiff_t *shape, kn_st_fill fill, void *user);

/* Adds a matrix of shape [rows, cols] as KN_ST_F64 or KN_ST_F32. It is transposed to row-major
 * order block by block during writing. A finite value beyond float32 is then KN_ERR_NUMERIC. */
kn_status kn_st_add_view(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_view view,
                         kn_st_type type);
/* kn_st_add_view of a matrix of doubles. */
kn_status kn_st_add_mat(kn_ctx *ctx, kn_st_writer *writer, const char *name, kn_mat mat,
                        kn_st_type type);
/* Adds a text as U8, shape [strlen], without the NUL. The text is borrowed. */
kn_status kn_st_add_text(kn_ctx *ctx, kn_st_writer *writer, const char *name, const char *text);

/* Writes the file atomically with all entries added so far; options as in kn_writer_new. KN_ERR_IO
 * if it cannot be written. */
kn_status kn_st_write(kn_ctx *ctx, const kn_st_writer *writer, const char *path,
                      const kn_write_options *options);
/* Writes the bytes of the file into memory: *n bytes, freed with kn_free. */
kn_status kn_st_write_bytes(kn_ctx *ctx, const kn_st_writer *writer, void **bytes, ptrdiff_t *n);
/* XXH64 of these bytes, without storing them. A sealed file takes two passes over the arrays. */
kn_status kn_st_write_hash(kn_ctx *ctx, const kn_st_writer *writer, uint64_t *out);

/* ---- Reading. The structure is checked completely on opening; afterwards the file is constant and
 * may be used from any thread. */

typedef struct kn_st_file kn_st_file;

typedef struct kn_st_tensor {
    const char *name; /* borrowed from the file */
    kn_st_type type;
    int ndim;
    ptrdiff_t shape[KN_ST_DIMS];
    ptrdiff_t count; /* number of elements */
    ptrdiff_t at;    /* offset of the first one in the file; in C order */
} kn_st_tensor;

/* Opens the file and reads its header; arrays are read when they are asked for, so that a file that
 * becomes shorter is KN_ERR_IO and not SIGBUS. KN_ERR_FORMAT if it is no valid safetensors file. */
kn_status kn_st_open(kn_ctx *ctx, const char *path, kn_st_file **out);
/* The same from n bytes in memory, which are borrowed; `name` is for messages. */
kn_status kn_st_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                      kn_st_file **out);
/* Closes and frees the file. NULL is allowed. */
void kn_st_close(kn_st_file *file);
/* The path or name as given, for messages. */
const char *kn_st_name(const kn_st_file *file);

/* Verifies the checksum of a sealed file: KN_ERR_FORMAT if it does not match. *sealed is false if
 * the file has none. Reads the whole file once. */
kn_status kn_st_verify(kn_ctx *ctx, const kn_st_file *file, bool *sealed);
/* XXH64 of the whole file, which is read once. */
kn_status kn_st_hash(kn_ctx *ctx, const kn_st_file *file, uint64_t *out);
/* KN_ERR_IO if the file was written to since it was opened; call it after the last array. */
kn_status kn_st_check_unchanged(kn_ctx *ctx, const kn_st_file *file);

/* Returns the number of arrays in the file. */
ptrdiff_t kn_st_count(const kn_st_file *file);
/* Returns array i, in the order of the header; borrowed. */
const kn_st_tensor *kn_st_at(const kn_st_file *file, ptrdiff_t i);
/* Returns the array with this name; NULL: not there. Borrowed. */
const kn_st_tensor *kn_st_find(const kn_st_file *file, const char *name);

/* Returns the number of metadata entries. */
ptrdiff_t kn_st_metadata_count(const kn_st_file *file);
/* Sets key and value of metadata entry i; borrowed from the file. */
void kn_st_metadata_at(const kn_st_file *file, ptrdiff_t i, const char **key, const char **value);
/* Returns the metadata value of this key; NULL: not there. Borrowed. */
const char *kn_st_metadata(const kn_st_file *file, const char *key);

/* Sets *out to the array with this name. KN_ERR_FORMAT if it is missing. */
kn_status kn_st_need(kn_ctx *ctx, const kn_st_file *file, const char *name,
                     const kn_st_tensor **out);
/* Sets *out to the metadata value of this key; borrowed. KN_ERR_FORMAT if it is missing. */
kn_status kn_st_need_metadata(kn_ctx *ctx, const kn_st_file *file, const char *key,
                              const char **out);

/* Reads elements first .. first + n - 1 of an array of this file, in its own type. */
kn_status kn_st_values(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t, ptrdiff_t first,
                       ptrdiff_t n, void *out);

/* Copies a 2-D F64 or F32 array as *out (kn_mat_clear). rows, cols: the expected shape, -1 for any.
 * KN_ERR_FORMAT if the array is missing, or its type or shape differs. */
kn_status kn_st_read_mat(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t rows,
                         ptrdiff_t cols, kn_mat *out);
/* Copies an F64 or F32 array of any shape, in C order, as *out (kn_free). n: the expected number of
 * elements, -1 for any; *count gets it (NULL: not wanted). KN_ERR_FORMAT if the array is missing,
 * or its type or size differs. */
kn_status kn_st_read_doubles(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                             double **out, ptrdiff_t *count);
/* Copies an I64, I32 or U8 array of any shape, in C order, as *out (kn_free). n: the expected
 * number of elements, -1 for any; *count gets it (NULL: not wanted). KN_ERR_FORMAT if the array is
 * missing, or its type or size differs. */
kn_status kn_st_read_i64(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                         int64_t **out, ptrdiff_t *count);
/* Copies a 1-D U8 array without a 0 byte as a NUL-terminated text *out (kn_free). KN_ERR_FORMAT if
 * it is missing or another array. */
kn_status kn_st_read_text(kn_ctx *ctx, const kn_st_file *file, const char *name, char **out);

#endif
