/* The options of a command as pages: help, manual, completion, and docs/options.md. */
#ifndef KN_CLI_HELP_H
#define KN_CLI_HELP_H

#include "cli/arguments.h"

void cli_help(const cli_command *command);
void cli_man(const cli_command *command); /* troff */
/* A line with its options for bash, then one for each that has words: "--noise: structured iso". */
void cli_completion(const cli_command *command);
void cli_markdown(const cli_command *const *commands, int n);

#endif
