/* Finds and loads the MPI plugin (plugin_abi.h). The command itself is not linked with MPI;
 * without a plugin it works as a single process. */
#ifndef KN_BASE_MPI_LOAD_PLUGIN_H
#define KN_BASE_MPI_LOAD_PLUGIN_H

#include "base/mpi/comm.h"

/* Writes the path of the MPI plugin to path[size]. name: an absolute path, which is used
 * unchanged; or a file name, which is searched in the folder of this program and in
 * ../lib/kronorm of that folder; NULL: libkronorm_mpi.so. For safety, neither the working folder
 * nor library paths are searched. KN_ERR_ARGUMENT if the name is neither, KN_ERR_IO if the file
 * does not exist. */
kn_status kn_comm_find(kn_ctx *ctx, const char *name, char *path, size_t size);

/* Loads the plugin, starts MPI and sets *out; the plugin stays loaded. Call it before the program
 * creates threads, and after any exec of itself. kn_comm_join then gives *out to a context. On
 * failure *out is the serial communicator: KN_ERR_IO if the file cannot be loaded or MPI does not
 * start, KN_ERR_FORMAT if it is not a plugin of this version. */
kn_status kn_comm_load(kn_ctx *ctx, const char *path, kn_comm *out);

#endif
