/* Copies a size-prefixed result struct to the caller. The caller may have been compiled with an
 * older or a newer version of the struct; every such struct begins with its size in bytes. */
#ifndef KN_BASE_INFO_STRUCT_H
#define KN_BASE_INFO_STRUCT_H

#include <stddef.h>
#include <string.h>

/* Copies min(size of `info`, own_size) bytes from `own` to `info`, all but the leading size field,
 * which stays the caller's. Does nothing if info is NULL or its size is not set. */
static inline void kn_info_copy_out(void *info, const void *own, size_t own_size)
{
    size_t size;
    if (!info)
        return;
    memcpy(&size, info, sizeof size);
    if (size <= sizeof size)
        return;
    memcpy((char *)info + sizeof size, (const char *)own + sizeof size,
           (size < own_size ? size : own_size) - sizeof size);
}

#endif
