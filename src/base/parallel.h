/* Loops over independent items on the context's threads. Items are dealt out by number, so each
 * item's result is the same for any thread count as long as it writes only its own output. */
#ifndef KN_BASE_PARALLEL_H
#define KN_BASE_PARALLEL_H

#include "base/ctx.h"

typedef void (*kn_item_fn)(void *self, ptrdiff_t first, ptrdiff_t last); /* [first, last) */

/* Calls fn over [0, n) in chunks of `grain`; chunks are taken by whichever thread is free. */
void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self);

#endif
