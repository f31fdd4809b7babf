/* Items that are large, fail and need memory, one for each thread: the loop of
 * base/parallel/parallel_for.h with a context for each worker, so that an item is written like any
 * other step.
 *
 * Items are begun in their order and taken by whoever is free; each of n <= threads workers has
 * threads/n for itself. What an item gives must depend on neither. */
#ifndef KN_BASE_PARALLEL_WORKER_POOL_H
#define KN_BASE_PARALLEL_WORKER_POOL_H

#include "base/context.h"

typedef kn_status (*kn_worker_pool_fn)(kn_ctx *ctx, void *self, int worker, ptrdiff_t item);

typedef struct kn_worker_pool {
    int workers; /* 1 .. kn_threads */
    kn_worker_pool_fn fn;
    void *self;
    const char *stage;     /* of progress; NULL: in silence */
    ptrdiff_t done, total; /* items of the stage before these, and all of them */
} kn_worker_pool;

/* Items first .. first + n - 1. After a failure no other item is begun; the sentence is that of the
 * lowest item that failed. KN_ERR_CANCELLED where kn_cancel came before the last was begun. */
kn_status kn_worker_pool_run(kn_ctx *ctx, const kn_worker_pool *team, ptrdiff_t first, ptrdiff_t n);

#endif
