/* Implements comm.h on the function table of plugin_abi.h. Every operation is: handshake (meet),
 * call of the plugin, update of the statistics (enter, leave). */
#include "base/mpi/comm.h"

#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/hash/xxh64.h"
#include "base/machine.h"
#include "base/memory/alloc.h"

/* ---- serial communicator -----------------------------------------------------------------------
 */

/* Operations `sum` and `max` of a process without MPI: x is its own sum. NULL: no error. */
static const char *serial_reduce(const kn_comm *c, double *x, ptrdiff_t n)
{
    (void)c, (void)x, (void)n;
    return NULL;
}

/* Operation `broadcast` of a process without MPI: nothing to do. NULL: no error. */
static const char *serial_broadcast(const kn_comm *c, void *x, ptrdiff_t bytes, int root)
{
    (void)c, (void)x, (void)bytes, (void)root;
    return NULL;
}

/* Operation `all_to_all` of a process without MPI: copies what the only rank sends to itself. */
static const char *serial_all_to_all(const kn_comm *c, const void *send,
                                     const ptrdiff_t *send_bytes, void *recv,
                                     const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at)
{
    (void)c, (void)send_bytes;
    if (recv_bytes[0] > 0)
        memcpy((char *)recv + recv_at[0], send, (size_t)recv_bytes[0]);
    return NULL;
}

/* Operation `gather` of a process without MPI: the gathered bytes are those of the only rank. */
static const char *serial_gather(const kn_comm *c, const void *mine, ptrdiff_t bytes, void *all,
                                 const ptrdiff_t *each)
{
    (void)c, (void)each;
    if (bytes > 0)
        memcpy(all, mine, (size_t)bytes);
    return NULL;
}

/* Operation `wake` of a process without MPI: no rank sleeps. */
static const char *serial_wake(const kn_comm *c)
{
    (void)c;
    return NULL;
}

/* Operation `poll_wake` of a process without MPI: *yes = 1, never wait. */
static const char *serial_poll_wake(const kn_comm *c, int *yes)
{
    (void)c;
    *yes = 1;
    return NULL;
}

static void serial_stop(const kn_comm *c, int code) /* the caller ends the process itself */
{
    (void)c, (void)code;
}

/* Operation `end` of a process without MPI: nothing to do. */
static void serial_end(kn_comm *c)
{
    (void)c;
}

const kn_comm kn_comm_serial = {.size = 1,
                                .local_size = 1,
                                .nodes = 1,
                                .sum = serial_reduce,
                                .max = serial_reduce,
                                .broadcast = serial_broadcast,
                                .all_to_all = serial_all_to_all,
                                .gather = serial_gather,
                                .wake = serial_wake,
                                .poll_wake = serial_poll_wake,
                                .stop = serial_stop,
                                .end = serial_end};

/* ---- handshake ---------------------------------------------------------------------------------
 */

typedef enum operation { AGREE, SUM, MAX, BROADCAST, ALL_TO_ALL, GATHER } operation;
static const char *const NAME[] = {"agreement", "sum", "max", "share", "exchange", "collect"};

/* The error that a failed rank broadcasts. */
typedef struct failure {
    kn_status status;
    char sentence[1024];
} failure;

/* Turns the result of a plugin function (NULL or a reason) into a status: KN_ERR_IO with the
 * reason. */
static kn_status convert_result(kn_ctx *ctx, const char *why)
{
    return why ? kn_fail(ctx, KN_ERR_IO, "between processes: %s", why) : KN_OK;
}

/* Broadcasts the error of rank `root` and makes it the error of this rank. */
static kn_status broadcast_error(kn_ctx *ctx, const kn_comm *c, int root, kn_status mine)
{
    failure f = {.status = mine};
    strncpy(f.sentence, kn_message(ctx), sizeof f.sentence - 1);
    kn_status status = convert_result(ctx, c->broadcast(c, &f, sizeof f, root));
    if (status != KN_OK)
        return status;
    kn_ctx_set_error_shared(ctx, true);
    return kn_fail(ctx, f.status, "%s", f.sentence);
}

