/* Maps the vertices of a cortical surface to places (rows) of a CIFTI file, from its stored brain
 * models. */
#ifndef KN_IO_FORMATS_CIFTI_VERTICES_H
#define KN_IO_FORMATS_CIFTI_VERTICES_H

#include "io/image/image.h"

typedef struct kn_cifti_cortex {
    int side;           /* 0 left, 1 right */
    ptrdiff_t places;   /* of the CIFTI file */
    ptrdiff_t vertices; /* of the surface */
} kn_cifti_cortex;

/* place[v] = place of vertex v (array of cortex->vertices), -1 if the file has no value there (such
 * as the medial wall). *found: the file contains this hemisphere. brain->xml must not be NULL;
 * `name` is for messages. KN_ERR_SHAPE if the file's surface has another number of vertices. */
kn_status kn_cifti_vertices(kn_ctx *ctx, const char *name, const kn_brain *brain,
                            const kn_cifti_cortex *cortex, ptrdiff_t *place, bool *found);

#endif
