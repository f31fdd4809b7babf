/* Joint density of a map for methods with components: V = B, and one variance outside the basis.
 * Variances and basis are those of the model or, for a part that is a fold, of the fold.
 *
 *     structured   d_p (1 + gamma_p), of known groups d_p; outside v_0 = 0, d_0 = s2
 *     iso          s2 everywhere, R's iso term is in v; outside v_0 = 0, or c0 R if there is a
 *                  complement component                                    [METHOD 1b, 1c, 8j]
 *     scale = psi^1/2 of whitened responses                                        [METHOD 1f] */
#ifndef KN_GP_PREDICT_MAP_DENSITY_COMPONENTS_H
#define KN_GP_PREDICT_MAP_DENSITY_COMPONENTS_H

#include "gp/predict/map_density.h"

/* Implements kn_method.law for one part of the maps. Fails with KN_ERR_ARGUMENT if the part keeps
 * maps of the responses instead of components (kn_fold_prediction.direct). */
kn_status kn_components_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                    kn_map_density *out);
/* Implements kn_method.law_block: V count x K and scale count of the responses from `first` on. y N
 * x count is the block of maps->Y, or kn_mat_none(). */
kn_status kn_components_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                          ptrdiff_t first, kn_mat y, kn_mat V, double *scale);

#endif
