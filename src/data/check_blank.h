/* Refuses participants without any finite response: nothing can be learned from them, and a file of
 * theirs is broken. */
#ifndef KN_DATA_CHECK_BLANK_H
#define KN_DATA_CHECK_BLANK_H

#include "data/responses/read.h"

/* Fails with the name of the first such image or row of p->Y. Looks no further than the first
 * finite value of each. Collective. */
kn_status kn_blank_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                          const kn_sample *p);

/* The same of images whose voxels are not chosen yet; reads them one by one. */
kn_status kn_blank_image_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r);

#endif
