/* Predicts maps of new participants who may belong to a known group of repeated measures or be at
 * an unknown site. The public kn_maps_predict is the case without either. */
#ifndef KN_COMMANDS_COMMON_MAPS_API_H
#define KN_COMMANDS_COMMON_MAPS_API_H

#include "model/model.h"

/* Relation of the n participants to the training sample. */
typedef struct kn_predict_context {
    const ptrdiff_t *group;   /* n: group in the training sample, -1: new; NULL: all new */
    const bool *without_site; /* n: predict without site effect; NULL: never */
} kn_predict_context;

/* Like kn_maps_predict(), for participants of known groups or at no training site. X: n x
 * covariates, original units; the arrays of `known` are borrowed during the call. *maps is owned by
 * the caller (kn_maps_free). KN_ERR_SHAPE if X has another number of columns than the model. */
kn_status kn_maps_predict_known(kn_ctx *ctx, const kn_model *model, kn_view X,
                                kn_predict_context known, kn_maps **maps);

#endif
