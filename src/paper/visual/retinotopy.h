/* A simulated visual cortex: voxels, their areas and receptive fields.
 *
 * Two hemispheres, each with eight areas side by side in their anatomical order from ventral to
 * dorsal; eccentricity grows from the occipital pole forwards. The direction of polar angle
 * reverses from area to area, so that neighbouring voxels see neighbouring places. */
#ifndef KN_PAPER_VISUAL_RETINOTOPY_H
#define KN_PAPER_VISUAL_RETINOTOPY_H

#include "io/formats/nifti_header.h"

enum { KN_AREAS = 8, KN_BANDS = 11 }; /* in each hemisphere */

typedef struct kn_visual_voxel {
    ptrdiff_t index;        /* in the image, x fastest */
    double place[3];        /* mm */
    int hemisphere;         /* 0 left, which sees the right half of the screen; 1 right */
    int area, band;         /* index of kn_area_name; eccentricity band 0 .. 10 from the centre */
    double row, col, width; /* receptive field: centre and sd, in pixels of the 10 x 10 screen */
} kn_visual_voxel;

extern const char *const kn_area_name[KN_AREAS];
/* Largest share of variance that a pattern explains, per area. */
extern const double kn_area_signal[KN_AREAS];

/* *out = the `count` voxels nearest to the two occipital poles, in file order; owned by the
 * caller (kn_free). */
kn_status kn_retinotopy_new(kn_ctx *ctx, const kn_nifti_header *grid, ptrdiff_t count,
                            kn_visual_voxel **out);

#endif
