/* Maps of new people, some of them in groups of training. */
#ifndef KN_WORK_PREDICTIONS_H
#define KN_WORK_PREDICTIONS_H

#include "model/model.h"

/* How people stand to the training, n each or NULL. */
typedef struct kn_known_of {
    const ptrdiff_t *group; /* of training, -1: a new one; NULL: all are in new ones */
    const bool *alone;      /* as if they were of no batch; NULL: nobody */
} kn_known_of;

/* As kn_maps_predict. */
kn_status kn_maps_predict_known(kn_ctx *ctx, const kn_model *model, kn_view X, kn_known_of known,
                                kn_maps **maps);

/* What a model variance without holding, and for a new group, would have more, summed over
 * responses: extra (n) of people whose covariates were held or who are in a known group, 0 of the
 * others. maps: theirs, from kn_maps_predict_known. */
kn_status kn_maps_beyond(kn_ctx *ctx, const kn_model *model, kn_view X, const kn_maps *maps,
                         const int *held, const bool *alone, double *extra);

#endif
