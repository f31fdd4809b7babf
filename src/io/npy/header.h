/* The header of a .npy file: a magic number, a version, and a Python literal such as
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * read strictly: these three keys, once each, in any order, and nothing else. */
#ifndef KN_IO_NPY_HEADER_H
#define KN_IO_NPY_HEADER_H

#include "io/file/byte_source.h"
#include "io/image/voxel_types.h"

typedef struct kn_npy_header {
    const kn_voxel_type *type;
    bool swapped; /* against this machine */
    bool fortran;
    int dims;
    ptrdiff_t rows, cols;  /* 1-D: n x 1 */
    ptrdiff_t data_offset; /* rows * cols elements from here to the end of the file: checked */
} kn_npy_header;

kn_status kn_npy_header_read(kn_ctx *ctx, const kn_byte_source *source, kn_npy_header *out);

#endif
