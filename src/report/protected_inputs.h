/* Lists the input files of a page, so that the page and its figures never overwrite them, not
 * even with {force}. */
#ifndef KN_REPORT_PROTECTED_INPUTS_H
#define KN_REPORT_PROTECTED_INPUTS_H

#include "base/memory/arena.h"
#include "base/options/options.h"

typedef struct kn_protected {
    const char **path; /* n, in the arena */
    ptrdiff_t n, room;
} kn_protected;

/* Collects into `out` the model, the files that options name, and the tables, records and maps
 * that a command wrote into the scored folder. Pages and figures in that folder are not listed
 * and may be replaced. Paths are in `arena`. */
kn_status kn_protected_find(kn_ctx *ctx, const kn_settings *s, kn_arena *arena, kn_protected *out);

#endif
