/* Predictive mean and variance for new samples                                  [METHOD 1b, 4] */
#ifndef KN_GP_PREDICT_H
#define KN_GP_PREDICT_H

#include "base/rehearse.h"
#include "gp/maps.h"

/* For new samples Xs (N* x F), N* x P each:                                    [METHOD 1b, 4]
 *     mean = (R0* U)(A c/(c r + d))     variance = c (R0** + iso) - c^2 (R0* U).^2 (1/(c r + d))
 * 2 N* N (N + 2P) flops. A variance below zero is rounding: it becomes 0 and the largest such
 * step, relative to the prior variance, is left in *clamped. */
kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, kn_mat mean,
                            kn_mat variance, double *clamped);

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out);
/* For kn_method.predict of a method with components. */
kn_status kn_components_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out);

/* Passes: the latent predictions of n samples by a model of s->N. */
void kn_latent_predict_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n);

#endif
