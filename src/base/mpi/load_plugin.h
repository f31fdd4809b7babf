/* The plugin that carries messages between processes: where it is, and whether it is one of ours.
 */
#ifndef KN_BASE_MPI_LOAD_PLUGIN_H
#define KN_BASE_MPI_LOAD_PLUGIN_H

#include "base/mpi/comm.h"

/* path[size] = where the plugin is. `name`: a whole path, from /, taken as it is; the name of a
 * file, looked for in the folder of this program and in ../lib/kronorm beside that; NULL: the name
 * libkronorm_mpi.so. Never in the working folder, nor where it or a library path may lead.
 * KN_ERR_ARGUMENT when the name is neither, KN_ERR_IO when there is none. */
kn_status kn_comm_find(kn_ctx *ctx, const char *name, char *path, size_t size);

/* Loads it and begins: *out has the ranks. It stays loaded. After the program has started itself
 * anew, if it does, and before it has threads. Not for a context: see kn_comm_join. */
kn_status kn_comm_load(kn_ctx *ctx, const char *path, kn_comm *out);

#endif
