/* Implements worker_pool.h on kn_parallel_or_stop. */
#include "base/parallel/worker_pool.h"

#include <math.h>
#include <stdatomic.h>

#include "base/memory/alloc.h"
#include "base/parallel/parallel_for.h"

typedef struct member {
    kn_ctx *ctx;
    kn_status status; /* of the item that failed; KN_OK: none */
    ptrdiff_t item;   /* that item, from 0 */
} member;

typedef struct run {
    kn_ctx *ctx;
    const kn_worker_pool *team;
    member *member;
    ptrdiff_t first;
    atomic_ptrdiff_t done;
    atomic_bool failed;
} run;

static void take(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    run *r = self;
    const kn_worker_pool *t = r->team;
    member *m = &r->member[worker];
    for (ptrdiff_t i = first; i < last && !atomic_load(&r->failed); i++) {
        kn_status status = t->fn(m->ctx, t->self, worker, r->first + i);
        if (status != KN_OK) {
            m->status = status;
            m->item = i;
            atomic_store(&r->failed, true);
        }
        ptrdiff_t done = atomic_fetch_add(&r->done, 1) + 1;
        if (worker == 0 && t->stage) /* the thread that called kn_worker_pool_run */
            kn_report_progress(r->ctx, t->stage, t->done + done, t->total, NAN);
    }
}

/* Copies status and message of the lowest item that failed to ctx; KN_OK if none failed. */
static kn_status first_failure(kn_ctx *ctx, const member *m, int n)
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
    run r = {.ctx = ctx, .team = team, .first = first};
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
    kn_resources_put(ctx, few);
    stopped = kn_parallel_or_stop(ctx, n, 1, take, &r);
    kn_resources_put(ctx, before);
    KN_TRY(first_failure(ctx, r.member, workers));
    status = stopped;
out:
    for (int k = 0; r.member && k < workers; k++)
        kn_ctx_free(r.member[k].ctx);
    kn_free(memory);
    return status;
}
