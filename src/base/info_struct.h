/* What is told in a struct of the caller's, who may have been compiled with an older or a newer
 * one: as much of it as both know. Every such struct begins with its size. */
#ifndef KN_BASE_INFO_STRUCT_H
#define KN_BASE_INFO_STRUCT_H

#include <stddef.h>
#include <string.h>

/* `own` (own_size bytes of this library) to `info`, which keeps its size; info NULL: nobody asks.
 */
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
