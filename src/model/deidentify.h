/* De-identifies a model for `kronorm export`: no ids, groups, covariates, z or values of any
 * participant [METHOD 8h]. What remains are the model, synthetic points and summaries of
 * distributions. */
#ifndef KN_MODEL_DEIDENTIFY_H
#define KN_MODEL_DEIDENTIFY_H

#include "model/model.h"

/* Make a de-identified copy of a model, owned by the caller. It has no ids, groups or z-scores, its
 * covariate ranges are rounded outward, and its reference sample is replaced by quantiles. The
 * Gaussian process still holds the training sample: the caller runs kn_method.deidentify on it.
 * *out is NULL on failure. */
kn_status kn_model_deidentify(kn_ctx *ctx, const kn_model *model, kn_model **out);

/* De-identify in place the reference sample for change between visits: its values become quantiles,
 * and the range of intervals is rounded outward. Does nothing if the model has none. */
kn_status kn_model_deidentify_change(kn_ctx *ctx, kn_model *m);

#endif
