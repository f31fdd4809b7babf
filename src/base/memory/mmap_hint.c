/* Implements kn_view_done of mmap_hint.h; the other functions are in context.c. */
#include "base/memory/mmap_hint.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Drops the pages at both ends too, although neighbouring columns may use them: over many thousand
 * calls the pages that stayed would add up. */
void kn_view_done(const kn_ctx *ctx, kn_view v, ptrdiff_t first, ptrdiff_t count)
{
    size_t size = v.type == KN_F32 ? sizeof(float) : sizeof(double);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)v.data;
    uintptr_t from = start + (size_t)(first * v.col_stride) * size;
    if (count < 1 || !kn_mmap_hint(ctx, (const void *)from))
        return;
    uintptr_t to =
        start +
        (size_t)((first + count - 1) * v.col_stride + (v.rows - 1) * v.row_stride + 1) * size;
    from -= from % page;
    to += (page - to % page) % page;
    madvise((void *)from, to - from, MADV_DONTNEED); /* a failure costs memory only */
}
