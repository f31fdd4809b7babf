/* What predict and score read. */
#ifndef KN_CLI_INPUTS_H
#define KN_CLI_INPUTS_H

#include "cli/arguments.h"

/* The model, then the people. */
kn_status cli_open(cli_run *run, kn_model **model, kn_data **data);

#endif
