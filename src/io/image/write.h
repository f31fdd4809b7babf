/* Writes float32 images in the geometry of another, volume by volume; the format by the file's
 * name. */
#ifndef KN_IO_IMAGE_WRITE_H
#define KN_IO_IMAGE_WRITE_H

#include "io/file/atomic_writer.h"
#include "io/formats/nifti_header.h"

typedef struct kn_image_target {
    const kn_geometry *geometry;
    ptrdiff_t volumes; /* 0: one volume, as a 3D image; else so many, as a 4D image */
    const char *description;
    const char *const *names; /* of volumes, where the format has a place for them; or NULL */
    const char *brain;        /* CIFTI: kn_brain.xml */
    ptrdiff_t memory;         /* bytes for what must be turned round on its way; 0: the usual */
    const char *side;         /* "lh", "rh", or another or NULL where nobody knows */
} kn_image_target;

/* Voxel index[i] = values[i * stride], the others `outside`. index NULL: voxels in order. */
typedef struct kn_volume {
    const float *values;
    ptrdiff_t stride;
    const ptrdiff_t *index;
    ptrdiff_t n;
    float outside;
} kn_volume;

typedef struct kn_image_writer kn_image_writer;

kn_status kn_image_writer_new(kn_ctx *ctx, const char *path, const kn_image_target *target,
                              const kn_write_options *options, kn_image_writer **out);
kn_status kn_image_writer_volume(kn_ctx *ctx, kn_image_writer *writer, const kn_volume *volume);
kn_status kn_image_writer_commit(kn_ctx *ctx, kn_image_writer *writer); /* after the last volume */
void kn_image_writer_free(kn_image_writer *writer); /* not committed: leaves no file */

#endif