/* The handshake before an operation: KN_OK if all ranks call the same operation with the same n and
 * root, else the error of the lowest rank that failed. The maximum of x and of -x agree up to sign
 * only if x is equal on all ranks; FAILED is largest for the lowest rank. */
static kn_status agree_on_operation(kn_ctx *ctx, operation what, ptrdiff_t n, int root,
                                    kn_status mine)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    if (c->size == 1 || (mine != KN_OK && kn_comm_error_is_shared(ctx)))
        return mine;
    enum { FAILED, WHAT, N = WHAT + 2, ROOT = N + 2, ALL = ROOT + 2 };
    double v[ALL] = {0, (double)what, -(double)what, (double)n, -(double)n, root, -root};
    v[FAILED] = mine == KN_OK ? 0 : c->size - c->rank;
    kn_comm_clear_error(ctx);
    kn_status status = convert_result(ctx, c->max(c, v, ALL));
    if (status != KN_OK)
        return status;
    if (v[FAILED] > 0)
        return broadcast_error(ctx, c, c->size - (int)v[FAILED], mine);
    for (int i = WHAT; i < ALL; i += 2)
        if (v[i] != -v[i + 1]) { /* on all ranks, so the error is shared */
            kn_ctx_set_error_shared(ctx, true);
            return kn_fail(ctx, KN_ERR_IO,
                           "the processes have lost synchronisation, one of them at a %s of %td; "
                           "this is a defect of kronorm, please report it",
                           NAME[what], n);
        }
    return KN_OK;
}

/* ---- statistics --------------------------------------------------------------------------------
 */

typedef struct visit {
    double clock, processor;
} visit;

/* Returns the processor seconds of this process. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns clock and processor time at the begin of an operation, for add_timing. */
static visit start_timing(void)
{
    return (visit){kn_clock(), processor_seconds()};
}

/* Adds an operation of `bytes` bytes that began at `since`; returns `status` unchanged. */
static kn_status add_timing(kn_ctx *ctx, visit since, double bytes, kn_status status)
{
    kn_comm_use *use = kn_ctx_use(ctx);
    if (kn_ctx_comm(ctx)->size > 1) {
        use->calls++;
        use->bytes += bytes;
        use->seconds += kn_clock() - since.clock;
        use->processor += processor_seconds() - since.processor;
    }
    return status;
}

kn_status kn_comm_used(kn_ctx *ctx, kn_comm_use *limit)
{
    enum { CALLS, BYTES, SECONDS, PROCESSOR, OUTSIDE, ALL };
    const kn_comm_use *use = kn_ctx_use(ctx);
    double v[ALL] = {use->calls, use->bytes, use->seconds, use->processor,
                     processor_seconds() - use->processor};
    kn_status status = kn_comm_max(ctx, v, ALL);
    *limit = (kn_comm_use){v[CALLS], v[BYTES], v[SECONDS], v[PROCESSOR], v[OUTSIDE]};
    return status;
}

kn_status kn_comm_agree_status(kn_ctx *ctx, kn_status mine)
{
    visit since = start_timing();
    return add_timing(ctx, since, 0, agree_on_operation(ctx, AGREE, 0, 0, mine));
}

bool kn_comm_error_is_shared(const kn_ctx *ctx)
{
    return kn_ctx_comm(ctx)->size == 1 || kn_ctx_error_is_shared(ctx);
}

bool kn_cancel_keeps_best(const kn_ctx *ctx)
{
    return kn_ctx_comm(ctx)->size == 1;
}

void kn_comm_clear_error(kn_ctx *ctx)
{
    kn_ctx_set_error_shared(ctx, false);
}

/* ---- operations --------------------------------------------------------------------------------
 */

kn_status kn_comm_sum(kn_ctx *ctx, double *x, ptrdiff_t n)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    visit since = start_timing();
    kn_status status = agree_on_operation(ctx, SUM, n, 0, KN_OK);
    if (status == KN_OK)
        status = convert_result(ctx, c->sum(c, x, n));
    return add_timing(ctx, since, (double)sizeof *x * (double)n, status);
}

