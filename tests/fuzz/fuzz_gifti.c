#include <stdlib.h>

#include "fuzz.h"
#include "io/formats/gifti.h"
#include "io/formats/surface_mesh.h"
#include "io/image/image.h"

enum { MAX_VOXELS = 1 << 22 };

/* The bytes as an image: opened, read, and its geometry written and read back. MGH by another name,
 * as both are told apart by name alone. */
static void read_image(kn_ctx *ctx, const char *name, const void *bytes, size_t n)
{
    kn_image image;
    kn_image_reader *reader = NULL;
    kn_geometry again;
    float *voxels = NULL;
    if (kn_image_open_memory(ctx, name, bytes, (ptrdiff_t)n, &image) != KN_OK)
        return;
    ptrdiff_t count = kn_nifti_voxels(&image.header);
    if (count <= MAX_VOXELS && kn_alloc_f(ctx, count, &voxels) == KN_OK &&
        kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader) == KN_OK &&
        kn_image_read(ctx, reader, &image, image.header.volumes - 1, NULL, count, voxels) ==
            KN_OK &&
        kn_image_read(ctx, reader, &image, 0, NULL, count, voxels) != KN_OK)
        abort();
    if (kn_geometry_from_header(ctx, "x", image.geometry.header, image.geometry.header_size,
                                &again) != KN_OK ||
        kn_geometry_compare(ctx, "x", &again, "y", &image.geometry) != KN_OK)
        abort();
    kn_free(voxels);
    kn_image_reader_free(reader);
    kn_image_clear(&image);
}

/* The same bytes as a surface: whatever is taken for one has vertices that exist. */
static void read_surface(kn_ctx *ctx, const void *bytes, size_t n)
{
    kn_byte_source source = kn_byte_source_of("x.gii", bytes, (ptrdiff_t)n);
    kn_gifti gifti;
    kn_surface surface;
    if (kn_gifti_read_source(ctx, &source, false, &gifti) != KN_OK)
        return;
    if (kn_surface_of(ctx, "x.gii", &gifti, &surface) == KN_OK)
        for (ptrdiff_t k = 0; k < 3 * surface.triangles; k++)
            if (surface.corner[k] < 0 || surface.corner[k] >= surface.vertices)
                abort();
    kn_surface_clear(&surface);
    kn_gifti_clear(&gifti);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    read_image(ctx, "x.gii", data, size);
    read_surface(ctx, data, size);
    read_image(ctx, "x.mgh", data, size);
    kn_ctx_free(ctx);
    return 0;
}
