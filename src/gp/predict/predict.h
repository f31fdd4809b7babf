/* Mean and variance of new samples                                                   [METHOD 4] */
#ifndef KN_GP_PREDICT_PREDICT_H
#define KN_GP_PREDICT_PREDICT_H

#include "base/memory/plan.h"
#include "gp/predict/prediction_blocks.h"

/* mean, variance N* x P of the components, variance without noise. In a known group the mean holds
 * what the group's noise is known to be, and the variance what is not known of it. clamped: see
 * kn_clamp_nonnegative. 2 N* N (m + 2P) flops, 1024 samples at a time. */
kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *who,
                            kn_mat mean, kn_mat variance, double *clamped);

/* The same, and in `RU` (N* x kept, or none) what a complement with a mean is told by: the columns
 * of R0* U that kn_complement_keeps. */
typedef struct kn_latent_prediction {
    kn_mat mean, variance, RU;
} kn_latent_prediction;
kn_status kn_latent_predict_all(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *who,
                                const kn_latent_prediction *to, double *clamped);

/* How far new samples are from training by covariates alone, where there are no components to tell:
 * the model variance of a process with as much noise as signal, R0** - (R0* U).^2 (1 ./ (r + 1)).
 */
kn_status kn_latent_far(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, double *far);

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *who, kn_gp_maps *out);

/* For kn_method.predict of a method with components. */
kn_status kn_components_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *who,
                                kn_gp_maps *out);

/* n new samples by a model of s->N; passes. */
void kn_latent_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
