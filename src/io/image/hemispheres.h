/* What a person's images consist of: one image, or two that make one row of responses, such as
 * the surfaces of both hemispheres, voxels of the first before those of the second. */
#ifndef KN_IO_IMAGE_HEMISPHERES_H
#define KN_IO_IMAGE_HEMISPHERES_H

#include "io/image/image.h"

enum { KN_PARTS = 2, KN_SIDE_SIZE = 4 };

typedef struct kn_image_part {
    kn_geometry geometry;
    const char *ending;      /* of maps of it: kn_image_ending */
    char side[KN_SIDE_SIZE]; /* "lh" or "rh" where its name says so; else "", or "1", "2" of two */
    kn_brain brain;
} kn_image_part;

/* "lh" or "rh" from lh.x, x.lh.y, x_lh.y, hemi-L, hemi-R, x.L.y, x.R.y in the name of a file; "":
 * it does not say, or says both. */
const char *kn_image_side(const char *path);

kn_status kn_image_part_of(kn_ctx *ctx, const kn_image *image, kn_image_part *out);
kn_status kn_image_part_copy(kn_ctx *ctx, const kn_image_part *from, kn_image_part *out);
void kn_image_part_clear(kn_image_part *part); /* {0} is fine */
/* Two of one side, or of none that is known, become "1" and "2". */
void kn_image_parts_finalise(kn_image_part *part, int parts);

/* Of all parts together: their own where there is one, else their voxels in a row, which are
 * nowhere. */
kn_status kn_image_parts_geometry(kn_ctx *ctx, const char *name, const kn_image_part *part,
                                  int parts, kn_geometry *out);
ptrdiff_t kn_geometry_voxels(const kn_geometry *geometry);

#endif
