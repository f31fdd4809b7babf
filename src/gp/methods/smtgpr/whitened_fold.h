/* Whitened noise held out: psi, B, c, d, c0, d0 of a fold are its own, R0 is held   [METHOD 5b, 1f]
 *
 *     mean = mu + L (B Psi^1/2)' + smooth (Y_tr - 1 mu')     smooth = RU diag(c0/(c0 r + d0)) U'
 *     L = mean_lat - smooth Z
 *
 * smooth is h x n for all responses: a fold keeps nothing of the size of D0, unless what was
 * missing is filled in by the fold itself, whose responses the maps do not have; then it keeps its
 * D0. */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_FOLD_H
#define KN_GP_METHODS_SMTGPR_WHITENED_FOLD_H

#include "gp/cv/refit.h"

/* For kn_refit_cv, and for kn_method.cv. */
kn_status kn_whitened_fold(kn_ctx *ctx, const kn_refit *f, kn_fold_prediction *part,
                           double *clamped);
kn_status kn_whitened_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                         kn_gp_maps *out);
void kn_whitened_cv_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
