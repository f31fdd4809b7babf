/* MPI start-up. Processes that mpirun or srun started form one MPI job instead of competing for one
 * output. With KRONORM_COMM=none each process runs independently. */
#ifndef KN_CLI_MPI_LAUNCH_H
#define KN_CLI_MPI_LAUNCH_H

#include "cli/arguments.h"

/* True if the launcher's environment says that this process is not rank 0. False under
 * KRONORM_COMM=none. */
bool cli_mpi_is_worker(void);

/* Initialises MPI if the command was started more than once: loads the plugin, joins the ranks,
 * compares versions, BLAS, threads and options of all ranks, and sets run->another. Returns -1 to
 * continue, else the exit code after one message from one rank. Call before any file is read and
 * before there are threads. Collective. */
int cli_mpi_init(cli_run *run, const char *command);

/* For commands other than CLI_TOGETHER: returns -1 if started once or under KRONORM_COMM=none; else
 * the exit code after one message. CLI_EACH is an error only if the MPI plugin is present: other
 * processes may be ranks of a CLI_TOGETHER command that wait for this one. */
int cli_work_by_itself(kn_ctx *ctx, const cli_command *command);

/* Ends a process that found an error in its command line before the ranks joined; returns the exit
 * code. unsaid: message that rank 0 should print; "": already printed. If only this rank has the
 * error it prints the message after a delay. */
int cli_mpi_abort(kn_ctx *ctx, int code, const char *unsaid);

/* Finalises MPI, if it was initialised. */
void cli_mpi_finalize(cli_run *run);

#endif
