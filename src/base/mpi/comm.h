/* The processes that work on one fit: ranks 0 .. size - 1, one on each node or socket. A context
 * has its kn_comm, that of a process alone unless kn_comm_join gave it another.
 *
 * Everything here but kn_comm_stop is a collective: all ranks call it, in the same order. So is
 * every function that calls one, and its header says "Collective".
 *
 * A rank that fails by itself goes back to where it came from, calling no further collective, and
 * there to kn_comm_agree_status; the others learn of it in whatever collective they are, which then
 * fails with the same status and sentence. Each operation therefore begins with a meeting, a
 * maximum of a few numbers: who has failed, and whether all came for the same operation. Nobody
 * waits for a rank that is not coming, and no two ranks take each other's messages for their own.
 *
 *     cost: a meeting, log2(size) messages of 56 bytes, and the operation                        */
#ifndef KN_BASE_MPI_COMM_H
#define KN_BASE_MPI_COMM_H

#include "base/context.h"
#include "base/mpi/plugin_abi.h"

/* Of a process alone: size 1. */
extern const kn_comm kn_comm_serial;

/* From now on ctx is of these ranks. Sets c->nodes, and c->threads: the processors that this rank
 * may run on, divided among the ranks that may run on the same ones; the least number of all ranks.
 * Collective. */
kn_status kn_comm_join(kn_ctx *ctx, kn_comm *c);

/* x[n] = its sum over ranks. In the same bits for any number of ranks when the addends are
 * multiples of one unit (base/sum/exact_sum.h) or all but one of them are zero (slots of
 * base/sum/reduce.h). */
kn_status kn_comm_sum(kn_ctx *ctx, double *x, ptrdiff_t n);
kn_status kn_comm_max(kn_ctx *ctx, double *x, ptrdiff_t n); /* of numbers, not NaN */

/* x[bytes] = that of rank root. */
kn_status kn_comm_broadcast(kn_ctx *ctx, void *x, ptrdiff_t bytes, int root);

/* send = what goes to rank 0, to rank 1, ..., send_bytes[r] each; recv_bytes[r] from rank r go to
 * recv + recv_at[r]. */
kn_status kn_comm_send_receive(kn_ctx *ctx, const void *send, const ptrdiff_t *send_bytes,
                               void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at);

/* all = mine of rank 0, of rank 1, ..., each[r] bytes; both of rank 0 only. */
kn_status kn_comm_gather(kn_ctx *ctx, const void *mine, ptrdiff_t bytes, void *all,
                         const ptrdiff_t *each);

/* Ends all ranks, now: for a rank whose failure the others cannot be told. */
void kn_comm_stop(kn_ctx *ctx, int code);

/* The status of all: KN_OK where everybody's is, else that of the lowest rank that failed, with its
 * sentence. A failure that all know already is returned as it is, and nobody is asked again. */
kn_status kn_comm_agree_status(kn_ctx *ctx, kn_status mine);

/* Whether the last failure is known to all ranks. A caller who goes on after such a failure, as all
 * of them must, says so by kn_comm_clear_error. */
bool kn_comm_error_is_shared(const kn_ctx *ctx);
void kn_comm_clear_error(kn_ctx *ctx);

/* Whether a fit that was asked to stop may go on with what it has: not among ranks, of which some
 * may be asked later than others. There it is a failure like any other. */
bool kn_cancel_keeps_best(const kn_ctx *ctx);

/* What this rank has said to the others: operations, the bytes of its own part in them (of a
 * share the whole), and the time and processor time inside, waiting included. `outside`: processor
 * seconds of the process that were spent elsewhere. */
typedef struct kn_comm_use {
    double calls, bytes, seconds, processor, outside;
} kn_comm_use;

/* *most = of each, the largest number of any rank, from the beginning until now. Collective. */
kn_status kn_comm_used(kn_ctx *ctx, kn_comm_use *most);

/* Fails where a rank has another text than rank 0: "rank 3 (node b) has core Haswell, rank 0
 * SkylakeX: set OPENBLAS_CORETYPE to one of them". `what`: "core"; `remedy`: what to do. */
kn_status kn_comm_check_equal(kn_ctx *ctx, const char *what, const char *mine, const char *remedy);

/* Rank 0 does the work by itself, as if it had been started alone, and says so; the others sleep.
 * Then all have its status. `what`: "fit". */
kn_status kn_comm_on_root(kn_ctx *ctx, const char *what, kn_status (*work)(void *self), void *self);

/* Every rank does work of its own, at the same time as the others and without them: a collective in
 * it is that of a process alone, but memory and threads are the rank's. A failure is this rank's,
 * as between two collectives. */
kn_status kn_comm_local(kn_ctx *ctx, kn_status (*work)(void *self), void *self);

#endif
