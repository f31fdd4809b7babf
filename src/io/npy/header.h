/* Reads the header of a .npy file: a magic number, a version, and a Python literal such as
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * The parser is strict: exactly these three keys, in any order. */
#ifndef KN_IO_NPY_HEADER_H
#define KN_IO_NPY_HEADER_H

#include "io/file/byte_source.h"
#include "io/image/voxel_types.h"

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

#endif
