/* Reads an option from the command line that a scored folder records. */
#ifndef KN_REPORT_INPUT_COMMAND_OPTION_H
#define KN_REPORT_INPUT_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the word after `option`, such as "--threshold", to `out` without quotes. Returns false
 * if the option is absent or its word is longer than `size`. */
bool kn_command_option(const char *command, const char *option, char *out, size_t size);

#endif
