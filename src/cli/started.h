/* Whether mpirun or srun has started this command more than once. */
#ifndef KN_CLI_STARTED_H
#define KN_CLI_STARTED_H

/* -1 to go on, or the exit code of a command that works alone: n whole fits would race for one
 * output. The first of them says so. KRONORM_COMM=none: they are meant to, each with its own. */
int cli_started_once(void);

#endif
