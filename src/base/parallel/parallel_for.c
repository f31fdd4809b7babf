/* Implements parallel_for.h: POSIX threads that live for one loop and take chunks by an atomic
 * counter. */
#include "base/parallel/parallel_for.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 64 };

typedef struct loop {
    kn_worker_fn fn;
    void *self;
    ptrdiff_t n, grain;
    atomic_ptrdiff_t next;
    const kn_ctx *watched; /* its cancellation stops the loop; NULL: the loop is not stopped */
    atomic_bool stopped;
} loop;

typedef struct worker {
    loop *loop;
    int number;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    loop *l = w->loop;
    for (;;) {
        ptrdiff_t first = atomic_fetch_add(&l->next, l->grain);
        if (first >= l->n)
            return NULL;
        if (l->watched && kn_cancelled(l->watched)) {
            atomic_store(&l->stopped, true);
            return NULL;
        }
        ptrdiff_t last = first + l->grain < l->n ? first + l->grain : l->n;
        l->fn(l->self, w->number, first, last);
    }
}

ptrdiff_t kn_chunk_size(ptrdiff_t least, ptrdiff_t flops)
{
    static const ptrdiff_t WORTH = 1000000; /* flops: about ten times the start of a thread */
    ptrdiff_t items = WORTH / (flops > 1 ? flops : 1);
    return least * (items > least ? (items + least - 1) / least : 1);
}

int kn_workers_of(int threads, ptrdiff_t n, ptrdiff_t grain)
{
    grain = grain > 0 ? grain : 1;
    ptrdiff_t chunks = n / grain + (n % grain > 0);
    threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    return threads < chunks ? threads : chunks > 0 ? (int)chunks : 1;
}

int kn_workers(const kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain)
{
    return kn_workers_of(kn_threads(ctx), n, grain);
}

/* Threads live for one loop: starting one takes about 20 us, against milliseconds of work, and no
 * idle thread competes with the BLAS for cores. */
static void run(loop *l, int threads)
{
    int started = 0;
    pthread_t thread[MAX_THREADS];
    worker workers[MAX_THREADS];
    for (int i = 0; i < threads; i++)
        workers[i] = (worker){l, i};
    while (started < threads - 1 &&
           pthread_create(&thread[started], NULL, work, &workers[started + 1]) == 0)
        started++;
    work(&workers[0]); /* also does the work of threads that could not be started */
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

void kn_parallel_workers(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self)
{
    loop l = {.fn = fn, .self = self, .n = n, .grain = grain > 0 ? grain : 1};
    run(&l, kn_workers(ctx, n, grain));
}

kn_status kn_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                              void *self)
{
    loop l = {.fn = fn, .self = self, .n = n, .grain = grain > 0 ? grain : 1, .watched = ctx};
    run(&l, kn_workers(ctx, n, grain));
    return atomic_load(&l.stopped) ? kn_fail_cancelled(ctx) : KN_OK;
}

typedef struct plain_items {
    kn_item_fn fn;
    void *self;
} plain_items;

static void plain_item(void *self, int number, ptrdiff_t first, ptrdiff_t last)
{
    (void)number;
    plain_items *p = self;
    p->fn(p->self, first, last);
}

void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self)
{
    plain_items p = {fn, self};
    kn_parallel_workers(ctx, n, grain, plain_item, &p);
}
