/* Default mask: voxels that are finite in all images in use, or in r->least of them, and not
 * constant; with a single image the finite ones.
 *
 *     low_v, high_v = the least and greatest finite value,  n_v = number of finite values
 *     v is in it    when n_v >= least and high_v > low_v
 *
 * Every image is read once for this, before the values are read; a mask from the user saves that
 * pass. Ranks read different participants and reduce the three numbers.
 *
 *     cost: a pass over all images, 24 bytes per voxel; sent by a rank: the same */
#ifndef KN_DATA_RESPONSES_AUTO_MASK_H
#define KN_DATA_RESPONSES_AUTO_MASK_H

#include "data/responses/read.h"
#include "io/image/mask.h"

/* Computes the default mask of the images in r. KN_ERR_DATA if it is empty. Collective. */
kn_status kn_mask_of_people(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, kn_mask *out);

#endif
