/* What more than one command tells of a model. */
#ifndef KN_CLI_TOLD_H
#define KN_CLI_TOLD_H

#include "kronorm.h"

/* A line of what was missing among the responses, where something was. */
void cli_print_missing(const kn_model *m);

#endif
