/* What a running command has: a context wired to the terminal, progress, and Ctrl-C. */
#ifndef KN_CLI_SESSION_H
#define KN_CLI_SESSION_H

#include "cli/options.h"

/* One at a time. Messages go to stderr: a bar with rate and time left on a terminal, a line now
 * and then elsewhere, nothing under --quiet. */
kn_ctx *session_begin(const cli_common *common, const char *command);

/* Clears the progress line; prints the error, if any; frees the context; returns the exit code. */
int session_end(kn_ctx *ctx, kn_status status);

#endif
