#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 }; /* one cache line, one AVX-512 register */

kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out)
{
    *out = NULL;
    if (n == 0)
        return KN_OK;
    if (n < 0 || (size_t)n > (SIZE_MAX / 2 - ALIGN) / element)
        return kn_fail(ctx, KN_ERR_MEMORY, "an array of %td elements of %zu bytes cannot exist", n,
                       element);
    size_t bytes = ((size_t)n * element + ALIGN - 1) / ALIGN * ALIGN;
    void *p = kn_allocation_fails(ctx) ? NULL : aligned_alloc(ALIGN, bytes);
    if (!p)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory: %.1f MB more were needed",
                       (double)bytes / 1e6);
    memset(p, 0, bytes);
    *out = p;
    return KN_OK;
}

void kn_free(void *p)
{
    free(p);
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
