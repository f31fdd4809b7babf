/* Fits a model to arrays. kn_fit calls it after it has read and encoded the covariates, src/paper
 * calls it directly; a model of arrays alone has no encoding. */
#ifndef KN_COMMANDS_FIT_FIT_ARRAYS_H
#define KN_COMMANDS_FIT_FIT_ARRAYS_H

#include "model/model.h"

/* X: N x F covariates, Y: N x T responses, both in original units; row i of both is one
 * participant. settings NULL: defaults. On success *model is owned by the caller; it is NULL on
 * ranks other than root where root alone did the fit. Errors: KN_ERR_SHAPE, KN_ERR_DATA,
 * KN_ERR_ARGUMENT. Collective. */
kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model);

#endif
