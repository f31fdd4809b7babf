/* Which fits are spread over ranks, and cross-validations with them. */
#ifndef KN_COMMANDS_COMMON_MPI_RULES_H
#define KN_COMMANDS_COMMON_MPI_RULES_H

#include <stdbool.h>

#include "kronorm.h"

/* With these options all ranks call kn_fit, each walks over its own responses, and the first has
 * the model and writes it; the others have it too, and write nothing. Else rank 0 alone calls it
 * (kn_comm_on_root): other methods; and what a clock or a file of steps decides, where ranks take
 * steps of their own. Options are of fit, or of cv, whose fits they are of. */
bool kn_fit_spreads(kn_ctx *ctx, const kn_options *options);

#endif
