/* The MPI plugin of kronorm. MPI has no common binary interface, so the plugin is compiled with the
 * MPI of the cluster; kronorm loads it when mpirun or srun starts several processes:
 *
 *     make mpi MPICC=mpicc
 *     mpicc -shared -fPIC plugin/comm_mpi.c -o libkronorm_mpi.so      (the same, without make)
 *
 * Install it in the folder of the command or in ../lib/kronorm of that folder. It needs MPI 3.0
 * with MPI_THREAD_FUNNELED: one thread makes all calls.
 *
 * Counts in MPI 3 are int, so data are sent in pieces of at most `cut` elements or bytes. Only
 * standard blocking operations are used; all_to_all sends to one rank after the other. The contract
 * of each function is in base/mpi/plugin_abi.h. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/base/mpi/plugin_abi.h"

enum { CUT = 1 << 26, CALL = 1, PARCEL, COLLECTED }; /* the last three: tags of messages */

static MPI_Comm world =
    MPI_COMM_NULL; /* a duplicate, so that messages of other libraries cannot be received */

/* The message of MPI for an error code, in a static buffer; NULL for MPI_SUCCESS. */
static const char *describe_error(int code)
{
    static char words[MPI_MAX_ERROR_STRING + 1];
    int n = 0;
    if (code == MPI_SUCCESS)
        return NULL;
    if (MPI_Error_string(code, words, &n) != MPI_SUCCESS)
        snprintf(words, sizeof words, "MPI failed (%d)", code);
    return words;
}

/* The next piece of `left` elements or bytes: at most c->cut. */
static int limit_piece(const kn_comm *c, ptrdiff_t left)
{
    return (int)(left < c->cut ? left : c->cut);
}

static const char *allreduce_doubles(const kn_comm *c, double *x, ptrdiff_t n, MPI_Op op)
{
    const char *why = NULL;
    for (int m; !why && n > 0; n -= m, x += m) {
        m = limit_piece(c, n);
        why = describe_error(MPI_Allreduce(MPI_IN_PLACE, x, m, MPI_DOUBLE, op, world));
    }
    return why;
}

static const char *sum_doubles(const kn_comm *c, double *x, ptrdiff_t n)
{
    return allreduce_doubles(c, x, n, MPI_SUM);
}

static const char *max_doubles(const kn_comm *c, double *x, ptrdiff_t n)
{
    return allreduce_doubles(c, x, n, MPI_MAX);
}

static const char *broadcast_bytes(const kn_comm *c, void *x, ptrdiff_t bytes, int root)
{
    const char *why = NULL;
    char *at = x;
    for (int m; !why && bytes > 0; bytes -= m, at += m) {
        m = limit_piece(c, bytes);
        why = describe_error(MPI_Bcast(at, m, MPI_BYTE, root, world));
    }
    return why;
}

/* Sends `sends` bytes to rank `to` while receiving `recvs` bytes from rank `from`, in pieces. */
static const char *send_and_receive(const kn_comm *c, const char *send, ptrdiff_t sends, int to,
                                    char *recv, ptrdiff_t recvs, int from)
{
    const char *why = NULL;
    while (!why && (sends > 0 || recvs > 0)) {
        int s = limit_piece(c, sends), r = limit_piece(c, recvs);
        why = describe_error(MPI_Sendrecv(send, s, MPI_BYTE, s > 0 ? to : MPI_PROC_NULL, PARCEL,
                                          recv, r, MPI_BYTE, r > 0 ? from : MPI_PROC_NULL, PARCEL,
                                          world, MPI_STATUS_IGNORE));
        sends -= s, send += s;
        recvs -= r, recv += r;
    }
    return why;
}

