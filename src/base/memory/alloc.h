/* Allocation with overflow checks and alignment to a cache line (64 bytes). Every block is counted
 * by the meter of the context, so that tests can compare the memory plan (plan.h) with the memory
 * that was really used. */
#ifndef KN_BASE_MEMORY_ALLOC_H
#define KN_BASE_MEMORY_ALLOC_H

#include "base/context.h"

/* *out = zeroed array of n elements of `element` bytes, owned by the caller, to be freed with
 * kn_free; NULL with KN_OK if n is 0. KN_ERR_MEMORY also if n is negative or the size overflows.
 * Blocks of 32 MB and more are zeroed by the system on first touch, by the thread that fills them
 * (NUMA). */
kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
/* As kn_alloc without zeroing, for arrays that are written at once. */
kn_status kn_alloc_raw(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
/* Frees a block of kn_alloc; p may be NULL. Any thread may call it, even after kn_ctx_free. */
void kn_free(void *p);

/* kn_alloc for double, float and ptrdiff_t. */
kn_status kn_alloc_d(kn_ctx *ctx, ptrdiff_t n, double **out);
kn_status kn_alloc_f(kn_ctx *ctx, ptrdiff_t n, float **out);
kn_status kn_alloc_i(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t **out);

/* Bytes that kn_alloc takes for an array of `bytes` bytes: a header of 64 bytes, and the array
 * rounded up to a multiple of 64. */
double kn_alloc_bytes(double bytes);

/* Bytes of all blocks of the context, headers included: now, and the maximum since the context was
 * created or the peak was reset. */
size_t kn_memory_now(const kn_ctx *ctx);
size_t kn_memory_peak(const kn_ctx *ctx);
void kn_memory_peak_reset(kn_ctx *ctx);

#endif
