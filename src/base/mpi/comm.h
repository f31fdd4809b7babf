/* MPI communicator: collective operations between the processes of one job, ranks 0 .. size - 1.
 * A context has the serial communicator (size 1) until kn_comm_join sets another.
 *
 * A collective must be called by all ranks, in the same order. So must every function that calls
 * one; its contract says "Collective".
 *
 * Error handling: a rank that fails returns without calling further collectives, up to a call of
 * kn_comm_agree_status. The other ranks learn of the error in the collective that they call next,
 * which fails with the same status and message. For this, each operation begins with a handshake, a
 * maximum of seven numbers over ranks: has a rank failed, and do all ranks call the same operation,
 * sums and broadcasts with the same size? So no rank waits for a failed one, and messages cannot be
 * mixed up.
 *
 *     cost: a handshake, log2(size) messages of 56 bytes, and the operation                      */
#ifndef KN_BASE_MPI_COMM_H
#define KN_BASE_MPI_COMM_H

#include "base/context.h"
#include "base/mpi/plugin_abi.h"

/* The communicator of a single process: size 1. */
extern const kn_comm kn_comm_serial;

/* Makes c (borrowed) the communicator of ctx. Sets c->nodes, and c->threads: the processors of this
 * rank's affinity mask divided by the ranks with the same mask, and then the minimum over ranks.
 * Collective. */
kn_status kn_comm_join(kn_ctx *ctx, kn_comm *c);

/* Replaces x[n] by its elementwise sum over MPI ranks: the same bits for any number of ranks if
 * the addends are multiples of one unit (base/sum/exact_sum.h) or all but one of them are zero
 * (slots of base/sum/block_sums.h). Collective. */
kn_status kn_comm_sum(kn_ctx *ctx, double *x, ptrdiff_t n);
/* Replaces x[n] by its elementwise maximum over MPI ranks; not defined for NaN. Collective. */
kn_status kn_comm_max(kn_ctx *ctx, double *x, ptrdiff_t n);

/* Copies x[bytes] of rank `root` to all ranks. Collective. */
kn_status kn_comm_broadcast(kn_ctx *ctx, void *x, ptrdiff_t bytes, int root);

/* All-to-all: `send` has send_bytes[r] bytes for each rank r, one after the other; the
 * recv_bytes[r] bytes from rank r go to recv + recv_at[r]. Buffers must not overlap. Collective. */
kn_status kn_comm_send_receive(kn_ctx *ctx, const void *send, const ptrdiff_t *send_bytes,
                               void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at);

/* Gathers bytes of all MPI ranks on the root: all = the `bytes` bytes of rank 0, 1, ..., each[r]
 * of rank r. `all` and `each` are used on the root only and may be NULL on other ranks.
 * Collective. */
kn_status kn_comm_gather(kn_ctx *ctx, const void *mine, ptrdiff_t bytes, void *all,
                         const ptrdiff_t *each);

/* Aborts all ranks at once, for an error that the others cannot learn of. Not collective. With one
 * process it returns and does nothing. */
void kn_comm_stop(kn_ctx *ctx, int code);

/* Returns KN_OK if `mine` is KN_OK on all ranks, else status and message of the lowest rank that
 * failed. If all ranks know the error already, returns `mine` without communication. Collective. */
kn_status kn_comm_agree_status(kn_ctx *ctx, kn_status mine);

/* Returns whether all MPI ranks know the last error. Code that continues after such an error, on
 * all ranks, calls kn_comm_clear_error first. Not collective. */
bool kn_comm_error_is_shared(const kn_ctx *ctx);
/* Forgets that all MPI ranks know the last error, so that later errors are agreed on again. Not
 * collective. */
void kn_comm_clear_error(kn_ctx *ctx);

/* Returns whether a cancelled fit may return the best model so far: true with one process. With
 * several ranks cancellation is an error, because they notice it at different steps. Not
 * collective. */
bool kn_cancel_keeps_best(const kn_ctx *ctx);

/* Communication statistics of one rank. */
typedef struct kn_comm_use {
    /* number of operations; bytes of this rank in them; wall and processor seconds in them, waiting
     * included; processor seconds of the process outside of them */
    double calls, bytes, seconds, processor, outside;
} kn_comm_use;

/* Computes *most, the maximum over MPI ranks of each communication statistic since the start.
 * Collective. */
kn_status kn_comm_used(kn_ctx *ctx, kn_comm_use *limit);

/* Fails with KN_ERR_DATA on all ranks if the text `mine` (the first 255 bytes) differs from that of
 * rank 0. `what` and `remedy` are for the message: "rank 3 (node b) has core Haswell, rank 0
 * SkylakeX: set OPENBLAS_CORETYPE to one of them". Collective. */
kn_status kn_comm_check_equal(kn_ctx *ctx, const char *what, const char *mine, const char *remedy);

/* Runs work(self) on rank 0 only, with the serial communicator and, unless the user set them, all
 * processors and memory of its node; the other ranks sleep. All ranks return its status. `what`
 * names the work in a log line ("fit"). Collective. */
kn_status kn_comm_on_root(kn_ctx *ctx, const char *what, kn_status (*work)(void *self), void *self);

/* Runs work(self) on this rank with the serial communicator, so that collectives in it do not
 * communicate; threads and memory stay those of the rank. Not collective: an error is known to this
 * rank only. */
kn_status kn_comm_local(kn_ctx *ctx, kn_status (*work)(void *self), void *self);

#endif
