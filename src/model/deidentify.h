/* De-identifies a model for `kronorm export`: no ids, groups, covariates, z or values of any
 * participant [METHOD 8h]. What remains are the model, synthetic points and summaries of
 * distributions. */
#ifndef KN_MODEL_DEIDENTIFY_H
#define KN_MODEL_DEIDENTIFY_H

#include "model/model.h"

/* Make a de-identified copy, except for the process, which still holds the training sample: the
 * caller runs kn_method.deidentify on it. Covariate ranges are rounded outward, the reference
 * becomes quantiles, and options that may name files, columns or participants are dropped. out is
 * owned by the caller. */
kn_status kn_model_deidentify(kn_ctx *ctx, const kn_model *model, kn_model **out);

/* De-identify the change reference in place: quantiles, and a rounded interval. Nothing without
 * one. */
kn_status kn_model_deidentify_change(kn_ctx *ctx, kn_model *m);

#endif
