/* Layout of a mosaic of slices: which slices of a volume, their place in the picture and their
 * size.
 *
 * Up to two rows of axial slices, evenly spaced over those that contain responses, then a row of
 * coronal and sagittal slices, all cropped to the bounding box of the mask. Right in the picture
 * is the right of the head, or its front; up is the front, or the top of the head. Pixels are
 * squares of `pixel` mm, the smallest voxel size divided or multiplied by an integer, so that
 * cubic voxels stay square. */
#ifndef KN_REPORT_PICTURES_MOSAIC_H
#define KN_REPORT_PICTURES_MOSAIC_H

#include "report/pictures/orientation.h"
#include "report/pictures/picture_kind.h"

typedef struct kn_mosaic_plane {
    int across, through, up; /* axes of the head: 0 left-right, 1 back-front, 2 up */
    const char *name;
} kn_mosaic_plane;
enum { KN_AXIAL = 0, KN_CORONAL = 1, KN_SAGITTAL = 2, KN_MOSAIC_PLANES = 3 };
extern const kn_mosaic_plane kn_mosaic_plane_of[KN_MOSAIC_PLANES];

enum { KN_MOSAIC_ROW = 8, KN_MOSAIC_TILES = 3 * KN_MOSAIC_ROW };

typedef struct kn_mosaic_tile {
    int plane;
    ptrdiff_t slice;               /* index along `through` */
    double mm;                     /* position of its centre */
    ptrdiff_t x, y, width, height; /* px in the picture */
} kn_mosaic_tile;

typedef struct kn_mosaic {
    kn_orientation o;
    kn_head_box box;
    double pixel; /* mm */
    ptrdiff_t width, height;
    int tiles;
    kn_mosaic_tile tile[KN_MOSAIC_TILES];
} kn_mosaic;

/* Computes the layout for T >= 1 responses. */
kn_status kn_mosaic_layout(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_mosaic *out);

/* Returns the voxel index (in the volume as stored) at pixel (u, v) of a tile, v from the top. */
ptrdiff_t kn_mosaic_voxel(const kn_mosaic *m, const kn_mosaic_tile *tile, ptrdiff_t u, ptrdiff_t v);

#endif