/* In step s, each rank sends to the rank s after it and receives from the rank s before it. */
static const char *exchange_bytes(const kn_comm *c, const void *send, const ptrdiff_t *send_bytes,
                                  void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at)
{
    const char *why = NULL;
    for (int s = 0; !why && s < c->size; s++) {
        int to = (c->rank + s) % c->size, from = (c->rank - s + c->size) % c->size;
        const char *at = send;
        for (int r = 0; r < to; r++)
            at += send_bytes[r];
        char *into = (char *)recv + recv_at[from];
        if (s > 0)
            why = send_and_receive(c, at, send_bytes[to], to, into, recv_bytes[from], from);
        else if (send_bytes[to] > 0)
            memcpy(into, at, (size_t)send_bytes[to]);
    }
    return why;
}

/* Rank 0 receives from one rank after the other, in pieces. */
static const char *gather_bytes(const kn_comm *c, const void *mine, ptrdiff_t bytes, void *all,
                                const ptrdiff_t *each)
{
    const char *why = NULL, *at = mine;
    for (int m; c->rank > 0 && !why && bytes > 0; bytes -= m, at += m) {
        m = limit_piece(c, bytes);
        why = describe_error(MPI_Send(at, m, MPI_BYTE, 0, COLLECTED, world));
    }
    if (c->rank > 0)
        return why;
    char *into = all;
    if (each[0] > 0)
        memcpy(into, mine, (size_t)each[0]);
    into += each[0];
    for (int r = 1; r < c->size; r++) {
        ptrdiff_t left = each[r];
        for (int m; !why && left > 0; left -= m, into += m) {
            m = limit_piece(c, left);
            why =
                describe_error(MPI_Recv(into, m, MPI_BYTE, r, COLLECTED, world, MPI_STATUS_IGNORE));
        }
    }
    return why;
}

static const char *wake_ranks(const kn_comm *c)
{
    const char *why = NULL;
    for (int r = 1; !why && r < c->size; r++)
        why = describe_error(MPI_Send(NULL, 0, MPI_BYTE, r, CALL, world));
    return why;
}

static const char *poll_wake(const kn_comm *c, int *yes)
{
    (void)c;
    const char *why = describe_error(MPI_Iprobe(0, CALL, world, yes, MPI_STATUS_IGNORE));
    if (!why && *yes)
        why = describe_error(MPI_Recv(NULL, 0, MPI_BYTE, 0, CALL, world, MPI_STATUS_IGNORE));
    return why;
}

static void abort_ranks(const kn_comm *c, int code)
{
    (void)c;
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
    _Exit(code);
}

static void finalize_mpi(kn_comm *c)
{
    (void)c;
    MPI_Comm_free(&world);
    MPI_Finalize();
}

static const char *count_local(int *local_size)
{
    MPI_Comm node;
    const char *why =
        describe_error(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    if (why)
        return why;
    MPI_Comm_size(node, local_size);
    return describe_error(MPI_Comm_free(&node));
}

static const char *init_mpi(kn_comm *c)
{
    int level = 0, begun = 0;
    MPI_Initialized(&begun);
    if (begun)
        return "MPI has begun already";
    const char *why = describe_error(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
    if (why)
        return why;
    if (level < MPI_THREAD_FUNNELED)
        return "this MPI does not go with threads (MPI_THREAD_FUNNELED)";
    why = describe_error(MPI_Comm_dup(MPI_COMM_WORLD, &world));
    if (why)
        return why;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    *c = (kn_comm){.cut = CUT,
                   .sum = sum_doubles,
                   .max = max_doubles,
                   .broadcast = broadcast_bytes,
                   .all_to_all = exchange_bytes,
                   .gather = gather_bytes,
                   .wake = wake_ranks,
                   .poll_wake = poll_wake,
                   .stop = abort_ranks,
                   .end = finalize_mpi};
    MPI_Comm_rank(world, &c->rank);
    MPI_Comm_size(world, &c->size);
    return count_local(&c->local_size);
}

/* The only exported symbol. */
extern const kn_comm_plugin kronorm_comm_plugin;
__attribute__((visibility("default")))
const kn_comm_plugin kronorm_comm_plugin = {KN_COMM_ABI, sizeof(kn_comm), init_mpi};
