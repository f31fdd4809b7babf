/* Ids of images from their file names, where neither a list nor labels such as sub-01 give them:
 * s12.nii belongs to the participant s12, wherever a pattern sorts it. Matching is by id, never by
 * the order of files. */
#ifndef KN_DATA_IMAGE_NAMES_H
#define KN_DATA_IMAGE_NAMES_H

#include "base/memory/alloc.h"

/* Finds the id of each image among the n_ids distinct ids of the covariates.
 *
 *     names that equal an id, without extension   all images have their names as ids, as soon as
 *                                                 one is an id
 *     else an id between separators in the part   if each image has exactly one, and no two the
 *     of the paths behind their common folder     same; the longest of several counts
 *
 * *out = n texts, freed with kn_names_free; NULL: the names do not tell. O(n ln n_ids). */
kn_status kn_image_names_find(kn_ctx *ctx, const char *const *path, ptrdiff_t n,
                              const char *const *id, ptrdiff_t n_ids, char ***out);

#endif
