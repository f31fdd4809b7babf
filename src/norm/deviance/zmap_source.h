/* Where z maps come from: blocks of responses, so that nothing samples x T need ever be held. */
#ifndef KN_NORM_DEVIANCE_ZMAP_SOURCE_H
#define KN_NORM_DEVIANCE_ZMAP_SOURCE_H

#include "gp/block_visitor.h"

typedef struct kn_z_source {
    void *self;
    ptrdiff_t rows, cols; /* samples, T responses */
    /* z (rows x count) = responses first .. first + count - 1 of every sample. */
    kn_status (*block)(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z);
    const kn_scaling *scaling; /* where blocks are cut; NULL: by the source's own numbering */
    ptrdiff_t people;          /* the first so many samples, whom zeros fill up; 0: all */
} kn_z_source;

kn_z_source kn_z_from_mat(kn_mat *z); /* a map that is held after all; *z must outlive the source */

/* A walk over the source: the visitor finds z in each block. */
kn_status kn_z_walk(kn_ctx *ctx, const kn_z_source *z, kn_block_loop walk,
                    const kn_visitor *visitor);
kn_block_loop_plan kn_z_plan(const kn_z_source *z);

#endif
