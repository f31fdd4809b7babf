#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 }; /* one cache line, one AVX-512 register */

/* In front of each block: whose it is and what it takes, itself included. */
typedef struct header {
    kn_meter *meter;
    size_t bytes;
} header;

static_assert(sizeof(header) <= ALIGN, "a header takes one line, so that blocks stay aligned");

double kn_alloc_bytes(double bytes)
{
    return bytes > 0 ? ALIGN + ceil(bytes / ALIGN) * ALIGN : 0;
}

kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    *out = NULL;
    if (n == 0)
        return KN_OK;
    if (n < 0 || (size_t)n > (SIZE_MAX / 2 - 2 * ALIGN) / element)
        return kn_fail(ctx, KN_ERR_MEMORY, "an array of %td elements of %zu bytes cannot exist", n,
                       element);
    size_t bytes = ALIGN + ((size_t)n * element + ALIGN - 1) / ALIGN * ALIGN;
    char *p = kn_allocation_fails(ctx) ? NULL : aligned_alloc(ALIGN, bytes);
    if (!p)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory: %.1f MB more were needed",
                       (double)bytes / 1e6);
    memset(p, 0, bytes);
    *(header *)p = (header){kn_ctx_meter(ctx), bytes};
    kn_meter_take(kn_ctx_meter(ctx), bytes);
    *out = p + ALIGN;
    return KN_OK;
}

void kn_free(void *p)
{
    if (!p)
        return;
    assert((uintptr_t)p % ALIGN == 0); /* a block of kn_alloc */
    header *h = (header *)((char *)p - ALIGN);
    kn_meter_give(h->meter, h->bytes);
    free(h);
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