kn_status kn_comm_max(kn_ctx *ctx, double *x, ptrdiff_t n)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    visit since = start_timing();
    kn_status status = agree_on_operation(ctx, MAX, n, 0, KN_OK);
    if (status == KN_OK)
        status = convert_result(ctx, c->max(c, x, n));
    return add_timing(ctx, since, (double)sizeof *x * (double)n, status);
}

kn_status kn_comm_broadcast(kn_ctx *ctx, void *x, ptrdiff_t bytes, int root)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    visit since = start_timing();
    kn_status status = agree_on_operation(ctx, BROADCAST, bytes, root, KN_OK);
    if (status == KN_OK)
        status = convert_result(ctx, c->broadcast(c, x, bytes, root));
    return add_timing(ctx, since, (double)bytes, status);
}

kn_status kn_comm_send_receive(kn_ctx *ctx, const void *send, const ptrdiff_t *send_bytes,
                               void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    visit since = start_timing();
    double bytes = 0;
    kn_status status = agree_on_operation(ctx, ALL_TO_ALL, 0, 0, KN_OK);
    if (status == KN_OK)
        status = convert_result(ctx, c->all_to_all(c, send, send_bytes, recv, recv_bytes, recv_at));
    for (int r = 0; r < c->size; r++)
        bytes += r == c->rank ? 0 : (double)send_bytes[r];
    return add_timing(ctx, since, bytes, status);
}

kn_status kn_comm_gather(kn_ctx *ctx, const void *mine, ptrdiff_t bytes, void *all,
                         const ptrdiff_t *each)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    visit since = start_timing();
    kn_status status = agree_on_operation(ctx, GATHER, 0, 0, KN_OK);
    if (status == KN_OK)
        status = convert_result(ctx, c->gather(c, mine, bytes, all, each));
    return add_timing(ctx, since, (double)bytes, status);
}

void kn_comm_stop(kn_ctx *ctx, int code)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    c->stop(c, code);
}

/* ---- start -------------------------------------------------------------------------------------
 */

/* Returns the name of this machine, in u, or "unknown". */
static const char *find_node_name(struct utsname *u)
{
    return uname(u) == 0 ? u->nodename : "unknown";
}

kn_status kn_comm_check_equal(kn_ctx *ctx, const char *what, const char *mine, const char *remedy)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    struct utsname u;
    char first[256] = "";
    kn_status status;
    strncpy(first, mine, sizeof first - 1);
    KN_TRY(kn_comm_broadcast(ctx, first, sizeof first, 0));
    if (strncmp(first, mine, sizeof first - 1) != 0)
        status = kn_fail(ctx, KN_ERR_DATA, "rank %d (node %s) has %s %.255s, but rank 0 has %s; %s",
                         c->rank, find_node_name(&u), what, mine, first, remedy);
    status = kn_comm_agree_status(ctx, status);
out:
    return status;
}

/* Hashes of a rank's node name and of its affinity mask. */
typedef struct place {
    uint64_t node, processors;
} place;

/* Returns whether rank r is the lowest rank of its node; place_of_rank has one entry per rank. */
static bool is_first(const place *place_of_rank, int r)
{
    for (int i = 0; i < r; i++)
        if (place_of_rank[i].node == place_of_rank[r].node)
            return false;
    return true;
}

/* Computes *sharing, the number of ranks with the node and affinity mask of this one, itself
 * included; sets c->nodes. Collective. */
static kn_status count_sharing(kn_ctx *ctx, kn_comm *c, int *sharing)
{
    struct utsname u;
    const char *name = find_node_name(&u);
    place mine = {kn_hash(name, strlen(name), 0), kn_processors_hash()}, *send, *recv;
    void *block = NULL;
    ptrdiff_t *bytes = NULL;
    kn_status status = KN_OK, had;
    *sharing = c->nodes = 0;
    had = kn_alloc(ctx, 2 * c->size, sizeof(place), &block);
    if (had == KN_OK)
        had = kn_alloc_i(ctx, 2 * c->size, &bytes);
    KN_TRY(kn_comm_agree_status(ctx, had));
    send = block;
    recv = send + c->size;
    for (int r = 0; r < c->size; r++) {
        send[r] = mine;
        bytes[r] = sizeof(place);
        bytes[c->size + r] = r * (ptrdiff_t)sizeof(place);
    }
    KN_TRY(kn_comm_send_receive(ctx, send, bytes, recv, bytes, bytes + c->size));
    for (int r = 0; r < c->size; r++) {
        *sharing += recv[r].node == mine.node && recv[r].processors == mine.processors;
        c->nodes += is_first(recv, r);
    }
out:
    kn_free(block);
    kn_free(bytes);
    return status;
}

