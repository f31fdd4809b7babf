/* The record of the run that made a model: command, inputs, their hashes and the warnings. It stays
 * in the model file, and `info`, the log and the report show it. Folders are left out of all paths,
 * since they may name a person or a computer. */
#ifndef KN_COMMANDS_FIT_FIT_RECORD_H
#define KN_COMMANDS_FIT_FIT_RECORD_H

#include "base/options/options.h"
#include "data/dataset.h"

/* *json = {"command", "inputs": {"covariates", "responses", "mask"}, "hashes": {"covariates",
 * "responses", "mask"}, "warnings": [...]} as text, owned by the caller (free). What did not come
 * from a file is null; "understood" is that text (understood.h). The command has the options that a
 * model remembers. without_ids: no command, no text and no warnings, which may name participants.
 */
kn_status kn_fit_record_make(kn_ctx *ctx, const kn_options *options, const kn_data *data,
                             const kn_warnings *warnings, bool without_ids, const char *understood,
                             char **json);

#endif
