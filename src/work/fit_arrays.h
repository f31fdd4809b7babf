/* Fits of numbers: a model without a recipe for covariates. */
#ifndef KN_WORK_FIT_ARRAYS_H
#define KN_WORK_FIT_ARRAYS_H

#include "gp/journal.h"
#include "model/model.h"

/* X  N x F covariates, Y  N x T responses (row i of both is one sample); settings NULL: defaults.
 */
kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model);
/* journal NULL: none. Collective; *model NULL: of a rank that waited while the first worked alone.
 */
kn_status kn_fit_journal(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                         kn_journal *journal, kn_model **model);

#endif
