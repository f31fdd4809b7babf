/* Options as the line that gives them to the command. */
#ifndef KN_BASE_OPTIONS_COMMAND_LINE_H
#define KN_BASE_OPTIONS_COMMAND_LINE_H

#include "base/options/options.h"

/* *out = "kronorm score m.safetensors --covariates 'my people.csv' ...": what was given, in the
 * order of the table, quoted for a shell. Free with kn_free. */
kn_status kn_command_line(kn_ctx *ctx, const kn_options *options, char **out);
/* The same without some of them; `without` ends with NULL. */
kn_status kn_command_line_without(kn_ctx *ctx, const kn_options *options,
                                  const char *const *without, char **out);

/* Fails where a rank was given other options than rank 0: those of a task farm, each with an output
 * of its own, are no ranks of one work, and some would wait where others never come. What a node
 * may have of its own is not compared: threads, memory, scratch. Collective. */
kn_status kn_same_command_line(kn_ctx *ctx, const kn_options *options);

#endif
