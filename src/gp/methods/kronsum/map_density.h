/* Joint density of a whole map under MT-Kronsum [METHOD 1g, 8j]. */
#ifndef KN_GP_METHODS_KRONSUM_MAP_DENSITY_H
#define KN_GP_METHODS_KRONSUM_MAP_DENSITY_H

#include "gp/predict/map_density.h"

/* Implements kn_method.law: V = I, W = Q^-T, log_det = ln|S| with S = QQ' of the part; a = e W, v
 * the variance of each component, d = 1 + tau, in a known group 1. */
kn_status kn_kronsum_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                 kn_map_density *out);
/* Implements kn_method.law_block: rows of the identity, scale 1. */
kn_status kn_kronsum_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                       ptrdiff_t first, kn_mat y, kn_mat V, double *scale);

#endif
