/* Predictive mean and model variance of new participants [METHOD 4], first of the components, then
 * as maps (gp_maps.h) of the responses. Scoring, adaptation and centiles begin here. */
#ifndef KN_GP_PREDICT_PREDICT_H
#define KN_GP_PREDICT_PREDICT_H

#include "base/memory/plan.h"
#include "gp/predict/gp_maps.h"

/* Predicts the components of N* new participants: mean and variance (N* x P), variance without
 * noise. In a known group the mean includes the posterior mean of the group's noise, and the
 * variance its posterior variance. clamped: see kn_clamp_nonnegative. 2 N* N (m + 2P) flops,
 * 1024 participants at a time. */
kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *input,
                            kn_mat mean, kn_mat variance, double *clamped);

/* Outputs of kn_latent_predict_all. RU N* x kept, or none: the columns of R0* U that
 * kn_complement_keeps selects; the mean of the complement component is computed from them. */
typedef struct kn_latent_prediction {
    kn_mat mean, variance, RU;
} kn_latent_prediction;
/* Predicts like kn_latent_predict into to->mean and variance and, unless it is none, writes
 * to->RU (N* x directions kept), the kept columns of R0* U. */
kn_status kn_latent_predict_all(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *input,
                                const kn_latent_prediction *to, double *clamped);

/* Measures how far new participants Xs (N* x F) are from the training sample, for models without
 * components: extrapolation (N*) is the model variance of a process with as much noise as
 * signal, R0** - (R0* U).^2 (1 ./ (r + 1)). */
kn_status kn_latent_extrapolation(kn_ctx *ctx, const kn_latent *l, kn_mat Xs,
                                  double *extrapolation);

/* Predicts the maps *out of new participants by kn_method.predict. gp is borrowed and must
 * outlive `out`, which the caller frees with kn_gp_maps_clear. */
kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                        kn_gp_maps *out);

/* Implements kn_method.predict for methods with components: latent mean and variance of new
 * participants; also extrapolation if P = 0, and which are in known groups. */
kn_status kn_components_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                                kn_gp_maps *out);

/* Predicts in plan r the memory of kn_latent_predict for n new participants and a model of s->N:
 * only the peak rises. */
void kn_latent_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
