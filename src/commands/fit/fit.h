/* Fits, as the library itself asks for them. */
#ifndef KN_COMMANDS_FIT_FIT_H
#define KN_COMMANDS_FIT_FIT_H

#include "commands/fit/basis_source.h"
#include "commands/fit/fit_arrays.h"

/* kn_fit, one of several with the same {basis}: opened by the first of them, and harmonics are made
 * once. The caller clears it. Collective. */
kn_status kn_fit_again(kn_ctx *ctx, kn_data *data, const kn_options *options,
                       kn_basis_source *basis, kn_model **model);

#endif
