/* What kronorm and the plugin that carries its messages between processes know of each other. There
 * is no MPI in kronorm: a plugin is made with the cluster's own, by plugin/comm_mpi.c, and has one
 * symbol, kronorm_comm_plugin. This header takes nothing from the rest of kronorm.
 *
 * Functions return NULL, or a sentence that says why not; the sentence lives until the next call.
 * All processes ("ranks") call the same function at the same time; base/mpi/comm.h sees to that. */
#ifndef KN_BASE_MPI_PLUGIN_ABI_H
#define KN_BASE_MPI_PLUGIN_ABI_H

#include <stddef.h>

enum { KN_COMM_ABI = 2 }; /* another number whenever anything below changes */

typedef struct kn_comm kn_comm;
struct kn_comm {
    int rank, size; /* this process, of how many */
    int local_size; /* how many of them are on this node */
    int threads;   /* of each rank where the user gives none; 0: all processors. Not the plugin's */
    int nodes;     /* how many they are on. Not the plugin's */
    ptrdiff_t cut; /* at most so many elements or bytes go into one call; tests make it small */
    void *self;    /* the plugin's own */

    /* x[n] becomes its sum, or its maximum, over the ranks; the same bits on all of them */
    const char *(*sum)(const kn_comm *c, double *x, ptrdiff_t n);
    const char *(*max)(const kn_comm *c, double *x, ptrdiff_t n);
    /* bytes of the rank `root` go to all */
    const char *(*share)(const kn_comm *c, void *x, ptrdiff_t bytes, int root);
    /* send: what goes to rank 0, 1, ... one behind the other; what comes from rank r goes to
     * recv + recv_at[r]. The two do not overlap. */
    const char *(*exchange)(const kn_comm *c, const void *send, const ptrdiff_t *send_bytes,
                            void *recv, const ptrdiff_t *recv_bytes, const ptrdiff_t *recv_at);
    /* all of rank 0: what the ranks have, each[r] bytes, one behind the other. Others give none. */
    const char *(*collect)(const kn_comm *c, const void *mine, ptrdiff_t bytes, void *all,
                           const ptrdiff_t *each);
    /* Rank 0 calls the others, who look now and then whether it has. */
    const char *(*call)(const kn_comm *c);
    const char *(*called)(const kn_comm *c, int *yes);
    void (*stop)(const kn_comm *c, int code); /* everybody, now; does not return */
    void (*end)(kn_comm *c);                  /* all are done */
};

typedef struct kn_comm_plugin {
    int abi;           /* KN_COMM_ABI */
    size_t comm_bytes; /* sizeof(kn_comm) */
    /* Fills in everything but `threads` and `nodes`. Once, before the process has threads of its
     * own. */
    const char *(*begin)(kn_comm *c);
} kn_comm_plugin;

#endif
