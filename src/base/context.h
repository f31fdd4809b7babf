/* The context kn_ctx is the state of one caller: last error message, log, progress, cancellation,
 * thread count, memory limit and MPI communicator. One context per calling thread; the library has
 * no global state apart from the BLAS lock of la/openblas.c. */
#ifndef KN_BASE_CONTEXT_H
#define KN_BASE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* Returns thread count and memory limit of the context, to be restored by kn_resources_restore. */
kn_resources kn_resources_of(const kn_ctx *ctx);
/* Sets thread count and memory limit to saved values; kn_threads_given does not change. */
void kn_resources_restore(kn_ctx *ctx, kn_resources resources);

/* True if the user set a number of threads (kn_set_threads); false if kn_threads returns a
 * default that depends on the machine. */
bool kn_threads_given(const kn_ctx *ctx);
/* True if the user set a memory limit (kn_set_memory); false if kn_memory returns a default that
 * depends on the machine. */
bool kn_memory_given(const kn_ctx *ctx);

/* Accessors for base/mpi/comm.c: the communicator (borrowed, never NULL), whether all ranks know
 * the last error, and the communication statistics of this rank. */
struct kn_comm;
/* Returns the communicator of the context: borrowed, never NULL. */
const struct kn_comm *kn_ctx_comm(const kn_ctx *ctx);
/* Sets the communicator of the context (borrowed). */
void kn_ctx_set_comm(kn_ctx *ctx, const struct kn_comm *comm);
/* Returns whether all MPI ranks know the last error; for base/mpi/comm.c. */
bool kn_ctx_error_is_shared(const kn_ctx *ctx);
/* Records whether all MPI ranks know the last error; for base/mpi/comm.c. */
void kn_ctx_set_error_shared(kn_ctx *ctx, bool agreed);
/* Returns the communication statistics of this MPI rank; for base/mpi/comm.c. */
struct kn_comm_use *kn_ctx_use(kn_ctx *ctx);

/* With more than one MPI rank, makes kn_memory return `bytes`: the caller passes the minimum over
 * ranks, so that all ranks plan alike. 0: every rank uses its own limit. kn_memory_given is not
 * affected. */
void kn_ctx_set_memory_max(kn_ctx *ctx, size_t bytes);

/* Returns whether kn_cancel was called for the context, or for its parent if it belongs to a
 * worker. */
bool kn_cancelled(const kn_ctx *ctx);
/* Sets the message of a cancelled call and returns KN_ERR_CANCELLED. */
kn_status kn_fail_cancelled(kn_ctx *ctx);
/* Returns KN_ERR_CANCELLED with its message if the context is cancelled, else KN_OK. */
kn_status kn_check_cancel(kn_ctx *ctx);

/* Switches log, kept warnings and progress off, for a step inside another step that reports for
 * both. Returns the previous value, which the caller restores. */
bool kn_ctx_set_quiet(kn_ctx *ctx, bool quiet);

/* Prefixes progress with `stage`, such as "fold 3 of 10", and suppresses the log; warnings still go
 * to the list of kn_keep_warnings. `stage` is borrowed until the next call; NULL ends the stage.
 * Returns the previous value, which the caller restores. */
const char *kn_ctx_enter_stage(kn_ctx *ctx, const char *stage);

/* Creates the context of one worker of a parallel loop. It has `threads` threads, no log, no
 * progress and the serial communicator; it shares the memory meter, the memory limit and the
 * cancellation flag of the parent. Free it before the parent. NULL if out of memory. */
kn_ctx *kn_ctx_new_worker(kn_ctx *parent, int threads);

typedef struct kn_meter kn_meter; /* memory/alloc.h */
/* Returns the memory meter of the context, borrowed; for memory/alloc.c. */
kn_meter *kn_ctx_meter(const kn_ctx *ctx);

/* For tests: makes the k-th allocation from now fail (1: the next); 0 switches this off. */
void kn_fail_allocation(kn_ctx *ctx, long k);
/* For memory/alloc.c: counts one allocation down, and returns true if it must fail. */
bool kn_allocation_fails(kn_ctx *ctx);

/* ---- warnings -------------------------------------------------------------------------------- */

/* List of the warnings of one call. A command keeps them in addition to logging them, so that its
 * summary repeats exactly the sentences that were printed. */

typedef struct kn_warnings {
    char **text; /* n strings, owned */
    ptrdiff_t n, capacity;
    bool lost; /* at least one warning is missing: out of memory */
} kn_warnings;

/* Appends a copy of `text`; sets `lost` if out of memory. */
void kn_warnings_add(kn_warnings *warnings, const char *text);
/* Frees the strings and empties the list; {0} is allowed. */
void kn_warnings_clear(kn_warnings *warnings);

/* Adds all further warnings of this context to `into` (borrowed), even if it has no log callback;
 * NULL: stop keeping them. Returns the previous list, which the caller restores. */
kn_warnings *kn_keep_warnings(kn_ctx *ctx, kn_warnings *into);

/* ---- text ------------------------------------------------------------------------------------ */

/* Makes text from files and command lines safe to print on a terminal or in a log. */

/* Replaces every control character by '?', in place, including U+0080 to U+009F in UTF-8 (two '?'
 * each). A path or a table cell could otherwise move the cursor or look like a second message. */
void kn_sanitize_text(char *text);

/* "s", or "" for one: the ending of a regular plural. */
const char *kn_plural(ptrdiff_t n);

/* ---- result structs -------------------------------------------------------------------------- */

/* Copies a size-prefixed result struct to the caller. The caller may have been compiled with an
 * older or a newer version of the struct; every such struct begins with its size in bytes. */

/* Copies min(size of `info`, own_size) bytes from `own` to `info`, all but the leading size field,
 * which stays the caller's. Does nothing if info is NULL or its size is not set. */
static inline void kn_info_copy_out(void *info, const void *own, size_t own_size)
{
    size_t size;
    if (!info)
        return;
    memcpy(&size, info, sizeof size);
    if (size <= sizeof size)
        return;
    memcpy((char *)info + sizeof size, (const char *)own + sizeof size,
           (size < own_size ? size : own_size) - sizeof size);
}

#endif
