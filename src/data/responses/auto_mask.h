/* Which voxels are responses where nobody gave a mask: those that are finite in all images in use,
 * or in r->least of them, and different between them; of one image those that are finite.
 *
 *     low_v, high_v = the least and greatest finite value,  n_v = how many there are
 *     v is in it    when n_v >= least and high_v > low_v
 *
 * Every image is read once for that, before any is read for its values: a mask that is given saves
 * a reading. Ranks look at their share of the people and join the three numbers.
 *
 *     cost: a reading of all images, 24 bytes a voxel; sent by a rank: the same */
#ifndef KN_DATA_RESPONSES_AUTO_MASK_H
#define KN_DATA_RESPONSES_AUTO_MASK_H

#include "data/responses/read.h"
#include "io/image/mask.h"

/* Collective. */
kn_status kn_mask_of_people(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, kn_mask *out);

#endif
