/* Where the voxels of the simulated experiment are, as images: a mask of all, of every visual area
 * and band of eccentricity in either hemisphere, and a head to lay maps over.
 *
 *     DIR/mask/mask.nii.gz  {LH,RH}{V1d,...}.nii.gz  {LH,RH}lag{0to1,...}.nii.gz  DIR/bg.nii.gz */
#ifndef KN_PAPER_VISUAL_MASKS_H
#define KN_PAPER_VISUAL_MASKS_H

#include "cohort/output_folder.h"
#include "paper/visual/retinotopy.h"

typedef struct kn_miyawaki_places {
    kn_folder *folder; /* has mask/ */
    const kn_nifti_header *grid;
    const kn_visual_voxel *voxel; /* T */
    const ptrdiff_t *index;       /* T: of each in the grid */
    ptrdiff_t T;
} kn_miyawaki_places;

kn_status kn_miyawaki_write_places(kn_ctx *ctx, const kn_miyawaki_places *e);

#endif
