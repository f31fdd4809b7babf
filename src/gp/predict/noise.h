/* Noise variance of each response                                                   [METHOD 1d]
 *
 *     noise_j = max( mean_i(e_ij^2 - v_ij), 0.5 mean_i e_ij^2 )
 *
 * e, v: residual, after the slope, and model variance of those held out. The floor binds where the
 * model variance is half of all. Where no participant is held out, the noise is (B.^2 d + psi)_j,
 * psi_j = |y_j - (ZB')_j|^2 / N, and with groups d (1 + gamma) for d: everything here is noise of a
 * new group. Where the fit itself says it (kn_method.known_noise) there is nothing to do. */
#ifndef KN_GP_PREDICT_NOISE_H
#define KN_GP_PREDICT_NOISE_H

#include "base/memory/plan.h"
#include "gp/block_visitor.h"
#include "gp/predict/noise_leave_one_out.h"
#include "gp/predict/prediction_blocks.h"

/* gp->noise from the cross-validated maps, or in-sample when cv is NULL: a walk of its own.
 * Collective. */
kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv);

/* The same as a visitor, for a walk over the cross-validated maps that does more: it sets the noise
 * of a block before the visitors after it see the block, and leaves it to its caller to make it
 * known to the other ranks. kn_noise_builder_new: collective. */
typedef struct kn_noise_builder kn_noise_builder;
kn_status kn_noise_builder_new(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                               kn_noise_builder **out);
void kn_noise_builder_free(kn_noise_builder *m);

/* Of members of a known group, whose share of it is in the model variance. Of components, for
 * kn_method.group_noise, noise (T) is max(noise_j - sum_p B_jp^2 d_p gamma_p, 0.5 noise_j). */
void kn_noise_known_group(const kn_gp *gp, double *noise);
void kn_components_group_noise(const kn_gp *gp, double *noise);
double kn_components_group_share(const kn_gp *gp); /* of the components' noise */

kn_visitor kn_noise_visitor(kn_noise_builder *m);

/* noise (n): of response j of the block that the visitor has just seen, as others than each person
 * say; e, v, work as for kn_noise_leave_one_out. */
void kn_noise_of_others(const kn_noise_builder *m, const kn_block *b, ptrdiff_t j,
                        const kn_exclusion_groups *apart, kn_heldout_residuals of, double *work,
                        double *noise);

/* For a walk over n of s->N samples, where the fit does not say the noise itself. */
void kn_noise_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
