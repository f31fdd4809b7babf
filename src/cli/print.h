/* Messages that several commands print about a model. */
#ifndef KN_CLI_PRINT_H
#define KN_CLI_PRINT_H

#include "kronorm.h"

/* Prints what was missing among the responses, if anything. */
void cli_print_missing(const kn_model *m);

/* Prints the command line of `kronorm report` for the model, the scored folder, or both. One of
 * them may be NULL. */
void cli_print_page(const char *model, const char *folder);

#endif
