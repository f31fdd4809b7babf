/* Fits of numbers, as the library itself asks for them: a model without a recipe for covariates. */
#ifndef KN_WORK_FIT_H
#define KN_WORK_FIT_H

#include "gp/journal.h"
#include "model/model.h"
#include "work/basis_source.h"

/* X  N x F covariates, Y  N x T responses (row i of both is one sample); settings NULL: defaults.
 */
kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model);
/* journal NULL: none */
kn_status kn_fit_journal(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                         kn_journal *journal, kn_model **model);

/* kn_fit, one of several with the same {basis}: opened by the first of them, and harmonics are made
 * once. The caller clears it. */
kn_status kn_fit_again(kn_ctx *ctx, kn_data *data, const kn_options *options,
                       kn_basis_source *basis, kn_model **model);

#endif
