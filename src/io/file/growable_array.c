/* Implements growable_array.h: allocate, copy, free; capacity doubles from 16 elements. */
#include "io/file/growable_array.h"

#include <string.h>

kn_status kn_grow(kn_ctx *ctx, ptrdiff_t need, size_t element, void **array, ptrdiff_t *capacity)
{
    enum { START = 16 };
    if (need <= *capacity)
        return KN_OK;
    ptrdiff_t wanted = *capacity > 0 ? *capacity : START;
    while (wanted < need)
        wanted = wanted > PTRDIFF_MAX / 2 ? need : 2 * wanted;
    void *larger;
    kn_status status = kn_alloc(ctx, wanted, element, &larger);
    if (status != KN_OK)
        return status;
    if (*capacity > 0)
        memcpy(larger, *array, (size_t)*capacity * element);
    kn_free(*array);
    *array = larger;
    *capacity = wanted;
    return KN_OK;
}

kn_status kn_reserve(kn_ctx *ctx, ptrdiff_t need, void **buffer, ptrdiff_t *capacity)
{
    if (need <= *capacity)
        return KN_OK;
    kn_free(*buffer);
    *capacity = 0;
    kn_status status = kn_alloc_raw(ctx, need, 1, buffer);
    if (status == KN_OK)
        *capacity = need;
    return status;
}
