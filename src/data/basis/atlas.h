/* An atlas as a basis: a column for each label, 1/sqrt(size) on its responses        [METHOD 1e]
 *
 * Labels are whole numbers, one of each voxel or vertex; 0 is no label, and neither is the key of
 * '???' in the table of a GIFTI file. Of two hemispheres each has labels of its own, whatever their
 * numbers. Columns go by hemisphere and then by number; no two overlap, so B'B = I. */
#ifndef KN_DATA_BASIS_ATLAS_H
#define KN_DATA_BASIS_ATLAS_H

#include "base/matrix.h"
#include "data/response_space.h"

typedef struct kn_atlas_label {
    int part;
    double number;
} kn_atlas_label;

typedef struct kn_atlas {
    const char *path; /* lent */
    kn_space space;   /* of the image: every voxel */
    float *value;     /* of each */
    ptrdiff_t n;      /* labels */
    kn_atlas_label *label;
} kn_atlas;

/* An image, or two with a comma between them. */
kn_status kn_atlas_read(kn_ctx *ctx, const char *path, kn_atlas *out);
void kn_atlas_clear(kn_atlas *atlas); /* {0} is fine */

/* B: T x n of the responses in `space`, which the file `name` has. */
kn_status kn_atlas_basis(kn_ctx *ctx, const kn_atlas *atlas, const char *name,
                         const kn_space *space, kn_mat *B);

#endif
