/* The output files of a fit: the model and its log. */
#ifndef KN_COMMANDS_FIT_OUTPUT_H
#define KN_COMMANDS_FIT_OUTPUT_H

#include "base/mpi/comm.h"
#include "data/dataset.h"
#include "model/model.h"

/* Asked before hours of work: everything can be written, and on top of no input. */
kn_status kn_fit_output_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                              const char *basis);

/* The log, and last the model: with it the log has a meaning. Both or neither. use: of the ranks.
 */
kn_status kn_fit_output_write(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                              const kn_comm_use *use);

#endif
