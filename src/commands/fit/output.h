/* Output files of a fit: the model and its log. */
#ifndef KN_COMMANDS_FIT_OUTPUT_H
#define KN_COMMANDS_FIT_OUTPUT_H

#include "base/mpi/comm.h"
#include "data/dataset.h"
#include "model/model.h"

/* Checks before the fit that model and log can be written and are not input files. basis: one more
 * input file, or NULL. */
kn_status kn_fit_output_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                              const char *basis);

/* Writes the log, then the model; on failure both are removed. use: communication statistics of the
 * ranks, for the log. */
kn_status kn_fit_output_write(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                              const kn_comm_use *use);

#endif
