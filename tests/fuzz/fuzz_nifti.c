#include <libdeflate.h>
#include <stdlib.h>

#include "fuzz.h"
#include "io/image/image.h"

enum { MAX_VOXELS = 1 << 22, MAX_VOLUMES = 8, SMALL = 64 };

static void read_image(kn_ctx *ctx, const void *bytes, size_t n, ptrdiff_t memory)
{
    kn_image image;
    kn_image_reader *reader = NULL;
    float *voxels = NULL;
    if (kn_image_open_memory(ctx, "x.nii", bytes, (ptrdiff_t)n, &image) != KN_OK)
        return;
    ptrdiff_t count = kn_nifti_voxels(&image.header);
    ptrdiff_t volumes = image.header.volumes < MAX_VOLUMES ? image.header.volumes : MAX_VOLUMES;
    if (count <= MAX_VOXELS && kn_alloc_f(ctx, count, &voxels) == KN_OK &&
        kn_image_reader_new(ctx, memory, &reader) == KN_OK)
        for (ptrdiff_t v = volumes - 1, step = 0; step < 2 * volumes; v = (v + 1) % volumes, step++)
            if (kn_image_read(ctx, reader, &image, v, NULL, count, voxels) != KN_OK)
                break;
    kn_geometry again; /* what a model would keep of it says the same */
    if (kn_geometry_from_header(ctx, "x", image.geometry.header, image.geometry.header_size,
                                &again) != KN_OK ||
        kn_geometry_compare(ctx, "x", &again, "y", &image.geometry) != KN_OK)
        abort();
    kn_free(voxels);
    kn_image_reader_free(reader);
    kn_image_clear(&image);
}

/* The bytes as they are (plain or gzip), and as the contents of a gzip file, read whole and as a
 * stream; and as the header of a pair. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header header;
    read_image(ctx, data, size, KN_IMAGE_MEMORY);
    read_image(ctx, data, size, SMALL);
    kn_nifti_header_parse(ctx, "x.hdr", data, (ptrdiff_t)size, &header);
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
    size_t room = libdeflate_gzip_compress_bound(c, size);
    unsigned char *packed = malloc(room);
    size_t n = libdeflate_gzip_compress(c, data, size, packed, room);
    read_image(ctx, packed, n, KN_IMAGE_MEMORY);
    read_image(ctx, packed, n, SMALL);
    free(packed);
    libdeflate_free_compressor(c);
    kn_ctx_free(ctx);
    return 0;
}
