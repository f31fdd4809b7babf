/* Which place of a CIFTI file a vertex of the cortex is: out of the brain models that were kept of
 * it. */
#ifndef KN_IO_FORMATS_CIFTI_VERTICES_H
#define KN_IO_FORMATS_CIFTI_VERTICES_H

#include "io/image/image.h"

typedef struct kn_cifti_cortex {
    int side;           /* 0 left, 1 right */
    ptrdiff_t places;   /* of the file */
    ptrdiff_t vertices; /* of the surface that is asked for; another number is refused */
} kn_cifti_cortex;

/* place: vertices  0 .. places-1; -1: the file has nothing there. *found: there is such a cortex.
 * `name` for messages. */
kn_status kn_cifti_vertices(kn_ctx *ctx, const char *name, const kn_brain *brain,
                            const kn_cifti_cortex *cortex, ptrdiff_t *place, bool *found);

#endif
