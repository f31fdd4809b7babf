/* The processes that mpirun or srun has made of one command: ranks of one work, not so many
 * works that race for one output. KRONORM_COMM=none: they are meant to, each with its own. */
#ifndef KN_CLI_STARTED_H
#define KN_CLI_STARTED_H

#include "cli/arguments.h"

/* Whether the launcher says that this is another process than the first of this command. */
bool cli_is_another(void);

/* Where this was started more than once: the ranks come together and compare what must be the same
 * on all, run->another is set, and -1 returned; or the exit code, with one sentence from one of
 * them. Before anything is read, and before there are threads. */
int cli_come_together(cli_run *run, const char *command);

/* Once come together, when all is done. */
void cli_part(cli_run *run);

#endif
