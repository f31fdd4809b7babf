/* Maps of new people, some of them in groups of training. */
#ifndef KN_WORK_PREDICTIONS_H
#define KN_WORK_PREDICTIONS_H

#include "model/model.h"

/* As kn_maps_predict; group[i] is the group of training that person i belongs to, -1: a new one. */
kn_status kn_maps_predict_groups(kn_ctx *ctx, const kn_model *model, kn_view X,
                                 const ptrdiff_t *group, kn_maps **maps);

/* What a model variance without holding, and for a new group, would have more, summed over
 * responses: extra (n) of people whose covariates were held or who are in a known group, 0 of the
 * others. maps: theirs, from kn_maps_predict_groups. */
kn_status kn_maps_beyond(kn_ctx *ctx, const kn_model *model, kn_view X, const kn_maps *maps,
                         const int *held, double *extra);

#endif
