/* Which fits, and cross-validations of such fits, run distributed over MPI ranks. The command asks
 * before it reads data. */
#ifndef KN_COMMANDS_COMMON_MPI_RULES_H
#define KN_COMMANDS_COMMON_MPI_RULES_H

#include <stdbool.h>

#include "kronorm.h"

/* True if the fit is distributed: all ranks call kn_fit, each processes its own block of responses,
 * all ranks get the model and root writes it. False: root alone must call it (kn_comm_on_root).
 * False for methods that cannot be distributed, for {plain}, for {max_seconds} with methods whose
 * ranks do not search in lock-step, and for {leave_out} with methods that fit every response alone.
 * Options are those of fit or cv. */
bool kn_fit_is_distributed(kn_ctx *ctx, const kn_options *options);

#endif
