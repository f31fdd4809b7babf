/* Loops over independent items on the context's threads. Items are dealt out by number, so each
 * item's result is the same for any thread count as long as it writes only its own output. */
#ifndef KN_BASE_PARALLEL_PARALLEL_FOR_H
#define KN_BASE_PARALLEL_PARALLEL_FOR_H

#include "base/context.h"

typedef void (*kn_item_fn)(void *self, ptrdiff_t first, ptrdiff_t last); /* [first, last) */

/* Calls fn over [0, n) in chunks of `grain`; chunks are taken by whichever thread is free. */
void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self);

/* The least multiple of `least` items that is worth a thread, where an item takes about so many
 * flops: of one person's map, all of it. */
ptrdiff_t kn_chunk_size(ptrdiff_t least, ptrdiff_t flops);

/* The same for items that need work space: worker is below kn_workers, and no two calls at the
 * same time have the same one. What an item writes must not depend on it. */
typedef void (*kn_worker_fn)(void *self, int worker, ptrdiff_t first, ptrdiff_t last);
int kn_workers(const kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain);
int kn_workers_of(int threads, ptrdiff_t n, ptrdiff_t grain); /* of a context with so many */
void kn_parallel_workers(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self);

/* For long loops: KN_ERR_CANCELLED where kn_cancel came before the last chunk was begun; then some
 * items were not made. */
kn_status kn_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                              void *self);

#endif
