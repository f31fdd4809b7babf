/* Inputs of commands that apply a model to data: adapt, predict, score and change. */
#ifndef KN_CLI_INPUTS_H
#define KN_CLI_INPUTS_H

#include "cli/arguments.h"

/* Opens the model and reads the data. The caller frees both, also after an error. */
kn_status cli_open(cli_run *run, kn_model **model, kn_data **data);

/* Runs `work` (kn_score or kn_predict) and prints the result with `report`; for a job part it
 * prints the files and the next step instead. Returns the exit code. */
typedef kn_status cli_scoring(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, kn_scores **scores);
int cli_score(cli_run *run, cli_scoring *work,
              void (*report)(const kn_scores *scores, const kn_options *options));

#endif
