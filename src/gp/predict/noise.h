/* Noise variance of each response, in standardised units [METHOD 1d].
 *
 *     noise_j = max( mean_i(e_ij^2 - v_ij), 0.5 mean_i e_ij^2 )
 *
 * e and v are residual (after the slope) and model variance of held-out participants. The floor
 * applies if the model variance exceeds half of the mean squared residual. Without held-out
 * participants the noise is (B.^2 d + psi)_j with psi_j = |y_j - (ZB')_j|^2 / N, and with groups d
 * (1 + gamma) in place of d. All of it is noise of a new group. If the fit determines the noise
 * itself (kn_method.known_noise), nothing is computed here. */
#ifndef KN_GP_PREDICT_NOISE_H
#define KN_GP_PREDICT_NOISE_H

#include "base/memory/plan.h"
#include "gp/block_visitor.h"
#include "gp/predict/noise_leave_one_out.h"
#include "gp/predict/prediction_blocks.h"

/* Sets gp->noise (T) by a block loop over the cross-validated maps or, if cv is NULL, in-sample. Y
 * N x T: training responses. Collective. */
kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv);

/* The same as a visitor, for a block loop that has further visitors: it sets the noise of a block
 * before they see the block. The caller must gather gp->noise over the MPI ranks afterwards. gp, Y
 * and cv are borrowed. kn_noise_builder_new: collective. */
typedef struct kn_noise_builder kn_noise_builder;
kn_status kn_noise_builder_new(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                               kn_noise_builder **out);
/* Frees the builder; NULL is allowed. */
void kn_noise_builder_free(kn_noise_builder *m);

/* Computes noise (T) of members of a known group; the group's share of the noise is then in the
 * model variance. Calls kn_method.group_noise. */
void kn_noise_known_group(const kn_gp *gp, double *noise);
/* Implements kn_method.group_noise for methods with components: max(noise_j - sum_p B_jp^2 d_p
 * gamma_p, 0.5 noise_j). */
void kn_components_group_noise(const kn_gp *gp, double *noise);
/* Implements kn_method.group_share: share of group noise in the noise of all components. */
double kn_components_group_share(const kn_gp *gp);

/* Returns the visitor of a builder. It needs y, and with cv mean and variance of the block. */
kn_visitor kn_noise_visitor(kn_noise_builder *m);

/* Computes the leave-one-out noise variance of response j of the current block for each of its n
 * participants. `of`, `work`: see kn_noise_leave_one_out; of.known is set here. */
void kn_noise_of_others(const kn_noise_builder *m, const kn_block *b, ptrdiff_t j,
                        const kn_exclusion_groups *apart, kn_heldout_residuals of, double *work,
                        double *noise);

/* Memory plan of a block loop over n of s->N participants; nothing if the fit determines the noise.
 */
void kn_noise_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
