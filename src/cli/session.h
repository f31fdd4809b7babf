/* What a running command has: a context wired to the terminal, progress, and Ctrl-C. */
#ifndef KN_CLI_SESSION_H
#define KN_CLI_SESSION_H

#include "cli/arguments.h"

/* One at a time. Messages go to stderr: a bar with rate and time left on a terminal, a line now
 * and then elsewhere, nothing under --quiet. */
void session_begin(cli_run *run, const char *command);

/* Clears the progress line; prints the error, if any; returns the exit code. Of several ranks the
 * first prints it; or the one that could not tell the others, and ends them all. */
int session_end(cli_run *run, kn_status status);

#endif
