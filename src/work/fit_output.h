/* What a fit leaves on disk: the model, its log, and while it runs its steps. */
#ifndef KN_WORK_FIT_OUTPUT_H
#define KN_WORK_FIT_OUTPUT_H

#include "base/comm.h"
#include "data/data.h"
#include "model/model.h"
#include "work/checkpoint.h"

/* Asked before hours of work: everything can be written, and on top of no input. */
kn_status kn_fit_output_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                              const char *basis);

/* The checkpoint of {resume}, or *out = NULL without it and on other ranks than the first.
 * Collective. */
kn_status kn_fit_output_begin(kn_ctx *ctx, const kn_settings *s, kn_view X, kn_view Y,
                              kn_checkpoint **out);

/* The log, and last the model: with it the log has a meaning. Both or neither. use: of the ranks.
 */
kn_status kn_fit_output_write(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                              const kn_comm_use *use);

#endif
