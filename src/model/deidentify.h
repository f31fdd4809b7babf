/* A model to give away: without ids, groups, covariates, z or values of anybody        [METHOD 8h]
 */
#ifndef KN_MODEL_DEIDENTIFY_H
#define KN_MODEL_DEIDENTIFY_H

#include "model/model.h"

/* A copy that has forgotten its people but for the process, which still knows them: the caller's
 * kn_method.share does that. Ranges of covariates are rounded outward, the reference is quantiles,
 * and options that may name files, columns or people are left out. */
kn_status kn_model_share(kn_ctx *ctx, const kn_model *model, kn_model **out);

/* In place: what its changes are compared with, quantiles of them and a rounded interval. */
kn_status kn_model_share_change(kn_ctx *ctx, kn_model *m);

#endif
