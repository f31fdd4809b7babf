/* The context kn_ctx is the state of one caller: last error message, log, progress, cancellation,
 * thread count, memory limit and MPI communicator. One context per calling thread; the library has
 * no global state apart from the BLAS lock of la/blas_threads.c. */
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

/* Formats the error message of the context (kn_message) and returns `status`, so that a check reads
 *     return kn_fail(ctx, KN_ERR_SHAPE, "X has %td rows, Y %td", X.rows, Y.rows);            */
kn_status kn_fail(kn_ctx *ctx, kn_status status, const char *format, ...) KN_PRINTF(3, 4);

/* Evaluates the call into the local variable `status` and jumps to the label `out` on failure. A
 * function that uses KN_TRY frees its memory after `out` and returns there. */
#define KN_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KN_OK)                                                                       \
            goto out;                                                                              \
    } while (0)

/* Sends one line to the log callback; warnings also go to the list of kn_keep_warnings. Control
 * characters become '?'. Does nothing while the context is quiet. */
void kn_log(kn_ctx *ctx, kn_log_level level, const char *format, ...) KN_PRINTF(3, 4);

/* Calls the progress callback with step `done` of `total` of the stage. lml: best log marginal
 * likelihood so far, NaN if it has no meaning. */
void kn_report_progress(kn_ctx *ctx, const char *stage, ptrdiff_t done, ptrdiff_t total,
                        double lml);

typedef struct kn_resources {
    int threads;
    size_t memory; /* bytes; 0: the default of kn_memory */
} kn_resources;

/* Save and restore thread count and memory limit. They do not change kn_threads_given. */
kn_resources kn_resources_of(const kn_ctx *ctx);
void kn_resources_put(kn_ctx *ctx, kn_resources resources);

/* True if the user set a value (kn_set_threads, kn_set_memory); false if kn_threads and kn_memory
 * return defaults that depend on the machine. */
bool kn_threads_given(const kn_ctx *ctx);
bool kn_memory_given(const kn_ctx *ctx);

/* Accessors for base/mpi/comm.c: the communicator (borrowed, never NULL), whether all ranks know
 * the last error, and the communication statistics of this rank. */
struct kn_comm;
const struct kn_comm *kn_ctx_comm(const kn_ctx *ctx);
void kn_ctx_set_comm(kn_ctx *ctx, const struct kn_comm *comm);
bool kn_ctx_error_is_shared(const kn_ctx *ctx);
void kn_ctx_set_error_shared(kn_ctx *ctx, bool agreed);
struct kn_comm_use *kn_ctx_use(kn_ctx *ctx);

/* With more than one MPI rank, makes kn_memory return `bytes`: the caller passes the minimum over
 * ranks, so that all ranks plan alike. 0: every rank uses its own limit. kn_memory_given is not
 * affected. */
void kn_ctx_set_memory_most(kn_ctx *ctx, size_t bytes);

/* Cancellation: kn_cancelled tests the flag of kn_cancel (of the parent context for a worker);
 * kn_fail_cancelled sets the message and returns KN_ERR_CANCELLED; kn_check_cancel does so only if
 * the flag is set, else it returns KN_OK. */
bool kn_cancelled(const kn_ctx *ctx);
kn_status kn_fail_cancelled(kn_ctx *ctx);
kn_status kn_check_cancel(kn_ctx *ctx);

/* Switches log, kept warnings and progress off, for a step inside another step that reports for
 * both. Returns the previous value, which the caller restores. */
bool kn_ctx_set_quiet(kn_ctx *ctx, bool quiet);

/* Prefixes progress with `part`, such as "fold 3 of 10", and suppresses the log; warnings still go
 * to the list of kn_keep_warnings. `part` is borrowed until the next call; NULL ends the stage.
 * Returns the previous value, which the caller restores. */
const char *kn_ctx_enter_stage(kn_ctx *ctx, const char *part);

/* Creates the context of one worker of a parallel loop. It has `threads` threads, no log, no
 * progress and the serial communicator; it shares the memory meter, the memory limit and the
 * cancellation flag of the parent. Free it before the parent. NULL if out of memory. */
kn_ctx *kn_ctx_new_worker(kn_ctx *parent, int threads);

kn_meter *kn_ctx_meter(const kn_ctx *ctx); /* for memory/alloc.c; borrowed */

/* For tests: makes the k-th allocation from now fail (1: the next); 0 switches this off. */
void kn_fail_allocation(kn_ctx *ctx, long k);
/* For memory/alloc.c: counts one allocation down, and returns true if it must fail. */
bool kn_allocation_fails(kn_ctx *ctx);

#endif
