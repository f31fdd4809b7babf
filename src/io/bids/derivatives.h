/* Finds the images of a BIDS derivatives folder by the entities in their names, such as
 * sub-01_ses-1_hemi-L_space-fsLR_desc-smooth_thickness.shape.gii. */
#ifndef KN_IO_BIDS_DERIVATIVES_H
#define KN_IO_BIDS_DERIVATIVES_H

#include "base/memory/alloc.h"

typedef struct kn_bids_query { /* values that files must have; NULL: any */
    const char *suffix;        /* thickness */
    const char *space, *desc;
    const char *entities; /* further ones: "den=32k,label=GM" */
} kn_bids_query;

/* *list = text of an image list, a line `sub-01<TAB>path` or, for two hemispheres,
 * `sub-01<TAB>left<TAB>right` for each participant and session, sorted by participant and session.
 * Paths begin with `folder`. KN_ERR_DATA if no image fits, with the suffixes that exist; if files
 * of one participant and session differ in an entity, with its values; if a hemisphere is
 * missing; and if kn_path_check_cell() refuses a path. Cost: one listing of the folder and its
 * subfolders. Free with kn_free. */
kn_status kn_bids_find(kn_ctx *ctx, const char *folder, const kn_bids_query *query, char **list);

/* Lists up to five suffixes of images in a folder, "thickness, sulc"; "" if there are none. Looks
 * at 20,000 entries at most. */
enum { KN_BIDS_SUFFIXES = 256 };
void kn_bids_suffixes(kn_ctx *ctx, const char *folder, char out[KN_BIDS_SUFFIXES]);

/* Writes the path of a map in a derivatives dataset, without extension: for map z of the image
 * x/sub-01_ses-1_space-MNI_probseg.nii.gz it is
 * sub-01/ses-1/anat/sub-01_ses-1_space-MNI_desc-z_probseg. An image with desc-smooth has
 * desc-smoothZ. The data type is the folder of the image, "anat" if that is none. False if the
 * image is not named as in BIDS or the path exceeds `size`. */
bool kn_bids_map_name(const char *image, const char *map, char *out, size_t size);

#endif
