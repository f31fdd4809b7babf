/* The parts of a participant's data: one image, or two that form one row of responses, such as the
 * surfaces of both hemispheres; voxels of the first part come before those of the second. */
#ifndef KN_IO_IMAGE_HEMISPHERES_H
#define KN_IO_IMAGE_HEMISPHERES_H

#include "io/image/image.h"

enum { KN_PARTS = 2, KN_SIDE_SIZE = 4 }; /* at most two parts */

/* One part, the same for all participants. */
typedef struct kn_image_part {
    kn_geometry geometry;
    const char *ending;      /* extension of output maps (kn_image_ending); static */
    char side[KN_SIDE_SIZE]; /* "lh" or "rh" from the file name; else "", or "1", "2" of two */
    kn_brain brain;          /* owned; CIFTI only */
} kn_image_part;

/* Hemisphere from a file name: "lh" or "rh" for lh.x, x.lh.y, x_lh.y, hemi-L, hemi-R, x.L.y, x.R.y;
 * "" if the name has neither or both. Returns a static string. */
const char *kn_image_side(const char *path);

/* Describes an image as a part. Free with kn_image_part_clear. */
kn_status kn_image_part_of(kn_ctx *ctx, const kn_image *image, kn_image_part *out);
/* Deep copy. Free with kn_image_part_clear. */
kn_status kn_image_part_copy(kn_ctx *ctx, const kn_image_part *from, kn_image_part *out);
/* Frees the part. {0} is allowed. */
void kn_image_part_clear(kn_image_part *part);
/* Renames the sides of two parts to "1" and "2" unless they are "lh" and "rh". */
void kn_image_parts_finalise(kn_image_part *part, int parts);

/* Geometry of a whole row: that of the part if there is one; of two, n x 1 x 1 with n the sum of
 * their voxels, without position in space. `name` is for messages. */
kn_status kn_image_parts_geometry(kn_ctx *ctx, const char *name, const kn_image_part *part,
                                  int parts, kn_geometry *out);
/* dim[0] dim[1] dim[2]. */
ptrdiff_t kn_geometry_voxels(const kn_geometry *geometry);

#endif
