/* How much of what a model predicts comes true in people held out                    [METHOD 1d]
 *
 *     m_ij the held-out mean, d_ij the response, both about the fold's own mean
 *     slope   = sum_ij m d / sum_ij m^2, within [0, 1]
 *     slope_j = (sum_i m d + kappa slope) / (sum_i m^2 + kappa), within [0, 1.2]
 *     kappa   = 20 mean_j sum_i m^2
 *
 * Responses differ in how far their means were overfitted, and few of them tell it alone: each is
 * drawn to the slope of all by as much as twenty responses weigh. Where nothing is predicted it
 * is 1. A walk over the means of the cross-validated maps. */
#ifndef KN_GP_PREDICT_SLOPE_H
#define KN_GP_PREDICT_SLOPE_H

#include "base/memory/plan.h"
#include "gp/predict/prediction_blocks.h"

/* Sets gp->slope, T numbers, from maps made without it. Collective. */
kn_status kn_gp_set_slope(kn_ctx *ctx, kn_gp *gp, const kn_gp_maps *cv);

/* slope_j from sums over people of m d and m^2, T of each. */
void kn_slopes(ptrdiff_t T, const double *md, const double *mm, double *slope);

void kn_slope_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n); /* passes */

#endif
