/* Views of meshes as tables from pixels to vertices: orthographic, along x, nearest wins. Drawn
 * once a page; a map is then a look-up. */
#ifndef KN_REPORT_PICTURES_RASTER_H
#define KN_REPORT_PICTURES_RASTER_H

#include "report/pictures/picture_kind.h"

typedef struct kn_raster_frame { /* where a view looks from, and what it shows */
    bool from_left; /* the eye is at x = -infinity, and the nose on the left; else at +infinity */
    double y, z;    /* mm in the middle of the picture */
    double scale;   /* pixels a mm */
    ptrdiff_t width, height;
} kn_raster_frame;

typedef struct kn_raster_pixel {
    ptrdiff_t vertex;   /* the nearest corner of the triangle that is seen; -1: none is */
    ptrdiff_t triangle; /* that is seen ... */
    float weight[3];    /* ... and where in it: barycentric */
    double depth;       /* mm along the line of sight */
} kn_raster_pixel;

/* out: height x width, the top row first. A pixel is what is seen in its middle. Triangles without
 * an area are passed over. Cost: triangles + pixels that their boxes cover. */
void kn_raster_view(const kn_surface *surface, const kn_raster_frame *frame, kn_raster_pixel *out);

/* Outward normals of length 1, weighted by area; 0 at a vertex of no triangle. 3 x vertices. */
void kn_raster_normals(const kn_surface *surface, double *normal);

/* How folded the surface is, about -1 (crowns) to 1 (depths of folds): sulc where it is given,
 * turned round if it runs against the concavity of the mesh (makers differ in its sign), else that
 * concavity c_i = n_i . mean_j (x_j - x_i), smoothed over neighbours; both over their deviation. */
kn_status kn_raster_folds(kn_ctx *ctx, const kn_surface *surface, const double *normal,
                          const float *sulc, double *fold);

#endif
