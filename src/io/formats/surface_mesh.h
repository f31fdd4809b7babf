/* A triangulated surface: GIFTI with one array of coordinates (NIFTI_INTENT_POINTSET) and one of
 * triangles (NIFTI_INTENT_TRIANGLE), such as lh.pial.surf.gii. */
#ifndef KN_IO_FORMATS_SURFACE_MESH_H
#define KN_IO_FORMATS_SURFACE_MESH_H

#include "io/formats/gifti.h"

typedef struct kn_surface {
    ptrdiff_t vertices, triangles;
    double *xyz;       /* 3 x vertices, x, y, z of one after the other; finite */
    ptrdiff_t *corner; /* 3 x triangles, vertices from 0 */
} kn_surface;

kn_status kn_surface_read(kn_ctx *ctx, const char *path, kn_surface *out);
/* Of a file that has been read; `name` for messages. */
kn_status kn_surface_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti, kn_surface *out);
void kn_surface_clear(kn_surface *surface); /* {0} is fine */

#endif
