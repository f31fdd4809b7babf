/* Writes options as the shell command line that sets them, for records and messages. summary.json
 * and reports record it, and MPI ranks compare it at the start. */
#ifndef KN_BASE_OPTIONS_COMMAND_LINE_H
#define KN_BASE_OPTIONS_COMMAND_LINE_H

#include "base/options/options.h"

/* Writes the given options as a command line, *out = "kronorm score m.safetensors --covariates
 * 'my people.csv' ...", in the order of the table and quoted for a shell. Owned by the caller;
 * free with kn_free. */
kn_status kn_command_line(kn_ctx *ctx, const kn_options *options, char **out);
/* Writes *out like kn_command_line, without the keys in `without`, a list that ends with NULL. */
kn_status kn_command_line_without(kn_ctx *ctx, const kn_options *options,
                                  const char *const *without, char **out);

/* KN_ERR_ARGUMENT on all ranks if a rank has other options than rank 0. Processes of a task farm,
 * each with its own output, are not ranks of one job and would wait for each other for ever.
 * threads, memory and scratch may differ between nodes and are not compared. Collective. */
kn_status kn_same_command_line(kn_ctx *ctx, const kn_options *options);

#endif
