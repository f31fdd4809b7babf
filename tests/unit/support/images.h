/* Small NIfTI files for tests, built from bytes. */
#ifndef KN_TEST_IMAGES_H
#define KN_TEST_IMAGES_H

#include <libdeflate.h>

#include "io/file/byte_order.h"
#include "io/formats/nifti_header.h"
#include "support/scratch.h"

enum { IMAGE_ROOM = 1 << 16 };

/* A header of a float32 image, 2 mm, origin at (-10, -20, -30). */
static inline kn_nifti_header image_header(ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz)
{
    return (kn_nifti_header){.version = 1,
                             .dim = {nx, ny, nz},
                             .pixdim = {1, 2, 2, 2, 1},
                             .sform_code = 1,
                             .xyzt_units = 2,
                             .srow = {{2, 0, 0, -10}, {0, 2, 0, -20}, {0, 0, 2, -30}}};
}

/* The file's bytes; values go on after the header. */
static inline size_t image_bytes(const kn_nifti_header *h, ptrdiff_t volumes, const float *values,
                                 ptrdiff_t n, unsigned char *out)
{
    ptrdiff_t start = kn_nifti_header_encode(h, volumes, "test", out);
    for (ptrdiff_t i = 0; i < n; i++)
        kn_store_f32(out + start + 4 * i, values[i], KN_BIG_ENDIAN);
    return (size_t)(start + 4 * n);
}

static inline size_t image_gzip(const unsigned char *bytes, size_t n, unsigned char *out)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t packed = libdeflate_gzip_compress(c, bytes, n, out, IMAGE_ROOM);
    libdeflate_free_compressor(c);
    return packed;
}

/* name ends in .gz: compressed */
static inline void image_file(const char *name, const kn_nifti_header *h, ptrdiff_t volumes,
                              const float *values, ptrdiff_t n)
{
    static unsigned char plain[IMAGE_ROOM], packed[IMAGE_ROOM];
    size_t size = image_bytes(h, volumes, values, n, plain);
    if (strstr(name, ".gz"))
        scratch_file(name, packed, image_gzip(plain, size, packed));
    else
        scratch_file(name, plain, size);
}

#endif
