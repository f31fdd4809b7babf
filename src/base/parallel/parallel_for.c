/* Implements parallel_for.h: POSIX threads that live for one loop and take chunks by an atomic
 * counter. How the work is divided never changes results: chunks are independent, and sums are the
 * caller's task. */
#include "base/parallel/parallel_for.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/memory/alloc.h"

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

/* Body of a thread of a parallel loop (arg: worker): takes the next chunk of l->grain items
 * until none is left or the watched context is cancelled. */
static void *run_chunks(void *arg)
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

ptrdiff_t kn_chunk_size(ptrdiff_t min_items, ptrdiff_t flops)
{
    static const ptrdiff_t WORTH = 1000000; /* flops: about ten times the start of a thread */
    ptrdiff_t items = WORTH / (flops > 1 ? flops : 1);
    return min_items * (items > min_items ? (items + min_items - 1) / min_items : 1);
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

/* Runs a parallel loop on so many threads, this one included, and waits for its end. Threads
 * live for one loop: starting one takes about 20 us, against milliseconds of work, and no idle
 * thread competes with the BLAS for cores. */
static void run_loop(loop *l, int threads)
{
    int started = 0;
    pthread_t thread[MAX_THREADS];
    worker workers[MAX_THREADS];
    for (int i = 0; i < threads; i++)
        workers[i] = (worker){l, i};
    while (started < threads - 1 &&
           pthread_create(&thread[started], NULL, run_chunks, &workers[started + 1]) == 0)
        started++;
    run_chunks(&workers[0]); /* also does the work of threads that could not be started */
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

void kn_parallel_workers(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self)
{
    loop l = {.fn = fn, .self = self, .n = n, .grain = grain > 0 ? grain : 1};
    run_loop(&l, kn_workers(ctx, n, grain));
}

kn_status kn_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                              void *self)
{
    loop l = {.fn = fn, .self = self, .n = n, .grain = grain > 0 ? grain : 1, .watched = ctx};
    run_loop(&l, kn_workers(ctx, n, grain));
    return atomic_load(&l.stopped) ? kn_fail_cancelled(ctx) : KN_OK;
}

typedef struct plain_items {
    kn_item_fn fn;
    void *self;
} plain_items;

/* Adapts a kn_item_fn (self: plain_items) to loops that pass the number of the worker. */
static void run_plain_items(void *self, int number, ptrdiff_t first, ptrdiff_t last)
{
    (void)number;
    plain_items *p = self;
    p->fn(p->self, first, last);
}

void kn_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_item_fn fn, void *self)
{
    plain_items p = {fn, self};
    kn_parallel_workers(ctx, n, grain, run_plain_items, &p);
}

/* ---- worker pool ----------------------------------------------------------------------------- */

typedef struct member {
    kn_ctx *ctx;
    kn_status status; /* of the item that failed; KN_OK: none */
    ptrdiff_t item;   /* that item, from 0 */
} member;

typedef struct pool_run {
    kn_ctx *ctx;
    const kn_worker_pool *team;
    member *member;
    ptrdiff_t first;
    atomic_ptrdiff_t done;
    atomic_bool failed;
} pool_run;

/* Worker function (self: pool_run): runs items first .. last - 1 of a worker pool in the context
 * of this worker. An error ends the loops of all workers; the item and its status are kept for
 * kn_worker_pool_run. */
static void run_items(void *self, int number, ptrdiff_t first, ptrdiff_t last)
{
    pool_run *r = self;
    const kn_worker_pool *t = r->team;
    member *m = &r->member[number];
    for (ptrdiff_t i = first; i < last && !atomic_load(&r->failed); i++) {
        kn_status status = t->fn(m->ctx, t->self, number, r->first + i);
        if (status != KN_OK) {
            m->status = status;
            m->item = i;
            atomic_store(&r->failed, true);
        }
        ptrdiff_t done = atomic_fetch_add(&r->done, 1) + 1;
        if (number == 0 && t->stage) /* the thread that called kn_worker_pool_run */
            kn_report_progress(r->ctx, t->stage, t->done + done, t->total, NAN);
    }
}

/* Copies status and message of the lowest item that failed among n workers to ctx; KN_OK if none
 * failed. */
static kn_status copy_first_failure(kn_ctx *ctx, const member *m, int n)
{
    int first = -1;
    for (int k = 0; k < n; k++)
        if (m[k].status != KN_OK && (first < 0 || m[k].item < m[first].item))
            first = k;
    return first < 0 ? KN_OK : kn_fail(ctx, m[first].status, "%s", kn_message(m[first].ctx));
}

kn_status kn_worker_pool_run(kn_ctx *ctx, const kn_worker_pool *team, ptrdiff_t first, ptrdiff_t n)
{
    kn_status status, stopped;
    void *memory = NULL;
    int workers = team->workers < n ? team->workers : n > 0 ? (int)n : 1;
    kn_resources before = kn_resources_of(ctx), few = before;
    pool_run r = {.ctx = ctx, .team = team, .first = first};
    atomic_init(&r.done, 0);
    atomic_init(&r.failed, false);
    KN_TRY(kn_alloc(ctx, workers, sizeof *r.member, &memory));
    r.member = memory;
    for (int k = 0; k < workers; k++) {
        r.member[k].ctx = kn_ctx_new_worker(ctx, before.threads / workers);
        if (!r.member[k].ctx)
            KN_TRY(kn_fail(ctx, KN_ERR_MEMORY, "out of memory for a worker"));
    }
    few.threads = workers;
    kn_resources_restore(ctx, few);
    stopped = kn_parallel_or_stop(ctx, n, 1, run_items, &r);
    kn_resources_restore(ctx, before);
    KN_TRY(copy_first_failure(ctx, r.member, workers));
    status = stopped;
out:
    for (int k = 0; r.member && k < workers; k++)
        kn_ctx_free(r.member[k].ctx);
    kn_free(memory);
    return status;
}
