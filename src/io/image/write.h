/* Writes float32 images in a given geometry, volume by volume; the file's extension selects the
 * format. Use: _new, _volume for each volume, _commit, _free. */
#ifndef KN_IO_IMAGE_WRITE_H
#define KN_IO_IMAGE_WRITE_H

#include "io/file/atomic_writer.h"
#include "io/formats/nifti_header.h"

/* What to write. `names` is borrowed until the writer is freed, the other pointers only during
 * kn_image_writer_new. */
typedef struct kn_image_target {
    const kn_geometry *geometry;
    ptrdiff_t volumes;        /* 0: a 3D image; n > 0: a 4D image of n volumes */
    const char *description;  /* for the header */
    const char *const *names; /* of the volumes, for GIFTI and CIFTI; NULL: none */
    const char *brain;        /* kn_brain.xml, needed for CIFTI */
    ptrdiff_t memory;         /* bytes for CIFTI's transposition buffer; 0: default (64 MB) */
    const char *side;         /* "lh" or "rh"; any other or NULL: unknown */
} kn_image_target;

/* Values of one volume: voxel index[i] = values[i * stride], i < n; all other voxels = outside.
 * index NULL: voxel i. */
typedef struct kn_volume {
    const float *values;
    ptrdiff_t stride;
    const ptrdiff_t *index;
    ptrdiff_t n;
    float outside;
} kn_volume;

typedef struct kn_image_writer kn_image_writer;

/* Opens the file. KN_ERR_ARGUMENT if no format writes this extension; options as in
 * kn_writer_new. */
kn_status kn_image_writer_new(kn_ctx *ctx, const char *path, const kn_image_target *target,
                              const kn_write_options *options, kn_image_writer **out);
/* Writes the next volume. KN_ERR_ARGUMENT after the last one. */
kn_status kn_image_writer_volume(kn_ctx *ctx, kn_image_writer *writer, const kn_volume *volume);
/* Completes the file. KN_ERR_ARGUMENT if volumes are missing. */
kn_status kn_image_writer_commit(kn_ctx *ctx, kn_image_writer *writer);
/* Frees the writer; an uncommitted file is removed. NULL is allowed. */
void kn_image_writer_free(kn_image_writer *writer);

#endif
