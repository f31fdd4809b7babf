/* Values that live in a file and are only mapped: what has been read may leave memory again.
 *
 * Whoever maps a file says so to the context; whoever has passed over some columns of a view says
 * that too. For views of ordinary memory nothing happens, so that readers need not know. */
#ifndef KN_BASE_MEMORY_MMAP_HINT_H
#define KN_BASE_MEMORY_MMAP_HINT_H

#include "base/context.h"

/* The one mapping of this context, shared with its file; NULL: there is none. */
void kn_mmap_hint_set(kn_ctx *ctx, const void *start, size_t bytes);
bool kn_mmap_hint(const kn_ctx *ctx, const void *p);

/* Columns first .. first + count - 1 have been read or written: all pages from the first to the
 * last of them may go. Any thread may say so at any time; whoever still needs a page gets it back
 * from the file. */
void kn_view_done(const kn_ctx *ctx, kn_view v, ptrdiff_t first, ptrdiff_t count);

#endif
