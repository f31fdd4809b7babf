/* Reads a triangulated surface: GIFTI with one array of coordinates (NIFTI_INTENT_POINTSET,
 * float32) and one of triangles (NIFTI_INTENT_TRIANGLE, int32), such as lh.pial.surf.gii. Surface
 * harmonics and the maps of the report need it. */
#ifndef KN_IO_FORMATS_SURFACE_MESH_H
#define KN_IO_FORMATS_SURFACE_MESH_H

#include "io/formats/gifti.h"

typedef struct kn_surface {
    ptrdiff_t vertices, triangles;
    double *xyz;       /* owned; 3 x vertices, column-major (x, y, z of each vertex); finite */
    ptrdiff_t *corner; /* owned; 3 x triangles, column-major; vertices from 0 */
} kn_surface;

/* Reads a surface file. KN_ERR_FORMAT if it has no such arrays, KN_ERR_DATA for a coordinate that
 * is not finite or a vertex out of range. Free with kn_surface_clear. */
kn_status kn_surface_read(kn_ctx *ctx, const char *path, kn_surface *out);
/* The same from a GIFTI file in memory; `name` is for messages. */
kn_status kn_surface_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti, kn_surface *out);
/* Frees the surface. {0} is allowed. */
void kn_surface_clear(kn_surface *surface);

#endif
