/* The commands, one file each. */
#ifndef KN_CLI_COMMANDS_H
#define KN_CLI_COMMANDS_H

#include "cli/arguments.h"

extern const cli_command cmd_fit, cmd_predict, cmd_score, cmd_simulate, cmd_reproduce, cmd_info;

#endif
