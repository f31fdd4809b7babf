/* Releases pages of a memory-mapped scratch file after use, so that they do not fill the memory.
 *
 * io/file/scratch_file.c registers its mapping with the context. Code that has read or written
 * columns of a view calls kn_view_done, which does nothing for views of ordinary memory. */
#ifndef KN_BASE_MEMORY_MMAP_HINT_H
#define KN_BASE_MEMORY_MMAP_HINT_H

#include "base/context.h"

/* Registers the mapping of this context, at most one, MAP_SHARED; start NULL: none. */
void kn_mmap_hint_set(kn_ctx *ctx, const void *start, size_t bytes);
/* Is p an address in the registered mapping? */
bool kn_mmap_hint(const kn_ctx *ctx, const void *p);

/* Tells the system that columns first .. first + count - 1 have been read or written (madvise): all
 * pages from the first to the last of them may be dropped. Thread-safe; a page that is needed again
 * is read back from the file. */
void kn_view_done(const kn_ctx *ctx, kn_view v, ptrdiff_t first, ptrdiff_t count);

#endif
