/* Where the responses go: to memory, to a scratch file, or nowhere because the rest has no room. */
#ifndef KN_WORK_PLACE_H
#define KN_WORK_PLACE_H

#include "base/ctx.h"
#include "work/need.h"

typedef struct kn_allowance {
    double bytes;
    const char *from;   /* "--memory allows": goes before the number in messages */
    bool address_space; /* mapped files count too */
} kn_allowance;

/* kn_memory of the context; ulimit -v may leave less. */
kn_allowance kn_allowance_of(const kn_ctx *ctx);

/* *in_file: the responses fit only in a file. KN_ERR_MEMORY, with need, allowance and what would
 * help, when that is not enough either. at_least: T is not known yet,
 * and the shape has a lower bound of it. */
kn_status kn_place_responses(kn_ctx *ctx, const kn_allowance *a, const kn_need_shape *shape,
                             bool at_least, bool *in_file);

#endif
