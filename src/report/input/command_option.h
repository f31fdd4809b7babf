/* What an option was given as in a command line that a folder keeps. */
#ifndef KN_REPORT_INPUT_COMMAND_OPTION_H
#define KN_REPORT_INPUT_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* option: "--threshold"; out: its word without quotes. False: it does not stand there, or has no
 * room. */
bool kn_command_option(const char *command, const char *option, char *out, size_t size);

#endif
