#ifndef KN_MODEL_UNITS_H
#define KN_MODEL_UNITS_H

#include "model/model.h"

kn_status kn_model_maps_block(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                              kn_mat mean, kn_mat variance);

/* Position among the kept responses of the first one numbered j or more. */
ptrdiff_t kn_kept_from(const kn_scaling *s, ptrdiff_t j);

#endif
