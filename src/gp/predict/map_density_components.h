/* The law of a whole map of a model with components: V = B, what is outside has one variance
 *
 *     structured   d_p (1 + gamma_p), of known groups d_p; outside v_0 = 0, d_0 = s2
 *     iso          s2 everywhere, R's iso term is in v; outside v_0 = 0, or c0 R where one more
 *                  component stands for it                                 [METHOD 1b, 1c, 8j]
 *     scale = psi^1/2 of whitened responses                                         [METHOD 1f]
 *
 * of the model, or of the fold that a part is. */
#ifndef KN_GP_PREDICT_MAP_DENSITY_COMPONENTS_H
#define KN_GP_PREDICT_MAP_DENSITY_COMPONENTS_H

#include "gp/predict/map_density.h"

/* For kn_method.law and kn_method.law_block. */
kn_status kn_components_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                    kn_map_density *out);
kn_status kn_components_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                          ptrdiff_t first, kn_mat y, kn_mat V, double *scale);

#endif
