/* Entry points of fit for other commands of the library. cv fits its folds with kn_fit_again. */
#ifndef KN_COMMANDS_FIT_FIT_H
#define KN_COMMANDS_FIT_FIT_H

#include "commands/fit/basis_source.h"
#include "commands/fit/fit_arrays.h"

/* Like kn_fit, for several fits with the same {basis}: the first call opens *basis, which must be
 * {0}, later calls reuse it, and surface harmonics are computed once. The caller clears *basis.
 * *model is owned by the caller. Collective. */
kn_status kn_fit_again(kn_ctx *ctx, kn_data *data, const kn_options *options,
                       kn_basis_source *basis, kn_model **model);

#endif
