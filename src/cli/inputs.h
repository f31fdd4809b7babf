/* What adapt, predict, score and change read. */
#ifndef KN_CLI_INPUTS_H
#define KN_CLI_INPUTS_H

#include "cli/arguments.h"

/* The model, then the people. */
kn_status cli_open(cli_run *run, kn_model **model, kn_data **data);

/* kn_score or kn_predict; what it says at the end is `report`'s, or of a part of the people what it
 * wrote, and what comes next. The exit code. */
typedef kn_status cli_scoring(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, kn_scores **scores);
int cli_score(cli_run *run, cli_scoring *work,
              void (*report)(const kn_scores *scores, const kn_options *options));

#endif
