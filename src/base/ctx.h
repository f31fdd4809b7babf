/* The context: message, log, progress, cancellation, thread count. One per thread; no globals. */
#ifndef KN_BASE_CTX_H
#define KN_BASE_CTX_H

#include <stdbool.h>

#include "base/meter.h"
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
void kn_tell(kn_ctx *ctx, const char *stage, ptrdiff_t done, ptrdiff_t total, double lml);

typedef struct kn_resources { /* as set; 0: the default */
    int threads;
    size_t memory;
} kn_resources;

kn_resources kn_resources_of(const kn_ctx *ctx);
void kn_resources_put(kn_ctx *ctx, kn_resources resources);

bool kn_memory_given(const kn_ctx *ctx); /* by kn_set_memory; else kn_memory is the machine's */

bool kn_cancelled(const kn_ctx *ctx);
kn_status kn_check_cancel(kn_ctx *ctx); /* KN_ERR_CANCELLED with its sentence, or KN_OK */

/* Holds log and progress back while a step runs inside another that reports for it. */
bool kn_hush(kn_ctx *ctx, bool quiet); /* returns what it was */

/* From now on the steps of a part of the work, such as "fold 3 of 10", are told under its name, and
 * nothing of it is logged; warnings are kept where they were to be kept. Lent; NULL: the whole.
 * Returns what it was. */
const char *kn_within(kn_ctx *ctx, const char *part);

kn_meter *kn_ctx_meter(const kn_ctx *ctx); /* for mem.c */

/* For tests: the k-th allocation from now fails (1: the next); 0 switches it off. */
void kn_fail_allocation(kn_ctx *ctx, long k);
bool kn_allocation_fails(kn_ctx *ctx); /* for mem.c */

#endif
