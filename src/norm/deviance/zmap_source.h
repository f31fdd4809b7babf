/* Source of z maps: blocks of responses on demand, so that no participants x T matrix is needed. */
#ifndef KN_NORM_DEVIANCE_ZMAP_SOURCE_H
#define KN_NORM_DEVIANCE_ZMAP_SOURCE_H

#include "gp/block_visitor.h"

typedef struct kn_z_source {
    void *self;
    ptrdiff_t rows, cols; /* participants, T responses */
    /* Fill z (rows x count) with responses first .. first + count - 1 of every participant. */
    kn_status (*block)(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z);
    const kn_scaling *scaling; /* numbering at which blocks are cut; NULL: 0 .. cols-1 */
    ptrdiff_t people;          /* participants; the rows after them are zero padding. 0: all rows */
} kn_z_source;

/* A source for a matrix in memory; *z is borrowed and must outlive the source. */
kn_z_source kn_z_from_mat(kn_mat *z);

/* Run a block loop over the source; the visitor finds z in each block. Collective if the
 * visitor's end is. */
kn_status kn_z_walk(kn_ctx *ctx, const kn_z_source *z, kn_block_loop walk,
                    const kn_visitor *visitor);
/* Number and width of the blocks of such a loop. */
kn_block_loop_plan kn_z_plan(const kn_z_source *z);

#endif
