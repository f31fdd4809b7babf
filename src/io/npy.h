/* Arrays in NumPy's .npy format 1.0 to 3.0: 1-D (a column) and 2-D, floats, integers, booleans,
 * C and Fortran order, either byte order. float32 stays float32, all else becomes double. */
#ifndef KN_IO_NPY_H
#define KN_IO_NPY_H

#include "io/source.h"
#include "io/writer.h"

typedef struct kn_npy {
    void *data;   /* double or float, in the order of the file */
    kn_view view; /* rows x cols over data */
    int dims;     /* 1 or 2, as in the file */
} kn_npy;

kn_status kn_npy_read(kn_ctx *ctx, const char *path, kn_npy *out);
kn_status kn_npy_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n, kn_npy *out);
void kn_npy_clear(kn_npy *npy); /* {0} is fine */

/* The values in rows, little-endian, as `type`. */
kn_status kn_npy_write(kn_ctx *ctx, const char *path, kn_view values, kn_type type,
                       const kn_write_options *options);

#endif
