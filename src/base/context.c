/* Implements context.h, the context functions of kronorm.h and the registration of a mapped file
 * (matrix.h): all of them read or write struct kn_ctx, which is private to this file. The context
 * is passed to every call that may log, fail, allocate or run in parallel. */
#include "base/context.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/matrix.h"
#include "base/mpi/comm.h"

enum { MESSAGE_SIZE = 1024 };

struct kn_ctx {
    char message[MESSAGE_SIZE];
    kn_log_fn log;
    void *log_user;
    kn_progress_fn progress;
    void *progress_user;
    int threads;
    bool threads_given; /* by the user; else the default of the machine or of this MPI rank */
    size_t memory;      /* bytes; 0: half of the machine's memory, divided by the ranks on a node */
    size_t memory_max;  /* bytes; minimum over MPI ranks, 0 if not set */
    const kn_comm *comm;
    kn_comm_use use;
    bool agreed; /* all ranks know the last error */
    bool quiet;
    const char *stage;            /* stage prefix of progress, borrowed; NULL: none */
    atomic_int cancelled;         /* lock-free, so that a signal handler may set it */
    atomic_long allocations_left; /* the allocation that reaches 0 fails; 0: none fails */
    const char *mapped;           /* start of the mapping of kn_mmap_hint_set; NULL: none */
    size_t mapped_bytes;
    kn_meter *meter;
    kn_warnings *warnings; /* borrowed; NULL: warnings are only logged */
    kn_ctx *parent;        /* of a worker: the top context; NULL otherwise */
};

kn_ctx *kn_ctx_new(void)
{
    kn_ctx *ctx = calloc(1, sizeof *ctx);
    kn_meter *meter = ctx ? kn_meter_new() : NULL;
    if (!meter) {
        free(ctx);
        return NULL;
    }
    ctx->meter = meter;
    ctx->comm = &kn_comm_serial;
    kn_set_threads(ctx, 0);
    return ctx;
}

kn_ctx *kn_ctx_new_worker(kn_ctx *parent, int threads)
{
    kn_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    ctx->parent = parent->parent ? parent->parent : parent; /* the one that kn_cancel marks */
    ctx->memory = kn_memory(parent);
    ctx->meter = parent->meter;
    kn_meter_add_block(ctx->meter, 0); /* one more reference */
    ctx->mapped = parent->mapped;
    ctx->mapped_bytes = parent->mapped_bytes;
    ctx->comm = &kn_comm_serial;
    kn_set_threads(ctx, threads);
    return ctx;
}

void kn_ctx_free(kn_ctx *ctx)
{
    if (ctx)
        kn_meter_release(ctx->meter);
    free(ctx);
}

kn_meter *kn_ctx_meter(const kn_ctx *ctx)
{
    return ctx->meter;
}

const char *kn_message(const kn_ctx *ctx)
{
    return ctx->message;
}

void kn_set_log(kn_ctx *ctx, kn_log_fn log, void *user)
{
    ctx->log = log;
    ctx->log_user = user;
}

void kn_set_progress(kn_ctx *ctx, kn_progress_fn progress, void *user)
{
    ctx->progress = progress;
    ctx->progress_user = user;
}

void kn_set_threads(kn_ctx *ctx, int threads)
{
    int shared = ctx->comm->threads;
    ctx->threads_given = threads > 0;
    ctx->threads = threads > 0 ? threads : shared > 0 ? shared : kn_processors("");
}

bool kn_threads_given(const kn_ctx *ctx)
{
    return ctx->threads_given;
}

int kn_threads(const kn_ctx *ctx)
{
    return ctx->threads;
}

void kn_set_memory(kn_ctx *ctx, size_t bytes)
{
    ctx->memory = bytes;
}

kn_resources kn_resources_of(const kn_ctx *ctx)
{
    return (kn_resources){ctx->threads, ctx->memory};
}

void kn_resources_restore(kn_ctx *ctx, kn_resources resources)
{
    ctx->threads = resources.threads;
    ctx->memory = resources.memory;
}

bool kn_memory_given(const kn_ctx *ctx)
{
    return ctx->memory > 0;
}

size_t kn_memory(const kn_ctx *ctx)
{
    bool limited;
    if (ctx->comm->size > 1 && ctx->memory_max > 0)
        return ctx->memory_max;
    if (ctx->memory > 0)
        return ctx->memory;
    return (size_t)(kn_ram("", &limited) / 2 / ctx->comm->local_size);
}

void kn_ctx_set_memory_max(kn_ctx *ctx, size_t bytes)
{
    ctx->memory_max = bytes;
}

const struct kn_comm *kn_ctx_comm(const kn_ctx *ctx)
{
    return ctx->comm;
}

struct kn_comm_use *kn_ctx_use(kn_ctx *ctx)
{
    return &ctx->use;
}

void kn_ctx_set_comm(kn_ctx *ctx, const struct kn_comm *comm)
{
    ctx->comm = comm;
}

bool kn_ctx_error_is_shared(const kn_ctx *ctx)
{
    return ctx->agreed;
}

