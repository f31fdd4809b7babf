/* Where z maps come from: blocks of responses, so that nothing samples x T need ever be held. */
#ifndef KN_NORM_ZSOURCE_H
#define KN_NORM_ZSOURCE_H

#include "base/mat.h"

typedef struct kn_z_source {
    void *self;
    ptrdiff_t rows, cols; /* samples, T responses */
    /* z (rows x count) = responses first .. first + count - 1 of every sample. */
    kn_status (*block)(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z);
} kn_z_source;

kn_z_source kn_z_from_mat(kn_mat *z); /* a map that is held after all; *z must outlive the source */

/* Responses per block: about 16 MB of z, at least 64 and never more than T. */
ptrdiff_t kn_z_block_size(const kn_z_source *z);

#endif
