/* Files that a page is made of: none of them is written over, {force} or not. */
#ifndef KN_REPORT_PROTECTED_INPUTS_H
#define KN_REPORT_PROTECTED_INPUTS_H

#include "base/memory/arena.h"
#include "base/options/options.h"

typedef struct kn_protected {
    const char **path; /* n, in the arena */
    ptrdiff_t n, room;
} kn_protected;

/* The model, what options name, and what a command has written into the folder: tables, records and
 * maps. Pages and figures that are in it may be replaced. */
kn_status kn_protected_find(kn_ctx *ctx, const kn_settings *s, kn_arena *arena, kn_protected *out);

#endif