kn_status kn_comm_join(kn_ctx *ctx, kn_comm *c)
{
    kn_status status;
    int sharing;
    kn_ctx_set_comm(ctx, c);
    KN_TRY(count_sharing(ctx, c, &sharing));
    double fewest = -kn_processors_shared("", sharing, c->local_size);
    KN_TRY(kn_comm_max(ctx, &fewest, 1));
    c->threads = (int)-fewest;
    if (!kn_threads_given(ctx))
        kn_set_threads(ctx, 0);
out:
    return status;
}

/* ---- work of rank 0 ----------------------------------------------------------------------------
 */

/* Sleeps until rank 0 calls, which may take hours: a busy wait would take a processor from it. A
 * cancelled rank waits for rank 0 to stop too, but at most PATIENCE seconds, because rank 0 may not
 * have received the request. */
static kn_status wait_for_call(kn_ctx *ctx, const kn_comm *c)
{
    static const double PATIENCE = 10;     /* seconds */
    static const long LONGEST = 100000000; /* nanoseconds */
    struct timespec nap = {0, 1000000};
    double asked = 0;
    int yes = 0;
    for (;;) {
        kn_status status = convert_result(ctx, c->poll_wake(c, &yes));
        if (status != KN_OK || yes)
            return status;
        if (kn_cancelled(ctx)) {
            asked = asked > 0 ? asked : kn_clock();
            if (kn_clock() - asked > PATIENCE)
                return kn_check_cancel(ctx);
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = 2 * nap.tv_nsec < LONGEST ? 2 * nap.tv_nsec : LONGEST;
    }
}

/* Runs work(self) with the serial communicator. Its defaults are all processors and half of the
 * memory of the node; values that the user set stay. */
static kn_status run_serially(kn_ctx *ctx, const kn_comm *c, kn_status (*work)(void *self),
                              void *self)
{
    kn_ctx_set_comm(ctx, &kn_comm_serial);
    if (!kn_threads_given(ctx))
        kn_set_threads(ctx, 0);
    kn_status status = work(self);
    kn_ctx_set_comm(ctx, c);
    if (!kn_threads_given(ctx))
        kn_set_threads(ctx, 0);
    return status;
}

kn_status kn_comm_on_root(kn_ctx *ctx, const char *what, kn_status (*work)(void *self), void *self)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    if (c->size == 1)
        return work(self);
    kn_status status = kn_comm_agree_status(ctx, KN_OK); /* else a failed rank 0 would never call */
    if (status != KN_OK)
        return status;
    if (c->rank > 0) {
        status = wait_for_call(ctx, c);
        return status == KN_OK ? kn_comm_agree_status(ctx, KN_OK) : status;
    }
    kn_log(ctx, KN_LOG_INFO,
           "%s: only one of %d processes works and the others wait; one process with {threads} is "
           "as fast",
           what, c->size);
    status = run_serially(ctx, c, work, self);
    const char *why = c->wake(c);
    return why ? convert_result(ctx, why) : kn_comm_agree_status(ctx, status);
}

kn_status kn_comm_local(kn_ctx *ctx, kn_status (*work)(void *self), void *self)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    if (c->size == 1)
        return work(self);
    kn_resources before = kn_resources_of(ctx);
    /* Fixes the memory of this rank: the default of the serial communicator is that of the node. */
    kn_resources_restore(ctx, (kn_resources){before.threads, kn_memory(ctx)});
    kn_ctx_set_comm(ctx, &kn_comm_serial);
    kn_status status = work(self);
    kn_ctx_set_comm(ctx, c);
    kn_resources_restore(ctx, before);
    return status;
}
