/* The processes that mpirun or srun has made of one command: ranks of one work, not so many
 * works that race for one output. KRONORM_COMM=none: they are meant to, each with its own. */
#ifndef KN_CLI_MPI_LAUNCH_H
#define KN_CLI_MPI_LAUNCH_H

#include "cli/arguments.h"

/* Whether the launcher says that this is another process than the first of this command. */
bool cli_mpi_is_worker(void);

/* Where this was started more than once: the ranks come together and compare what must be the same
 * on all, run->another is set, and -1 returned; or the exit code, with one sentence from one of
 * them. Before anything is read, and before there are threads. */
int cli_mpi_init(cli_run *run, const char *command);

/* A command that is not CLI_TOGETHER: -1 when it was started once, or under KRONORM_COMM=none; else
 * the exit code, with one sentence. CLI_EACH is refused only where the plugin is there: some of the
 * other processes may be ranks of a command that is CLI_TOGETHER, and they would wait for this one.
 */
int cli_work_by_itself(kn_ctx *ctx, const cli_command *command);

/* The exit code of a process that found a fault in its command line before it came together.
 * `unsaid`: the sentence, where it is the first process's to say it; "": it was said. It is said
 * after all by one whose fault is not the first's. */
int cli_mpi_abort(kn_ctx *ctx, int code, const char *unsaid);

/* Once come together, when all is done. */
void cli_mpi_finalize(cli_run *run);

#endif
