/* Parallel loops over independent items on the threads of the context. Which thread takes an item
 * is not defined; if each item writes only its own output, the results are the same for any number
 * of threads. For items that allocate or fail see kn_worker_pool_run. */
#ifndef KN_BASE_PARALLEL_PARALLEL_FOR_H
#define KN_BASE_PARALLEL_PARALLEL_FOR_H

#include "base/context.h"

/* Processes items first .. last - 1. */
typedef void (*kn_item_fn)(void *self, ptrdiff_t first, ptrdiff_t last);

/* Calls fn for all items 0 .. n-1 in chunks of `grain` items; a free thread takes the next chunk.
 * Returns when all items are done. */
void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self);

/* Returns the chunk size for items of `flops` flops each: the smallest multiple of `min_items`
 * items that makes about 1e6 flops, ten times the cost of starting a thread. */
ptrdiff_t kn_chunk_size(ptrdiff_t min_items, ptrdiff_t flops);

/* As kn_item_fn for items that need work space: 0 <= worker < kn_workers, and simultaneous calls
 * have different numbers. The output of an item must not depend on the number. */
typedef void (*kn_worker_fn)(void *self, int worker, ptrdiff_t first, ptrdiff_t last);
/* Returns the number of workers that a loop over n items in chunks of `grain` uses with the
 * threads of the context; 1 to 64. */
int kn_workers(const kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain);
/* Returns the number of workers that a loop over n items in chunks of `grain` uses with so many
 * threads; 1 to 64. */
int kn_workers_of(int threads, ptrdiff_t n, ptrdiff_t grain);
/* Calls fn for all items 0 .. n-1 in chunks of `grain` items, like kn_parallel, and passes the
 * number of the worker, for its work space. */
void kn_parallel_workers(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self);

/* Runs a loop like kn_parallel_workers, but stops at the next chunk after kn_cancel and returns
 * KN_ERR_CANCELLED; some items were not processed then. */
kn_status kn_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                              void *self);

/* ---- worker pool ----------------------------------------------------------------------------- */

/* Worker pool for long tasks that allocate memory and may fail: the loop of parallel_for.h with a
 * context for each worker, so that an item is written like any other function.
 *
 * Items are started in order; a free worker takes the next. Each of n <= threads workers has
 * threads/n threads for itself. The result of an item must not depend on either. */

/* Processes one item; ctx is the context of the worker. */
typedef kn_status (*kn_worker_pool_fn)(kn_ctx *ctx, void *self, int worker, ptrdiff_t item);

typedef struct kn_worker_pool {
    int workers; /* 1 .. kn_threads */
    kn_worker_pool_fn fn;
    void *self;
    const char *stage;     /* name in progress reports; NULL: no reports */
    ptrdiff_t done, total; /* for progress: items of the stage done before, and all its items */
} kn_worker_pool;

/* Runs items first .. first + n - 1. After a failure no further item is started; status and message
 * are those of the lowest item that failed. KN_ERR_CANCELLED if kn_cancel came before the last item
 * was started. */
kn_status kn_worker_pool_run(kn_ctx *ctx, const kn_worker_pool *team, ptrdiff_t first, ptrdiff_t n);

#endif
