/* Rejects participants without any finite response: such a file is broken, and nothing can be
 * learned from it. */
#ifndef KN_DATA_CHECK_BLANK_H
#define KN_DATA_CHECK_BLANK_H

#include "data/responses/read.h"

/* KN_ERR_DATA, with the name of the first such image or row of p->Y. Reads each row only up to its
 * first finite value. Collective. */
kn_status kn_blank_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                          const kn_sample *p);

/* The same for images before the mask is known; reads them one by one. */
kn_status kn_blank_image_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r);

#endif
