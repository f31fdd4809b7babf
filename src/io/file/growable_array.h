/* Arrays that grow by doubling, allocated by the context's checked allocator. */
#ifndef KN_IO_FILE_GROWABLE_ARRAY_H
#define KN_IO_FILE_GROWABLE_ARRAY_H

#include "base/memory/alloc.h"

/* Enlarges *array to at least `need` elements of `element` bytes and updates *capacity; new
 * elements are zero. Start with *array NULL and *capacity 0. On failure both are unchanged. */
kn_status kn_grow(kn_ctx *ctx, ptrdiff_t need, size_t element, void **array, ptrdiff_t *capacity);

/* Enlarges a buffer to exactly `need` bytes if it is smaller. The old content is lost. */
kn_status kn_reserve(kn_ctx *ctx, ptrdiff_t need, void **buffer, ptrdiff_t *capacity);

#endif
