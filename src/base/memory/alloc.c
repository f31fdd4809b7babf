/* Implements alloc.h: each block has a header of one cache line in front, which kn_free reads. */
#include "base/memory/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 }; /* one cache line, one AVX-512 register */

typedef struct header {
    kn_meter *meter; /* counts the block */
    size_t bytes;    /* of the block, header included */
    void *start;     /* pointer for free() */
} header;

static_assert(sizeof(header) <= ALIGN, "a header takes one line, so that blocks stay aligned");

double kn_alloc_bytes(double bytes)
{
    return bytes > 0 ? ALIGN + ceil(bytes / ALIGN) * ALIGN : 0;
}

/* Sizes in bytes: from LARGE on, malloc gives a block its own mapping, so that large pages do not
 * hold other blocks; LARGEST: see ask_for_large_pages. */
enum { LARGE = 1 << 25, LARGEST = 1 << 30 };

/* Asks for pages of 2 MB if the block has at least `from` bytes: page faults of 4 kB cost more than
 * writing the memory. Blocks that are filled at once (kn_alloc_raw) ask from LARGE on, others from
 * LARGEST on: below a gigabyte a virtual machine may need longer to find a large page than many
 * small ones [bench/MEASURED.md]. */
static void ask_for_large_pages(void *p, size_t bytes, size_t from)
{
#ifdef MADV_HUGEPAGE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
              start = ((uintptr_t)p + page - 1) / page * page;
    if (p && bytes >= from)
        madvise((void *)start, bytes - (start - (uintptr_t)p), MADV_HUGEPAGE); /* may fail */
#else
    (void)p;
    (void)bytes;
    (void)from;
#endif
}

static char *aligned(size_t bytes, void **start)
{
    *start = aligned_alloc(ALIGN, bytes);
    ask_for_large_pages(*start, bytes, LARGE);
    return *start;
}

/* The system delivers a large block zeroed, and calloc does not write it again: the threads that
 * fill it are the first to touch its pages. Small blocks are zeroed here. */
static char *zeroed(size_t bytes, void **start)
{
    if (bytes < LARGE) {
        char *p = aligned(bytes, start);
        return p ? memset(p, 0, bytes) : NULL;
    }
    char *p = *start = calloc(1, bytes + ALIGN);
    ask_for_large_pages(p, bytes, LARGEST);
    return p ? p + (ALIGN - (uintptr_t)p % ALIGN) % ALIGN : NULL;
}

/* Allocates header and array by the function `from`, and counts the block. */
static kn_status take(kn_ctx *ctx, ptrdiff_t n, size_t element,
                      char *(*from)(size_t bytes, void **start), void **out)
{
    void *start = NULL;
    *out = NULL;
    if (n == 0)
        return KN_OK;
    if (n < 0 || (size_t)n > (SIZE_MAX / 2 - 3 * ALIGN) / element)
        return kn_fail(ctx, KN_ERR_MEMORY, "an array of %td elements of %zu bytes cannot exist", n,
                       element);
    size_t bytes = ALIGN + ((size_t)n * element + ALIGN - 1) / ALIGN * ALIGN;
    char *p = kn_allocation_fails(ctx) ? NULL : from(bytes, &start);
    if (!p)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory: %.1f MB more were needed",
                       (double)bytes / 1e6);
    *(header *)p = (header){kn_ctx_meter(ctx), bytes, start};
    kn_meter_take(kn_ctx_meter(ctx), bytes);
    *out = p + ALIGN;
    return KN_OK;
}

kn_status kn_alloc_raw(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    return take(ctx, n, element, aligned, out);
}

kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    return take(ctx, n, element, zeroed, out);
}

void kn_free(void *p)
{
    if (!p)
        return;
    assert((uintptr_t)p % ALIGN == 0); /* a block of kn_alloc */
    header *h = (header *)((char *)p - ALIGN);
    kn_meter_give(h->meter, h->bytes);
    free(h->start);
}

size_t kn_memory_now(const kn_ctx *ctx)
{
    return kn_meter_now(kn_ctx_meter(ctx));
}

size_t kn_memory_peak(const kn_ctx *ctx)
{
    return kn_meter_peak(kn_ctx_meter(ctx));
}

void kn_memory_peak_reset(kn_ctx *ctx)
{
    kn_meter_peak_reset(kn_ctx_meter(ctx));
}

kn_status kn_alloc_d(kn_ctx *ctx, ptrdiff_t n, double **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, n, sizeof(double), &p);
    *out = p;
    return status;
}

kn_status kn_alloc_f(kn_ctx *ctx, ptrdiff_t n, float **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, n, sizeof(float), &p);
    *out = p;
    return status;
}

kn_status kn_alloc_i(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, n, sizeof(ptrdiff_t), &p);
    *out = p;
    return status;
}
