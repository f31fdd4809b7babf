/* Leave-one-subject-out in closed form                                               [METHOD 5] */
#ifndef KN_GP_PREDICT_LOO_H
#define KN_GP_PREDICT_LOO_H

#include "base/memory/plan.h"
#include "gp/predict/prediction_blocks.h"

/* Each training sample from the others, in closed form [METHOD 5]: k_ip = sum_n U_in^2/k_np,
 * q = U (A./k), residual q/k, variance 1/k - d + c iso. mean = z - q/k, N x P each.
 * KN_LEAVE_GROUP: from the samples of other groups, the whole of its own left out; the variance is
 * that of a new group, without noise d (1 + gamma). */
typedef enum kn_loo_unit { KN_LEAVE_ROW, KN_LEAVE_GROUP } kn_loo_unit;
kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_loo_unit leave, kn_mat Z, kn_mat mean,
                        kn_mat variance, double *clamped);

kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* For kn_method.loo of a method with components. */
kn_status kn_components_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Keeps the maps of the n samples named, of leave-one-out maps of all. */
kn_status kn_gp_maps_select(kn_ctx *ctx, kn_gp_maps *maps, const ptrdiff_t *sample, ptrdiff_t n);

void kn_latent_loo_need(kn_mem_plan *r, const kn_problem_size *s); /* passes, coordinates too */

#endif
