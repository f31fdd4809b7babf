/* What MTGPR says besides mean and variance                                          [METHOD 1h] */
#ifndef KN_GP_METHODS_MTGPR_PREDICT_H
#define KN_GP_METHODS_MTGPR_PREDICT_H

#include "gp/method.h"

/* L of loadings B (T x k). */
kn_status kn_mtgpr_factor(kn_ctx *ctx, kn_mat B, kn_mat *L);

/* For the row: leave-one-out, the law of a map [law.h], covariances of one person. */
kn_status kn_mtgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
kn_status kn_mtgpr_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out);
kn_status kn_mtgpr_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                                     kn_mat y, kn_mat V, double *scale);
kn_status kn_mtgpr_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                              kn_mat model, kn_mat noise);
void kn_mtgpr_say(const kn_gp *gp, char *line, size_t size); /* ranks, and whose noise */

#endif
