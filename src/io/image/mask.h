/* Masks: which voxels or vertices are responses, as ascending indices in file order. Read from a
 * file, or computed from the images. */
#ifndef KN_IO_IMAGE_MASK_H
#define KN_IO_IMAGE_MASK_H

#include "io/image/image_set.h"

typedef struct kn_mask {
    ptrdiff_t *index; /* count; owned */
    ptrdiff_t count;
    uint64_t brain; /* kn_brain.hash of a CIFTI mask, else 0 */
} kn_mask;

/* Reads a mask image: voxels that are finite and not 0; where all values are from 0 to 1 and some
 * between, voxels of at least 0.5, with a warning. KN_ERR_SHAPE if its geometry differs from
 * `expected` (of the file expected_name; NULL: not compared) or it is 4D; KN_ERR_DATA if empty. */
kn_status kn_mask_read(kn_ctx *ctx, const char *path, const char *expected_name,
                       const kn_geometry *expected, kn_mask *out);

/* Computes the mask of images without one: voxels that are finite in at least `min_images` images,
 * or in all if there are fewer, and not constant among these (only finite, if there is one image).
 * *out is owned (kn_mask_clear). KN_ERR_DATA if there is none. Memory: three floats per voxel and
 * worker. */
kn_status kn_mask_observed(kn_ctx *ctx, kn_images *images, ptrdiff_t min_images, kn_mask *out);
/* Frees the mask. {0} is allowed. */
void kn_mask_clear(kn_mask *mask);

#endif
