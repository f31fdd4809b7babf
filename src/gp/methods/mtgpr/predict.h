/* Leave-one-out, joint density and covariance of MTGPR; mean and variance are those of all methods
 * with components [METHOD 1h]. */
#ifndef KN_GP_METHODS_MTGPR_PREDICT_H
#define KN_GP_METHODS_MTGPR_PREDICT_H

#include "gp/method.h"

/* Computes the Cholesky factor L of B'B, B T x k; *L is owned by the caller. */
kn_status kn_mtgpr_factor(kn_ctx *ctx, kn_mat B, kn_mat *L);

/* Implement kn_method.loo, law, law_block and covariance [gp/predict/map_density.h]. */
kn_status kn_mtgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* K = k, d = 1, outside V v0 + 1, W = L^-1; L is that of the part. */
kn_status kn_mtgpr_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out);
kn_status kn_mtgpr_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                                     kn_mat y, kn_mat V, double *scale);
/* As kn_gp_covariance. */
kn_status kn_mtgpr_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                              kn_mat model, kn_mat noise);
void kn_mtgpr_say(const kn_gp *gp, char *line, size_t size); /* ranks and noise, in words */

#endif
