#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 64 };

typedef struct loop {
    kn_item_fn fn;
    void *self;
    ptrdiff_t n, grain;
    atomic_ptrdiff_t next;
} loop;

static void *work(void *arg)
{
    loop *l = arg;
    for (;;) {
        ptrdiff_t first = atomic_fetch_add(&l->next, l->grain);
        if (first >= l->n)
            return NULL;
        ptrdiff_t last = first + l->grain < l->n ? first + l->grain : l->n;
        l->fn(l->self, first, last);
    }
}

/* Threads live for one loop: starting one costs about 20 us, against milliseconds of work, and
 * nothing is left spinning to fight the BLAS for cores. */
void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self)
{
    loop l = {.fn = fn, .self = self, .n = n, .grain = grain > 0 ? grain : 1};
    atomic_init(&l.next, 0);
    ptrdiff_t chunks = (n + l.grain - 1) / l.grain;
    int threads = kn_threads(ctx);
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if (threads > chunks)
        threads = (int)chunks;
    pthread_t thread[MAX_THREADS];
    int started = 0;
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, &l) == 0)
        started++;
    work(&l); /* a thread that could not be started is no failure: this one does its share */
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
