/* What more than one command tells of a model. */
#ifndef KN_CLI_PRINT_H
#define KN_CLI_PRINT_H

#include "kronorm.h"

/* A line of what was missing among the responses, where something was. */
void cli_print_missing(const kn_model *m);

/* How to look at what was made: the line that makes the page of a model, of a folder, or of both.
 * Either may be NULL. */
void cli_print_page(const char *model, const char *folder);

#endif
