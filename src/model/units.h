/* Predicted maps in original units and in the caller's numbering of responses. */
#ifndef KN_MODEL_UNITS_H
#define KN_MODEL_UNITS_H

#include "model/model.h"

/* Predictive mean and variance of responses first .. first + count - 1 (caller's numbering), N*
 * x count, original units; either matrix may be kn_mat_none(). NaN for responses that are not in
 * the model. Can be cancelled. */
kn_status kn_model_maps_block(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                              kn_mat mean, kn_mat variance);

/* Position among the responses in use of the first one whose number is j or larger; O(ln T). */
ptrdiff_t kn_kept_from(const kn_scaling *s, ptrdiff_t j);

#endif
