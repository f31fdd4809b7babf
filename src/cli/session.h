/* A running command: a context that writes to the terminal, progress, and Ctrl-C. */
#ifndef KN_CLI_SESSION_H
#define KN_CLI_SESSION_H

#include "cli/arguments.h"

/* Connects log, progress and signals to run->ctx; one session at a time. Messages go to stderr: a
 * bar with rate and remaining time on a terminal, a line every ten seconds elsewhere, only errors
 * with --quiet. Ranks other than root print nothing. */
void session_begin(cli_run *run, const char *command);

/* Clears the progress line, prints the error if any, and returns the exit code. With several ranks
 * root prints it; or a rank that could not tell the others, which then aborts the job. */
int session_end(cli_run *run, kn_status status);

#endif
