/* Rasterises meshes to tables from pixels to vertices: orthographic projection along x with a
 * depth buffer. Drawn once per page; a map is then a look-up. */
#ifndef KN_REPORT_PICTURES_RASTER_H
#define KN_REPORT_PICTURES_RASTER_H

#include "report/pictures/picture_kind.h"

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
