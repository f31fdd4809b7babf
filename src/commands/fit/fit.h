/* Entry points of fit for other commands of the library: fits of folds, data that are read once
 * for several fits, and fits to arrays. The public kn_fit is in fit.c as well. */
#ifndef KN_COMMANDS_FIT_FIT_H
#define KN_COMMANDS_FIT_FIT_H

#include "commands/fit/basis_source.h"
#include "model/model.h"

struct kn_caller_bytes; /* data/sample.h */
struct kn_preloaded;    /* data/preloaded.h */

/* ---- fit.c: several fits ---- */

/* Like kn_fit, for several fits with the same {basis}: the first call opens *basis, which must be
 * {0}, later calls reuse it, and surface harmonics are computed once. The caller clears *basis.
 * *model is owned by the caller. Collective. */
kn_status kn_fit_with_basis(kn_ctx *ctx, kn_data *data, const kn_options *options,
                            kn_basis_source *basis, kn_model **model);

/* ---- fit.c: reading once ---- */

/* Reads all data once for fits of subsets (data/preloaded.h), with a memory plan for the fit of all
 * participants, which bounds the fits of subsets. options: of "fit"; beside: bytes that the caller
 * holds meanwhile. *out is owned by the caller (kn_preloaded_free). */
kn_status kn_preload_for_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, double beside,
                             struct kn_preloaded **out);

/* kn_preload_for_fit() for a caller whose bytes depend on the numbers of participants and
 * responses. */
kn_status kn_preload_for_caller(kn_ctx *ctx, kn_data *data, const kn_options *options,
                                struct kn_caller_bytes beside, struct kn_preloaded **out);

/* ---- fit_arrays.c ---- */

/* Fits a model to arrays. kn_fit calls it after it has read and encoded the covariates, src/paper
 * calls it directly; a model of arrays alone has no encoding. */

/* X: N x F covariates, Y: N x T responses, both in original units; row i of both is one
 * participant. settings NULL: defaults. On success *model is owned by the caller; it is NULL on
 * ranks other than root where root alone did the fit. Errors: KN_ERR_SHAPE, KN_ERR_DATA,
 * KN_ERR_ARGUMENT. Collective. */
kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model);

#endif
