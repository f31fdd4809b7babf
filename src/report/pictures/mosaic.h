/* Slices of a volume side by side: which, where in the picture, and of what size.
 *
 * Up to two rows of axial slices spread evenly over those that have responses, then a row of
 * coronal and sagittal ones, all cut to the box of the mask. Right is the right of the head, or its
 * front; up is the front, or the top of the head. Pixels are squares of `pixel` mm, the smallest
 * step of the volume divided or multiplied by a whole number, so that voxels that are cubes stay
 * so. */
#ifndef KN_REPORT_PICTURES_MOSAIC_H
#define KN_REPORT_PICTURES_MOSAIC_H

#include "report/pictures/orientation.h"
#include "report/pictures/picture_kind.h"

typedef struct kn_mosaic_plane {
    int across, through, up; /* axes of the head */
    const char *name;
} kn_mosaic_plane;
enum { KN_AXIAL = 0, KN_CORONAL = 1, KN_SAGITTAL = 2, KN_MOSAIC_PLANES = 3 };
extern const kn_mosaic_plane kn_mosaic_plane_of[KN_MOSAIC_PLANES];

enum { KN_MOSAIC_ROW = 8, KN_MOSAIC_TILES = 3 * KN_MOSAIC_ROW };

typedef struct kn_mosaic_tile {
    int plane;
    ptrdiff_t slice;               /* along `through` */
    double mm;                     /* of its middle */
    ptrdiff_t x, y, width, height; /* in the picture */
} kn_mosaic_tile;

typedef struct kn_mosaic {
    kn_orientation o;
    kn_head_box box;
    double pixel; /* mm */
    ptrdiff_t width, height;
    int tiles;
    kn_mosaic_tile tile[KN_MOSAIC_TILES];
} kn_mosaic;

/* T is at least 1. */
kn_status kn_mosaic_layout(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_mosaic *out);

/* Voxel of the box at pixel (u, v) of a tile, v from the top; an index of the volume. */
ptrdiff_t kn_mosaic_voxel(const kn_mosaic *m, const kn_mosaic_tile *tile, ptrdiff_t u, ptrdiff_t v);

#endif
