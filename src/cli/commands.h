/* The list of commands; each is in its own file in commands/. */
#ifndef KN_CLI_COMMANDS_H
#define KN_CLI_COMMANDS_H

#include "cli/arguments.h"

/* In the order of the help: cmd_NAME in commands/NAME.c. */
/* clang-format off */
#define CLI_COMMANDS(ROW)                                                                          \
    ROW(fit) ROW(adapt) ROW(predict) ROW(score) ROW(cv) ROW(overlap) ROW(change) ROW(centiles)     \
    ROW(report) ROW(export) ROW(simulate) ROW(reproduce) ROW(info)
/* clang-format on */

#define CLI_COMMAND_DECLARED(name) extern const cli_command cmd_##name;
CLI_COMMANDS(CLI_COMMAND_DECLARED)

#endif
