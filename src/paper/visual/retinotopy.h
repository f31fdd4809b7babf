/* A visual cortex made up for simulation: which voxels, which area, what each sees.
 *
 * Two hemispheres, each with eight areas side by side in the order they have in people, from
 * ventral to dorsal, and eccentricity growing from the occipital pole forwards. Polar angle runs
 * to and fro from area to area, so that neighbours see neighbouring places. */
#ifndef KN_PAPER_VISUAL_RETINOTOPY_H
#define KN_PAPER_VISUAL_RETINOTOPY_H

#include "io/formats/nifti_header.h"

enum { KN_AREAS = 8, KN_BANDS = 11 }; /* in each hemisphere */

typedef struct kn_visual_voxel {
    ptrdiff_t index;        /* in the image, x fastest */
    double place[3];        /* mm */
    int hemisphere;         /* 0 left, which sees the right half of the screen; 1 right */
    int area, band;         /* kn_area_name; 0 .. 10, eccentricity bands from the centre outwards */
    double row, col, width; /* receptive field: centre and sd, in pixels of the 10 x 10 screen */
} kn_visual_voxel;

extern const char *const kn_area_name[KN_AREAS];
extern const double
    kn_area_signal[KN_AREAS]; /* largest share of variance that a pattern explains */

/* *out = the `count` voxels nearest to the two occipital poles, in file order. Free with kn_free.
 */
kn_status kn_retinotopy_new(kn_ctx *ctx, const kn_nifti_header *grid, ptrdiff_t count,
                            kn_visual_voxel **out);

#endif
