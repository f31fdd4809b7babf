/* Slope per response, by which predictions are shrunk, from held-out residuals [METHOD 1d].
 *
 *     m_ij the held-out mean, d_ij the response, both about the fold's own mean
 *     slope   = sum_ij m d / sum_ij m^2, within [0, 1]
 *     slope_j = (sum_i m d + kappa slope) / (sum_i m^2 + kappa), within [0, 1.2]
 *     kappa   = 20 mean_j sum_i m^2
 *
 * Responses differ in how much their means are overfitted, but one response alone estimates its
 * slope poorly: each is shrunk to the common slope with the weight of twenty responses. slope_j is
 * 1 if nothing is predicted. */
#ifndef KN_GP_PREDICT_SLOPE_H
#define KN_GP_PREDICT_SLOPE_H

#include "base/memory/plan.h"
#include "gp/predict/gp_maps.h"

/* Sets gp->slope (T, owned), the shrinkage factors, by a block loop over the means of
 * cross-validated maps that were made without a slope. Collective. */
kn_status kn_gp_set_slope(kn_ctx *ctx, kn_gp *gp, const kn_gp_maps *cv);

/* Computes slope (T), the factor by which the predictions of each response are shrunk, from the
 * sums over participants of m d and m^2 (T each): the regression slope md/mm, drawn to that of
 * all responses with the weight of WEIGHT mean m^2, limited to 0 .. 1.2. */
void kn_slopes(ptrdiff_t T, const double *md, const double *mm, double *slope);

/* Predicts in plan r the memory of kn_gp_set_slope with n held-out participants: the slopes stay
 * in the plan, the block loop only raises the peak. */
void kn_slope_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
