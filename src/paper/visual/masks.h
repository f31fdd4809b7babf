/* Writes the locations of the simulated voxels as images: a mask of all, of every visual area
 * and of every eccentricity band in either hemisphere, and a background head.
 *
 *     DIR/mask/mask.nii.gz  {LH,RH}{V1d,...}.nii.gz  {LH,RH}lag{0to1,...}.nii.gz  DIR/bg.nii.gz */
#ifndef KN_PAPER_VISUAL_MASKS_H
#define KN_PAPER_VISUAL_MASKS_H

#include "cohort/output_folder.h"
#include "paper/visual/retinotopy.h"

typedef struct kn_miyawaki_places {
    kn_folder *folder; /* contains mask/ */
    const kn_nifti_header *grid;
    const kn_visual_voxel *voxel; /* T */
    const ptrdiff_t *index;       /* T  index of each voxel in the grid */
    ptrdiff_t T;
} kn_miyawaki_places;

/* Writes all masks and the background. */
kn_status kn_miyawaki_write_places(kn_ctx *ctx, const kn_miyawaki_places *e);

#endif
