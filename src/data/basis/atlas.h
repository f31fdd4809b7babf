/* Makes a basis from an atlas: a column for each label, 1/sqrt(size) on its responses  [METHOD 1e]
 *
 * Labels are whole numbers, one for each voxel or vertex; 0 and the key of '???' in the table of a
 * GIFTI file mean no label. The labels of two hemispheres are distinct, even with equal numbers.
 * Columns are ordered by hemisphere and then by number; no two overlap, so B'B = I. */
#ifndef KN_DATA_BASIS_ATLAS_H
#define KN_DATA_BASIS_ATLAS_H

#include "base/matrix.h"
#include "data/response_space.h"

typedef struct kn_atlas_label {
    /* Image of the atlas, 0 or 1 (hemisphere). */
    int part;
    double number;
} kn_atlas_label;

typedef struct kn_atlas {
    const char *path; /* borrowed */
    kn_space space;   /* every voxel of the image */
    float *value;     /* space.T labels as read from the image */
    ptrdiff_t n;      /* distinct labels */
    kn_atlas_label *label;
} kn_atlas;

/* Reads an atlas from an image, or from two with a comma between their paths. KN_ERR_DATA if
 * values are not whole numbers or there is no label. path is borrowed. */
kn_status kn_atlas_read(kn_ctx *ctx, const char *path, kn_atlas *out);
void kn_atlas_clear(kn_atlas *atlas); /* accepts {0} */

/* Computes B (T x n, owned by the caller) for the responses in `space`, which must have the
 * geometry of the atlas (KN_ERR_SHAPE). KN_ERR_DATA if a label has no voxel inside the mask.
 * `name` is the file of the responses, for messages. */
kn_status kn_atlas_basis(kn_ctx *ctx, const kn_atlas *atlas, const char *name,
                         const kn_space *space, kn_mat *B);

#endif
