/* Arrays that grow by doubling, through the checked allocator. */
#ifndef KN_IO_FILE_GROWABLE_ARRAY_H
#define KN_IO_FILE_GROWABLE_ARRAY_H

#include "base/memory/alloc.h"

/* Makes room for `need` elements; *array and *capacity change together. New elements are zero. */
kn_status kn_grow(kn_ctx *ctx, ptrdiff_t need, size_t element, void **array, ptrdiff_t *capacity);

/* The same for a buffer whose contents need not be kept, and without room to spare. */
kn_status kn_reserve(kn_ctx *ctx, ptrdiff_t need, void **buffer, ptrdiff_t *capacity);

#endif
