/* The context: message, log, progress, cancellation, thread count. One per thread; no globals. */
#ifndef KN_BASE_CONTEXT_H
#define KN_BASE_CONTEXT_H

#include <stdbool.h>

#include "base/memory/meter.h"
#include "kronorm.h"

#if defined(__GNUC__)
#define KN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define KN_PRINTF(fmt, args)
#endif

/* Writes the sentence and returns the status, so that a check reads
 *     return kn_fail(ctx, KN_ERR_SHAPE, "X has %td rows, Y %td", X.rows, Y.rows);            */
kn_status kn_fail(kn_ctx *ctx, kn_status status, const char *format, ...) KN_PRINTF(3, 4);

/* Jumps to `out` with `status` set. Every function that uses it has one exit, at `out`. */
#define KN_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KN_OK)                                                                       \
            goto out;                                                                              \
    } while (0)

void kn_log(kn_ctx *ctx, kn_log_level level, const char *format, ...) KN_PRINTF(3, 4);
void kn_report_progress(kn_ctx *ctx, const char *stage, ptrdiff_t done, ptrdiff_t total,
                        double lml);

typedef struct kn_resources { /* as set; 0: the default */
    int threads;
    size_t memory;
} kn_resources;

kn_resources kn_resources_of(const kn_ctx *ctx);
void kn_resources_put(kn_ctx *ctx, kn_resources resources);

bool kn_threads_given(const kn_ctx *ctx); /* by kn_set_threads; else kn_threads is the machine's */
bool kn_memory_given(const kn_ctx *ctx);  /* by kn_set_memory; else kn_memory is the machine's */

/* For comm.c: the processes that work together, never NULL; whether all know the last failure. */
struct kn_comm;
const struct kn_comm *kn_ctx_comm(const kn_ctx *ctx);
void kn_ctx_set_comm(kn_ctx *ctx, const struct kn_comm *comm);
bool kn_ctx_error_is_shared(const kn_ctx *ctx);
void kn_ctx_set_error_shared(kn_ctx *ctx, bool agreed);
struct kn_comm_use *kn_ctx_use(kn_ctx *ctx); /* what this process has had of them */

/* Among ranks kn_memory is this, the least of theirs; whether it was given is another question. 0:
 * each its own. */
void kn_ctx_set_memory_most(kn_ctx *ctx, size_t bytes);

bool kn_cancelled(const kn_ctx *ctx);
kn_status kn_fail_cancelled(kn_ctx *ctx); /* KN_ERR_CANCELLED with its sentence */
kn_status kn_check_cancel(kn_ctx *ctx);   /* the same where it was asked for, or KN_OK */

/* Holds log and progress back while a step runs inside another that reports for it. */
bool kn_ctx_set_quiet(kn_ctx *ctx, bool quiet); /* returns what it was */

/* From now on the steps of a part of the work, such as "fold 3 of 10", are told under its name, and
 * nothing of it is logged; warnings are kept where they were to be kept. Lent; NULL: the whole.
 * Returns what it was. */
const char *kn_ctx_enter_stage(kn_ctx *ctx, const char *part);

/* The context of a worker, for work inside a parallel loop: so many threads, alone and silent, but
 * of the parent's memory, and cancelled with it. To be freed before the parent; NULL: no memory. */
kn_ctx *kn_ctx_new_worker(kn_ctx *parent, int threads);

kn_meter *kn_ctx_meter(const kn_ctx *ctx); /* for mem.c */

/* For tests: the k-th allocation from now fails (1: the next); 0 switches it off. */
void kn_fail_allocation(kn_ctx *ctx, long k);
bool kn_allocation_fails(kn_ctx *ctx); /* for mem.c */

#endif
