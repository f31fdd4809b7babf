/* Checked memory: overflow-safe sizes, cache-line alignment, one sentence on failure; and metered,
 * so that what a stage declares as its need can be held against what it took. */
#ifndef KN_BASE_MEMORY_ALLOC_H
#define KN_BASE_MEMORY_ALLOC_H

#include "base/context.h"

/* *out = zeroed array of n elements; NULL with KN_OK when n is 0. Free with kn_free. Large ones are
 * first touched by the threads that fill them. */
kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
/* The same with anything in it, for what is written at once. */
kn_status kn_alloc_raw(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
void kn_free(void *p); /* from any thread, also after the context */

kn_status kn_alloc_d(kn_ctx *ctx, ptrdiff_t n, double **out);
kn_status kn_alloc_f(kn_ctx *ctx, ptrdiff_t n, float **out);
kn_status kn_alloc_i(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t **out);

/* Bytes that kn_alloc takes for an array of so many: its header and whole lines. */
double kn_alloc_bytes(double bytes);

/* Bytes that the context's blocks take, their headers included: now, and at most since the context
 * began or the mark was reset. */
size_t kn_memory_now(const kn_ctx *ctx);
size_t kn_memory_peak(const kn_ctx *ctx);
void kn_memory_peak_reset(kn_ctx *ctx);

#endif
