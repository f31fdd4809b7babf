/* Which voxels are responses: indices in file order, ascending. */
#ifndef KN_IO_IMAGE_MASK_H
#define KN_IO_IMAGE_MASK_H

#include "io/image/image_set.h"

typedef struct kn_mask {
    ptrdiff_t *index;
    ptrdiff_t count;
    uint64_t brain; /* kn_brain.hash of a mask that is CIFTI, else 0 */
} kn_mask;

/* Voxels that are finite and not 0. The geometry must be that of `expected` (NULL: any), which
 * comes from the file named expected_name. */
kn_status kn_mask_read(kn_ctx *ctx, const char *path, const char *expected_name,
                       const kn_geometry *expected, kn_mask *out);

/* Voxels that are finite in all images and not the same in all of them (finite, when there is but
 * one image). Two floats per voxel and thread are held, never the images. */
kn_status kn_mask_default(kn_ctx *ctx, kn_images *images, kn_mask *out);
/* The same of voxels that are finite in `least` images, or in all of fewer, and differ among these.
 * Three floats. */
kn_status kn_mask_observed(kn_ctx *ctx, kn_images *images, ptrdiff_t least, kn_mask *out);
void kn_mask_clear(kn_mask *mask); /* {0} is fine */

#endif
