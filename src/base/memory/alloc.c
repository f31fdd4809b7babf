/* Implements alloc.h: each block has a header of one cache line in front, which kn_free reads. The
 * header also counts the bytes of a context, by which memory plans are compared with real use. */
#include "base/memory/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- meter ----------------------------------------------------------------------------------- */

struct kn_meter {
    atomic_size_t now, peak; /* bytes */
    atomic_size_t holders;   /* references */
};

kn_meter *kn_meter_new(void)
{
    kn_meter *m = calloc(1, sizeof *m);
    if (m)
        atomic_store(&m->holders, 1);
    return m;
}

void kn_meter_release(kn_meter *m)
{
    if (m && atomic_fetch_sub(&m->holders, 1) == 1)
        free(m);
}

void kn_meter_add_block(kn_meter *m, size_t bytes)
{
    atomic_fetch_add(&m->holders, 1);
    size_t now = atomic_fetch_add(&m->now, bytes) + bytes, peak = atomic_load(&m->peak);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ; /* another thread changed the peak; the exchange has loaded its value */
}

void kn_meter_remove_block(kn_meter *m, size_t bytes)
{
    atomic_fetch_sub(&m->now, bytes);
    kn_meter_release(m);
}

size_t kn_meter_now(const kn_meter *m)
{
    return atomic_load(&m->now);
}

size_t kn_meter_peak(const kn_meter *m)
{
    return atomic_load(&m->peak);
}

void kn_meter_peak_reset(kn_meter *m)
{
    atomic_store(&m->peak, atomic_load(&m->now));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

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

/* Allocates `bytes` bytes, not zeroed, on a cache line; *start is the pointer for free(). NULL
 * if out of memory. */
static char *alloc_aligned(size_t bytes, void **start)
{
    *start = aligned_alloc(ALIGN, bytes);
    ask_for_large_pages(*start, bytes, LARGE);
    return *start;
}

/* Allocates `bytes` zeroed bytes on a cache line; *start is the pointer for free(). NULL if out
 * of memory. The system delivers a large block zeroed, and calloc does not write it again: the
 * threads that fill it are the first to touch its pages. Small blocks are zeroed here. */
static char *alloc_zeroed(size_t bytes, void **start)
{
    if (bytes < LARGE) {
        char *p = alloc_aligned(bytes, start);
        return p ? memset(p, 0, bytes) : NULL;
    }
    char *p = *start = calloc(1, bytes + ALIGN);
    ask_for_large_pages(p, bytes, LARGEST);
    return p ? p + (ALIGN - (uintptr_t)p % ALIGN) % ALIGN : NULL;
}

/* Allocates *out, an array of n elements of `element` bytes, with its header, by the function
 * `from`, and counts it. KN_ERR_MEMORY also if the size overflows; NULL with KN_OK if n is 0. */
static kn_status alloc_block(kn_ctx *ctx, ptrdiff_t n, size_t element,
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
    kn_meter_add_block(kn_ctx_meter(ctx), bytes);
    *out = p + ALIGN;
    return KN_OK;
}

kn_status kn_alloc_raw(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    return alloc_block(ctx, n, element, alloc_aligned, out);
}

kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    return alloc_block(ctx, n, element, alloc_zeroed, out);
}

void kn_free(void *p)
{
    if (!p)
        return;
    assert((uintptr_t)p % ALIGN == 0); /* a block of kn_alloc */
    header *h = (header *)((char *)p - ALIGN);
    kn_meter_remove_block(h->meter, h->bytes);
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

kn_status kn_alloc_int(kn_ctx *ctx, ptrdiff_t n, int **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, n, sizeof(int), &p);
    *out = p;
    return status;
}

kn_status kn_alloc_bool(kn_ctx *ctx, ptrdiff_t n, bool **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, n, sizeof(bool), &p);
    *out = p;
    return status;
}

/* ---- growable arrays ------------------------------------------------------------------------- */

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

/* ---- arena ----------------------------------------------------------------------------------- */

struct kn_arena_block {
    struct kn_arena_block *before; /* allocated before this one; NULL: the first */
    _Alignas(max_align_t) unsigned char bytes[];
};

kn_status kn_arena_alloc(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, size_t element, void **out)
{
    const ptrdiff_t header_bytes = (ptrdiff_t)sizeof(struct kn_arena_block);
    void *memory;
    *out = NULL;
    if (n == 0)
        return KN_OK;
    if (n > (PTRDIFF_MAX - header_bytes) / (ptrdiff_t)element)
        return kn_fail(ctx, KN_ERR_MEMORY, "%td values of %zu bytes are too many", n, element);
    kn_status status = kn_alloc(ctx, header_bytes + n * (ptrdiff_t)element, 1, &memory);
    if (status != KN_OK)
        return status;
    struct kn_arena_block *block = memory;
    block->before = arena->last;
    arena->last = block;
    *out = block->bytes;
    return KN_OK;
}

kn_status kn_arena_d(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, double **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(double), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_f(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, float **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(float), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_i(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, ptrdiff_t **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(ptrdiff_t), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_text(kn_ctx *ctx, kn_arena *arena, const char *text, const char **out)
{
    void *memory;
    *out = NULL;
    if (!text)
        return KN_OK;
    kn_status status = kn_arena_alloc(ctx, arena, (ptrdiff_t)strlen(text) + 1, 1, &memory);
    if (status == KN_OK)
        *out = strcpy(memory, text);
    return status;
}

kn_status kn_arena_print(kn_ctx *ctx, kn_arena *arena, const char **out, const char *format, ...)
{
    va_list args;
    void *memory;
    *out = NULL;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a text could not be formatted");
    kn_status status = kn_arena_alloc(ctx, arena, n + 1, 1, &memory);
    if (status != KN_OK)
        return status;
    va_start(args, format);
    vsnprintf(memory, (size_t)n + 1, format, args);
    va_end(args);
    *out = memory;
    return KN_OK;
}

void kn_arena_clear(kn_arena *arena)
{
    while (arena->last) {
        struct kn_arena_block *before = arena->last->before;
        kn_free(arena->last);
        arena->last = before;
    }
}
