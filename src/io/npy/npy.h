/* Reads and writes NumPy .npy files, format 1.0 to 3.0: 1-D (read as a column) and 2-D arrays of
 * floats, integers or booleans, in C or Fortran order and either byte order. float32 stays float32,
 * every other type becomes double. */
#ifndef KN_IO_NPY_NPY_H
#define KN_IO_NPY_NPY_H

#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"
#include "io/image/voxel_types.h"

/* ---- header ---------------------------------------------------------------------------------- */

/* Reads the header of a .npy file: a magic number, a version, and a Python literal such as
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * The parser is strict: exactly these three keys, in any order. */

typedef struct kn_npy_header {
    const kn_voxel_type *type; /* of the stored numbers; bool is uint8 */
    bool swapped;              /* the file's byte order is not this machine's */
    bool fortran;              /* column-major */
    int dims;                  /* 1 or 2 */
    ptrdiff_t rows, cols;      /* 1-D: n x 1 */
    ptrdiff_t data_offset;     /* bytes before the first of rows * cols elements */
} kn_npy_header;

/* Reads and checks the header. KN_ERR_FORMAT for a malformed header, another element type, or a
 * file size that does not match the shape exactly; KN_ERR_SHAPE for other than 1 or 2 dimensions or
 * an empty array. */
kn_status kn_npy_header_read(kn_ctx *ctx, const kn_byte_source *source, kn_npy_header *out);

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct kn_npy {
    void *data;   /* owned; double or float, in the order of the file */
    kn_view view; /* rows x cols over data */
    int dims;     /* 1 or 2, as in the file */
} kn_npy;

/* Reads a whole array. KN_ERR_FORMAT or KN_ERR_SHAPE for a file that is damaged or of another kind
 * (see kn_npy_header_read), KN_ERR_IO. Free with kn_npy_clear. */
kn_status kn_npy_read(kn_ctx *ctx, const char *path, kn_npy *out);
/* The same from the n bytes of a file in memory; `name` is for messages. */
kn_status kn_npy_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n, kn_npy *out);
/* Frees the array. {0} is allowed. */
void kn_npy_clear(kn_npy *npy);

/* A file that is read in pieces: kn_npy_open for the shape, then kn_npy_elements. */
typedef struct kn_npy_file {
    kn_byte_source source; /* name NULL: not open */
    kn_npy_header header;
    kn_type type; /* of the values that kn_npy_elements returns */
} kn_npy_file;

/* Opens the file and reads its header. `path` is borrowed until kn_npy_close. */
kn_status kn_npy_open(kn_ctx *ctx, const char *path, kn_npy_file *out);
/* Closes the file. {0} is allowed. */
void kn_npy_close(kn_npy_file *file);
/* Reads elements first .. first + n - 1 into `out` (n values of file->type), counted in the order
 * of the file: row-major, or column-major if header.fortran. Uses the context's threads. */
kn_status kn_npy_elements(kn_ctx *ctx, const kn_npy_file *file, ptrdiff_t first, ptrdiff_t n,
                          void *out);

/* ---- writing: C order, little-endian, float32 or float64 ------------------------------------- */

typedef struct kn_npy_writer kn_npy_writer;

/* Opens a file for a rows x cols array of `type`; options as in kn_writer_new. */
kn_status kn_npy_writer_new(kn_ctx *ctx, const char *path, ptrdiff_t rows, ptrdiff_t cols,
                            kn_type type, const kn_write_options *options, kn_npy_writer **out);
/* Appends the rows of `values`. KN_ERR_ARGUMENT if they are too many or have another width. */
kn_status kn_npy_writer_rows(kn_ctx *ctx, kn_npy_writer *writer, kn_view values);
/* Completes the file. KN_ERR_ARGUMENT if rows are missing. */
kn_status kn_npy_writer_commit(kn_ctx *ctx, kn_npy_writer *writer);
/* Frees the writer; an uncommitted file is removed. NULL is allowed. */
void kn_npy_writer_free(kn_npy_writer *writer);

/* Writes a view (rows x columns) as a whole .npy file, numbers converted to `type`. options as in
 * kn_writer_new; KN_ERR_IO if it cannot be written. */
kn_status kn_npy_write(kn_ctx *ctx, const char *path, kn_view values, kn_type type,
                       const kn_write_options *options);

#endif
