/* Worker pool for long tasks that allocate memory and may fail: the loop of parallel_for.h with a
 * context for each worker, so that an item is written like any other function.
 *
 * Items are started in order; a free worker takes the next. Each of n <= threads workers has
 * threads/n threads for itself. The result of an item must not depend on either. */
#ifndef KN_BASE_PARALLEL_WORKER_POOL_H
#define KN_BASE_PARALLEL_WORKER_POOL_H

#include "base/context.h"

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
