/* Internals shared by the files of report/pictures: tables from pixels to responses, the layout of
 * slices, and the rasteriser of meshes. picture.h is the interface for the page. */
#ifndef KN_REPORT_PICTURES_INTERNAL_H
#define KN_REPORT_PICTURES_INTERNAL_H

#include "report/pictures/orientation.h"
#include "report/pictures/picture.h"

/* ---- picture.c ---- */

/* Common interface of slices and mesh views: a table from pixels to responses. A kind (mosaic.c,
 * raster.c) builds the tables once per page; every map is then a look-up, coloured by picture.c. */

typedef struct kn_picture_table {
    ptrdiff_t width, height; /* px, at least 1 */
    /* height x width, top row first: the response seen at each pixel; -1: none. */
    ptrdiff_t *response;
    /* height x width: grey of the background; 0: transparent. */
    uint8_t *background;
    /* If several responses project to one pixel, as on a thumbnail of a volume, `response` holds
     * the number of a cell, and the response with the largest |z| in the cell is shown. NULL:
     * `response` holds responses. */
    ptrdiff_t *cell; /* T  cell of each response; -1: none */
    ptrdiff_t cells;
} kn_picture_table;

enum { KN_PICTURE_DESCRIPTION = 512, KN_PICTURE_LABELS = 80 };

typedef struct kn_picture_tables { /* arrays are in the arena */
    kn_arena arena;
    kn_picture_table whole, thumb;
    kn_picture_label label[KN_PICTURE_LABELS]; /* labels on `whole` */
    ptrdiff_t labels;
    char words[KN_PICTURE_DESCRIPTION]; /* description of `whole`: view and orientation */
} kn_picture_tables;

/* Adds a label; ignored if KN_PICTURE_LABELS are present. */
void kn_picture_label_add(kn_picture_tables *tables, const kn_picture_label *label);

/* Builds the tables of a kind. out is {0} on entry; the caller clears its arena, also on
 * failure. A kind with nothing to draw leaves whole.width 0. */
typedef kn_status (*kn_picture_kind)(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                                     kn_picture_tables *out);

/* Builds the tables of a volume: slices laid out by kn_mosaic_layout, and the thumbnail, a
 * projection. Nothing without responses. */
kn_status kn_mosaic_build(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_picture_tables *out);
/* Builds the tables of meshes: lateral and medial views, large and as a thumbnail. Nothing without
 * meshes. Can be cancelled. */
kn_status kn_raster_build(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_picture_tables *out);

/* ---- mosaic.c, mosaic_layout.c ---- */

/* Layout of a mosaic of slices: which slices of a volume, their place in the picture and their
 * size.
 *
 * Up to two rows of axial slices, evenly spaced over those that contain responses, then a row of
 * coronal and sagittal slices, all cropped to the bounding box of the mask. Right in the picture
 * is the right of the head, or its front; up is the front, or the top of the head. Pixels are
 * squares of `pixel` mm, the smallest voxel size divided or multiplied by an integer, so that
 * cubic voxels stay square. */

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

/* Computes which slices of the volume are drawn, where and in which pixel size, for T >= 1
 * responses. */
kn_status kn_mosaic_layout(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_mosaic *out);

/* Returns the voxel index (in the volume as stored) at pixel (u, v) of a tile, v from the top. */
ptrdiff_t kn_mosaic_voxel(const kn_mosaic *m, const kn_mosaic_tile *tile, ptrdiff_t u, ptrdiff_t v);

/* ---- raster.c ---- */

/* Rasterises meshes to tables from pixels to vertices: orthographic projection along x with a
 * depth buffer. Drawn once per page; a map is then a look-up. */

typedef struct kn_raster_frame { /* viewpoint and extent of a view */
    bool from_left;              /* eye at x = -infinity, nose on the left; else eye at +infinity */
    double y, z;                 /* mm at the centre of the picture */
    double scale;                /* pixels per mm */
    ptrdiff_t width, height;
} kn_raster_frame;

typedef struct kn_raster_pixel {
    ptrdiff_t vertex;   /* nearest corner of the visible triangle; -1: none */
    ptrdiff_t triangle; /* the visible triangle ... */
    float weight[3];    /* ... and barycentric coordinates in it */
    double depth;       /* mm along the line of sight */
} kn_raster_pixel;

/* Renders a view to `out`, height x width, top row first, sampled at pixel centres. Degenerate
 * triangles are skipped. Cost: triangles + pixels of their bounding boxes. */
void kn_raster_view(const kn_surface *surface, const kn_raster_frame *frame, kn_raster_pixel *out);

/* Computes area-weighted outward unit normals, 3 x vertices; 0 at a vertex without triangles. */
void kn_raster_normals(const kn_surface *surface, double *normal);

/* Computes how folded the surface is, about -1 (gyral crowns) to 1 (sulcal depths), per vertex:
 * sulc if not NULL, with its sign flipped if it opposes the concavity of the mesh (conventions
 * differ), otherwise that concavity c_i = n_i . mean_j (x_j - x_i), smoothed over neighbours;
 * both divided by their standard deviation. */
kn_status kn_raster_folds(kn_ctx *ctx, const kn_surface *surface, const double *normal,
                          const float *sulc, double *fold);

#endif
