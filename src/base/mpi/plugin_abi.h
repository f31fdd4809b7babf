/* Binary interface between kronorm and its MPI plugin. kronorm itself does not link MPI: the plugin
 * plugin/comm_mpi.c is compiled with the MPI of the cluster and exports one symbol,
 * kronorm_comm_plugin. This header is independent of the rest of kronorm.
 *
 * Functions return NULL on success, else the reason of the failure, which is valid until the next
 * call. All ranks call the same function at the same time; base/mpi/comm.c ensures that. */
#ifndef KN_BASE_MPI_PLUGIN_ABI_H
#define KN_BASE_MPI_PLUGIN_ABI_H

#include <stddef.h>

enum { KN_COMM_ABI = 2 }; /* to be increased whenever anything below changes */

typedef struct kn_comm kn_comm;
struct kn_comm {
    int rank, size; /* number of this process, number of processes */
    int local_size; /* processes on this node */
    int threads;    /* default threads of a rank; 0: all processors. Set by kn_comm_join */
    int nodes;      /* number of nodes. Set by kn_comm_join */
    ptrdiff_t cut;  /* elements or bytes per MPI call, at most; small in tests */
    void *self;     /* private to the plugin */

    /* x[n] = its sum, or its maximum, over ranks; the same bits on all ranks */
    const char *(*sum)(const kn_comm *c, double *x, ptrdiff_t n);
    const char *(*max)(const kn_comm *c, double *x, ptrdiff_t n);
    /* broadcast of x from rank `root` */
    const char *(*broadcast)(const kn_comm *c, void *x, ptrdiff_t bytes, int root);
    /* all-to-all: `send` has the data for rank 0, 1, ... one after the other; the data from rank r
     * go to recv + recv_at[r]. The buffers do not overlap. */
    const char *(*all_to_all)(const kn_comm *c, const void *send, const ptrdiff_t *send_bytes,
                              void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at);
    /* gather to rank 0: all = the data of rank 0, 1, ..., each[r] bytes; both unused elsewhere */
    const char *(*gather)(const kn_comm *c, const void *mine, ptrdiff_t bytes, void *all,
                          const ptrdiff_t *each);
    /* rank 0 wakes the other ranks by `wake`; they poll `poll_wake`, which sets *yes after that */
    const char *(*wake)(const kn_comm *c);
    const char *(*poll_wake)(const kn_comm *c, int *yes);
    void (*stop)(const kn_comm *c, int code); /* aborts all ranks; does not return */
    void (*end)(kn_comm *c);                  /* normal end of all ranks (MPI_Finalize) */
};

typedef struct kn_comm_plugin {
    int abi;           /* KN_COMM_ABI */
    size_t comm_bytes; /* sizeof(kn_comm) */
    /* Starts MPI and sets everything but `threads` and `nodes`. Called once, before the process
     * creates threads. */
    const char *(*begin)(kn_comm *c);
} kn_comm_plugin;

#endif
