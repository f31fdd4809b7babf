/* Maps of new people, some of them in groups of training. */
#ifndef KN_WORK_PREDICTIONS_H
#define KN_WORK_PREDICTIONS_H

#include "model/model.h"

/* As kn_maps_predict; group[i] is the group of training that person i belongs to, -1: a new one. */
kn_status kn_maps_predict_groups(kn_ctx *ctx, const kn_model *model, kn_view X,
                                 const ptrdiff_t *group, kn_maps **maps);

#endif
