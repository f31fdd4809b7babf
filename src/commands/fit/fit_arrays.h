/* Fits of numbers: a model without a recipe for covariates. */
#ifndef KN_COMMANDS_FIT_FIT_ARRAYS_H
#define KN_COMMANDS_FIT_FIT_ARRAYS_H

#include "model/model.h"

/* X  N x F covariates, Y  N x T responses (row i of both is one sample); settings NULL: defaults.
 * Collective; *model is NULL on ranks that waited while rank 0 worked alone. */
kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model);

#endif
