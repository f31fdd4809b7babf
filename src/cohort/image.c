/* Implements image.h on the gzip writer. */
#include "cohort/image.h"

#include <string.h>

#include "io/file/byte_order.h"
#include "io/gzip/maybe_gzip_file.h"

struct kn_sim_image {
    kn_folder_entry *entry;
    kn_maybe_gzip_file file;
    int code, bytes; /* of a stored number */
    ptrdiff_t size;  /* of a volume, in bytes */
    unsigned char *volume;
};

kn_status kn_sim_image_new(kn_ctx *ctx, kn_folder *folder, const char *name,
                           const kn_nifti_header *header, int code, ptrdiff_t volumes,
                           kn_sim_image **out)
{
    unsigned char bytes[KN_NIFTI2_SIZE + 4];
    kn_sim_image *image = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    ptrdiff_t n = kn_nifti_header_encode(header, volumes, "simulated by kronorm", bytes);
    kn_nifti_header_set_type(bytes, code);
    KN_TRY(kn_alloc(ctx, 1, sizeof *image, &p));
    image = p;
    image->code = code;
    image->bytes = kn_voxel_type_find(code)->bytes;
    image->size = kn_nifti_voxels(header) * image->bytes;
    KN_TRY(kn_alloc(ctx, image->size, 1, &p));
    image->volume = p;
    KN_TRY(kn_folder_add(ctx, folder, name, &image->entry));
    KN_TRY(kn_maybe_gzip_open(ctx, image->entry->path, kn_folder_options(folder), &image->file));
    KN_TRY(kn_maybe_gzip_put(ctx, &image->file, bytes, n));
out:
    if (status == KN_OK)
        *out = image;
    else
        kn_sim_image_free(image);
    return status;
}

kn_status kn_sim_image_volume(kn_ctx *ctx, kn_sim_image *image, const double *values,
                              const ptrdiff_t *index, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        unsigned char *p = image->volume + index[i] * image->bytes;
        double x = values ? values[i] : 1;
        switch (image->code) {
        case KN_VOXEL_FLOAT32: kn_store_f32(p, (float)x, KN_BIG_ENDIAN); break;
        case KN_VOXEL_FLOAT64: kn_store_f64(p, x, KN_BIG_ENDIAN); break;
        default: kn_store64(p, (uint64_t)(int64_t)x, KN_BIG_ENDIAN); break;
        }
    }
    return kn_maybe_gzip_put(ctx, &image->file, image->volume, image->size);
}

kn_status kn_sim_image_commit(kn_ctx *ctx, kn_sim_image *image)
{
    kn_status status;
    KN_TRY(kn_maybe_gzip_commit(ctx, &image->file));
    image->entry->made = true;
out:
    return status;
}

void kn_sim_image_free(kn_sim_image *image)
{
    if (!image)
        return;
    kn_maybe_gzip_clear(&image->file);
    kn_free(image->volume);
    kn_free(image);
}

kn_status kn_sim_image_write(kn_ctx *ctx, kn_folder *folder, const char *name,
                             const kn_nifti_header *header, int code, const double *values,
                             const ptrdiff_t *index, ptrdiff_t n)
{
    kn_sim_image *image;
    kn_status status;
    KN_TRY(kn_sim_image_new(ctx, folder, name, header, code, 0, &image));
    KN_TRY(kn_sim_image_volume(ctx, image, values, index, n));
    KN_TRY(kn_sim_image_commit(ctx, image));
out:
    kn_sim_image_free(image);
    return status;
}
