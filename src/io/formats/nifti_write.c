/* Implements nifti_write.h on top of io/image/volume_writer.h. */
#include "io/formats/nifti_write.h"

#include "io/file/byte_order.h"
#include "io/image/volume_writer.h"

/* Takes the header of the geometry, sets volumes and description, and opens the file. */
static kn_status begin(kn_ctx *ctx, const char *path, const kn_image_target *target,
                       const kn_write_options *options, void **state)
{
    unsigned char header[KN_NIFTI2_SIZE + 4];
    const kn_geometry *geometry = target->geometry;
    kn_nifti_header h;
    *state = NULL;
    kn_status status =
        kn_nifti_header_parse(ctx, path, geometry->header, geometry->header_size, &h);
    if (status != KN_OK)
        return status;
    ptrdiff_t n = kn_nifti_header_encode(&h, target->volumes, target->description, header);
    kn_volume_layout layout = {header, n, kn_nifti_voxels(&h), KN_BIG_ENDIAN};
    return kn_volume_file_begin(ctx, path, &layout, options, state);
}

static const char *const ENDINGS[] = {".nii.gz", ".nii", NULL};

const kn_image_writing kn_nifti_writing = {.begin = begin,
                                           .volume = kn_volume_file_put,
                                           .commit = kn_volume_file_commit,
                                           .free = kn_volume_file_free,
                                           .endings = ENDINGS,
                                           .keeps = false};
