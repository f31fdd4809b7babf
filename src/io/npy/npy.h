/* Arrays in NumPy's .npy format 1.0 to 3.0: 1-D (a column) and 2-D, floats, integers, booleans,
 * C and Fortran order, either byte order. float32 stays float32, all else becomes double. */
#ifndef KN_IO_NPY_NPY_H
#define KN_IO_NPY_NPY_H

#include "io/file/atomic_writer.h"
#include "io/npy/header.h"

typedef struct kn_npy {
    void *data;   /* double or float, in the order of the file */
    kn_view view; /* rows x cols over data */
    int dims;     /* 1 or 2, as in the file */
} kn_npy;

kn_status kn_npy_read(kn_ctx *ctx, const char *path, kn_npy *out);
kn_status kn_npy_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n, kn_npy *out);
void kn_npy_clear(kn_npy *npy); /* {0} is fine */

/* The same piece by piece: the shape first, then as much as there is room for. */
typedef struct kn_npy_file {
    kn_byte_source source; /* name NULL: not open */
    kn_npy_header header;
    kn_type type; /* of what is read: float32 stays float32, all else becomes double */
} kn_npy_file;

kn_status kn_npy_open(kn_ctx *ctx, const char *path, kn_npy_file *out);
void kn_npy_close(kn_npy_file *file); /* {0} is fine */
/* Elements first .. first + n - 1 in the order of the file: rows one after the other, or columns
 * where header.fortran says so. */
kn_status kn_npy_elements(kn_ctx *ctx, const kn_npy_file *file, ptrdiff_t first, ptrdiff_t n,
                          void *out);

/* ---- writing: values in rows, little-endian, as `type` ----------------------------------------
 */

typedef struct kn_npy_writer kn_npy_writer;

kn_status kn_npy_writer_new(kn_ctx *ctx, const char *path, ptrdiff_t rows, ptrdiff_t cols,
                            kn_type type, const kn_write_options *options, kn_npy_writer **out);
kn_status kn_npy_writer_rows(kn_ctx *ctx, kn_npy_writer *writer, kn_view values); /* the next */
kn_status kn_npy_writer_commit(kn_ctx *ctx, kn_npy_writer *writer); /* after the last row */
void kn_npy_writer_free(kn_npy_writer *writer); /* not committed: leaves no file */

/* All at once. */
kn_status kn_npy_write(kn_ctx *ctx, const char *path, kn_view values, kn_type type,
                       const kn_write_options *options);

#endif