void kn_ctx_set_error_shared(kn_ctx *ctx, bool agreed)
{
    ctx->agreed = agreed;
}

void kn_cancel(kn_ctx *ctx)
{
    atomic_store(&(ctx->parent ? ctx->parent : ctx)->cancelled, 1);
}

void kn_cancel_clear(kn_ctx *ctx)
{
    atomic_store(&ctx->cancelled, 0);
}

bool kn_cancelled(const kn_ctx *ctx)
{
    return atomic_load(&(ctx->parent ? ctx->parent : ctx)->cancelled) != 0;
}

kn_status kn_fail_cancelled(kn_ctx *ctx)
{
    return kn_fail(ctx, KN_ERR_CANCELLED, "stopped on request");
}

kn_status kn_check_cancel(kn_ctx *ctx)
{
    return kn_cancelled(ctx) ? kn_fail_cancelled(ctx) : KN_OK;
}

kn_status kn_fail(kn_ctx *ctx, kn_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    kn_sanitize_text(ctx->message);
    return status;
}

void kn_log(kn_ctx *ctx, kn_log_level level, const char *format, ...)
{
    bool kept = level == KN_LOG_WARNING && ctx->warnings;
    if ((!ctx->log && !kept) || ctx->quiet)
        return;
    char line[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    kn_sanitize_text(line);
    if (kept)
        kn_warnings_add(ctx->warnings, line);
    if (ctx->log && !ctx->stage)
        ctx->log(ctx->log_user, level, line);
}

kn_warnings *kn_keep_warnings(kn_ctx *ctx, kn_warnings *into)
{
    kn_warnings *before = ctx->warnings;
    ctx->warnings = into;
    return before;
}

void kn_report_progress(kn_ctx *ctx, const char *stage, ptrdiff_t done, ptrdiff_t total, double lml)
{
    if (!ctx->progress || ctx->quiet)
        return;
    char name[64];
    if (ctx->stage) {
        snprintf(name, sizeof name, "%s, %s", ctx->stage, stage);
        stage = name;
    }
    kn_progress p = {sizeof p, stage, done, total, lml};
    ctx->progress(ctx->progress_user, &p);
}

const char *kn_ctx_enter_stage(kn_ctx *ctx, const char *stage)
{
    const char *was = ctx->stage;
    ctx->stage = stage;
    return was;
}

bool kn_ctx_set_quiet(kn_ctx *ctx, bool quiet)
{
    bool was = ctx->quiet;
    ctx->quiet = quiet;
    return was;
}

void kn_fail_allocation(kn_ctx *ctx, long k)
{
    atomic_store(&ctx->allocations_left, k);
}

bool kn_allocation_fails(kn_ctx *ctx)
{
    atomic_long *left = &(ctx->parent ? ctx->parent : ctx)->allocations_left;
    if (atomic_load(left) <= 0)
        return false;
    return atomic_fetch_sub(left, 1) == 1;
}

void kn_mmap_hint_set(kn_ctx *ctx, const void *start, size_t bytes)
{
    ctx->mapped = start;
    ctx->mapped_bytes = start ? bytes : 0;
}

bool kn_mmap_hint(const kn_ctx *ctx, const void *p)
{
    const char *at = p;
    return ctx->mapped && at >= ctx->mapped && at < ctx->mapped + ctx->mapped_bytes;
}

const char *kn_status_name(kn_status status)
{
    static const char *const names[] = {"ok",     "argument",  "shape", "data",  "numeric",
                                        "memory", "cancelled", "io",    "format"};
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

const char *kn_version(void)
{
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
    return TEXT(KN_VERSION_MAJOR) "." TEXT(KN_VERSION_MINOR) "." TEXT(KN_VERSION_PATCH);
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Uses realloc and strdup instead of kn_alloc: warnings are not part of the memory plan. */
void kn_warnings_add(kn_warnings *w, const char *text)
{
    enum { FIRST = 8 };
    if (w->n == w->capacity) {
        ptrdiff_t capacity = w->capacity ? 2 * w->capacity : FIRST;
        char **grown = realloc(w->text, (size_t)capacity * sizeof *grown);
        if (!grown) {
            w->lost = true;
            return;
        }
        w->text = grown;
        w->capacity = capacity;
    }
    w->text[w->n] = strdup(text);
    if (w->text[w->n])
        w->n++;
    else
        w->lost = true;
}

void kn_warnings_clear(kn_warnings *w)
{
    for (ptrdiff_t i = 0; i < w->n; i++)
        free(w->text[i]);
    free(w->text);
    *w = (kn_warnings){0};
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *kn_plural(ptrdiff_t n)
{
    return n == 1 ? "" : "s";
}

void kn_sanitize_text(char *text)
{
    enum { DELETE = 0x7f, C1_LEAD = 0xc2, C1_FIRST = 0x80, C1_LAST = 0x9f };
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < ' ' || *c == DELETE)
            *c = '?';
        if (*c == C1_LEAD && c[1] >= C1_FIRST && c[1] <= C1_LAST)
            c[0] = c[1] = '?';
    }
}
