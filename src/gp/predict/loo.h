/* Leave-one-out prediction of the training participants in closed form [METHOD 5]. Basis, scaling
 * and hyperparameters stay those of the full fit, so the result is optimistic for new participants;
 * the reference uses cross-validation (gp/cv/cv.h) instead. */
#ifndef KN_GP_PREDICT_LOO_H
#define KN_GP_PREDICT_LOO_H

#include "base/memory/plan.h"
#include "gp/predict/gp_maps.h"

/* What is held out at a time: one participant, or its whole group. */
typedef enum kn_loo_unit { KN_LEAVE_ROW, KN_LEAVE_GROUP } kn_loo_unit;

/* Predicts the components of each training participant from the others [METHOD 5]. Z N x P
 * coordinates of the training responses; mean, variance N x P, standardised:
 *     k_ip = sum_n U_in^2/k_np     q = U (A./k)     mean = z - q/k     variance = 1/k - d + c iso
 * With KN_LEAVE_GROUP the whole group of a participant is held out, and variance is that of a new
 * group, without its noise d (1 + gamma). clamped: see kn_clamp_nonnegative. */
kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_loo_unit leave, kn_mat Z, kn_mat mean,
                        kn_mat variance, double *clamped);

/* Computes leave-one-out maps *out of all N training participants by kn_method.loo. Y (N x T) is
 * borrowed and must outlive `out`, which the caller frees with kn_gp_maps_clear. */
kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Implements kn_method.loo for a method with components: closed-form leave-one-out of the latent
 * form; holds out whole groups. Collective. */
kn_status kn_components_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Reduces leave-one-out maps of all participants to the n rows listed in `sample`. Fails with
 * KN_ERR_ARGUMENT for methods without components and for maps of folds. */
kn_status kn_gp_maps_select(kn_ctx *ctx, kn_gp_maps *maps, const ptrdiff_t *sample, ptrdiff_t n);

/* Predicts in plan r the memory of kn_components_loo, coordinates Z included: only the peak
 * rises. */
void kn_latent_loo_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
