/* Implements openblas.h. Thread counts are set under a ticket lock, in which sections of one thread
 * overlap. */
#include "la/openblas.h"

#include <assert.h>
#include <cblas.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>

/* Global, because the thread count of OpenBLAS is. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long next, served; /* tickets: the next to give out, the next to start */
    int running;                /* sections that have not ended */
    int threads;                /* BLAS threads of these sections */
    int found;                  /* BLAS threads before the first of them */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool inside;

/* ---- fork ----------------------------------------------------------------------------------- */

/* A thread that forks waits like a section that runs alone, and keeps the lock until after the
 * fork. The child has none of the other threads, so a lock that they hold here or in the BLAS would
 * never be released in it. A thread inside a section forks without waiting. */
static void before_fork(void)
{
    pthread_mutex_lock(&blas.lock);
    if (inside)
        return;
    unsigned long ticket = blas.next++;
    while (ticket != blas.served || blas.running > 0)
        pthread_cond_wait(&blas.changed, &blas.lock);
    blas.served++;
}

/* Handler in the parent after a fork: releases the lock that before_fork keeps. */
static void after_fork(void)
{
    pthread_cond_broadcast(&blas.changed);
    pthread_mutex_unlock(&blas.lock);
}

/* Handler in the child after a fork: new lock, and tickets start again, because no thread waits
 * there. */
static void reset_in_child(void)
{
    pthread_mutex_init(&blas.lock, NULL);
    pthread_cond_init(&blas.changed, NULL);
    blas.next = blas.served = 0;
    blas.running = inside;
}

/* Registers the handlers of forks, once, after those of OpenBLAS: "before" handlers run in
 * reverse order, so ours is called first. */
static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, reset_in_child);
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Returns whether it is this ticket's turn, and the BLAS is free or used by sections of one
 * thread, like this. */
static bool may_begin(unsigned long ticket, int threads)
{
    bool shared = threads == 1 && blas.threads == 1;
    return ticket == blas.served && (blas.running == 0 || shared);
}

void kn_blas_begin(int threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    assert(!inside);
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&blas.lock);
    unsigned long ticket = blas.next++;
    while (!may_begin(ticket, threads))
        pthread_cond_wait(&blas.changed, &blas.lock);
    blas.served++;
    if (blas.running++ == 0) {
        blas.found = openblas_get_num_threads();
        blas.threads = threads;
        if (blas.found != threads)
            openblas_set_num_threads(threads);
    }
    pthread_cond_broadcast(&blas.changed); /* the next in the queue may be able to join */
    pthread_mutex_unlock(&blas.lock);
    inside = true;
}

void kn_blas_end(void)
{
    inside = false;
    pthread_mutex_lock(&blas.lock);
    if (--blas.running == 0 && blas.found != blas.threads)
        openblas_set_num_threads(blas.found);
    pthread_cond_broadcast(&blas.changed);
    pthread_mutex_unlock(&blas.lock);
}

bool kn_blas_inside(void)
{
    return inside;
}

typedef struct loop {
    kn_worker_fn fn;
    void *self;
} loop;

/* Worker function of kn_la_parallel (self: loop): runs items first .. last - 1 with this worker
 * marked as inside the section of the thread that started it. */
static void run_inside(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    loop *l = self;
    bool was = inside;
    inside = true;
    l->fn(l->self, worker, first, last);
    inside = was;
}

void kn_la_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self)
{
    loop l = {fn, self};
    kn_blas_begin(1);
    kn_parallel_workers(ctx, n, grain, run_inside, &l);
    kn_blas_end();
}

kn_status kn_la_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                                 void *self)
{
    loop l = {fn, self};
    kn_blas_begin(1);
    kn_status status = kn_parallel_or_stop(ctx, n, grain, run_inside, &l);
    kn_blas_end();
    return status;
}

/* ---- kernel set ------------------------------------------------------------------------------ */

const char *kn_la_core(void)
{
    return openblas_get_corename();
}

const char *kn_la_config(void)
{
    return openblas_get_config();
}

/* True if the OpenBLAS kernel set named `core` uses neither AVX2 nor AVX-512. */
static int is_old(const char *core)
{
    static const char *const old[] = {"Prescott",  "Core2",       "Penryn",    "Dunnington",
                                      "Nehalem",   "Opteron",     "Barcelona", "Bobcat",
                                      "Atom",      "Nano",        "Katmai",    "Coppermine",
                                      "Northwood", "Banias",      "Athlon",    "Generic",
                                      "Unknown",   "Sandybridge", "Bulldozer", "Piledriver"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcasecmp(core, old[i]) == 0)
            return 1;
    return 0;
}

const char *kn_la_better_core(void)
{
#if defined(__x86_64__)
    if (!is_old(kn_la_core()))
        return NULL;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}
