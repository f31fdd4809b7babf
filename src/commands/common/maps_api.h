/* Maps of new people, some of them in groups of training. */
#ifndef KN_COMMANDS_COMMON_MAPS_API_H
#define KN_COMMANDS_COMMON_MAPS_API_H

#include "model/model.h"

/* How people stand to the training, n each or NULL. */
typedef struct kn_predict_context {
    const ptrdiff_t *group; /* of training, -1: a new one; NULL: all are in new ones */
    const bool *alone;      /* as if they were of no batch; NULL: nobody */
} kn_predict_context;

/* As kn_maps_predict. */
kn_status kn_maps_predict_known(kn_ctx *ctx, const kn_model *model, kn_view X,
                                kn_predict_context known, kn_maps **maps);

#endif
