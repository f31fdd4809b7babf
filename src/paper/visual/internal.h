/* Private parts of the simulated visual experiment: the images that are shown, and the voxels that
 * respond to them. miyawaki.c combines them. Each section names the file that implements it. */
#ifndef KN_PAPER_VISUAL_INTERNAL_H
#define KN_PAPER_VISUAL_INTERNAL_H

#include "base/random.h"
#include "cohort/output_folder.h"
#include "io/formats/nifti_header.h"

/* ---- patterns.c ---- */

/* The 10 x 10 images of the experiment: figures drawn from strokes, and random patterns with the
 * same numbers of lit pixels. Pixel (row i, column j) is element i + 10 j, as in the label
 * files. */

enum { KN_SCREEN = 10, KN_PIXELS = KN_SCREEN * KN_SCREEN, KN_FIGURES = 20 };

/* Draws one of KN_FIGURES figures: 5 shapes, then 5 letters upright, slanted and small. The
 * thickness of the strokes is chosen so that 34, 37, 40, 43 or 46 pixels are lit, each equally
 * often. */
void kn_pattern_figure(int figure, unsigned char x[KN_PIXELS]);
/* Returns the number of lit pixels of a figure, 34 to 46. */
int kn_pattern_fill(int figure);
/* Returns the name of a figure, "plus"; borrowed. */
const char *kn_pattern_name(int figure);

/* Draws a random pattern with `fill` lit pixels. */
void kn_pattern_random(kn_rng *rng, int fill, unsigned char x[KN_PIXELS]);

/* ---- retinotopy.c: voxels ---- */

/* A simulated visual cortex: voxels, their areas and receptive fields.
 *
 * Two hemispheres, each with eight areas side by side in their anatomical order from ventral to
 * dorsal; eccentricity grows from the occipital pole forwards. The direction of polar angle
 * reverses from area to area, so that neighbouring voxels see neighbouring places. */

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

/* ---- retinotopy.c: masks ---- */

/* Writes the locations of the simulated voxels as images: a mask of all, of every visual area
 * and of every eccentricity band in either hemisphere, and a background head.
 *
 *     DIR/mask/mask.nii.gz  {LH,RH}{V1d,...}.nii.gz  {LH,RH}lag{0to1,...}.nii.gz  DIR/bg.nii.gz */

typedef struct kn_miyawaki_masks {
    kn_folder *folder; /* contains mask/ */
    const kn_nifti_header *grid;
    const kn_visual_voxel *voxel; /* T */
    const ptrdiff_t *index;       /* T  index of each voxel in the grid */
    ptrdiff_t T;
} kn_miyawaki_masks;

/* Writes all masks and the background. */
kn_status kn_miyawaki_write_masks(kn_ctx *ctx, const kn_miyawaki_masks *e);

#endif
