/* Prints the options of a command as help, manual page, shell completion and docs/options.md. */
#ifndef KN_CLI_HELP_H
#define KN_CLI_HELP_H

#include "cli/arguments.h"

/* kronorm COMMAND --help. */
void cli_help(const cli_command *command);
void cli_man(const cli_command *command); /* manual page in troff */
/* One line of options for bash, then one per option with a choice of words: "--noise: structured
 * iso". */
void cli_completion(const cli_command *command);
/* docs/options.md for n commands. */
void cli_markdown(const cli_command *const *commands, int n);

#endif
