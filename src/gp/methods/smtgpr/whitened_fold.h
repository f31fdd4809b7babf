/* Cross-validation with whitened noise: a fold estimates psi, B, c, d, c0, d0 from its training
 * rows; R0 is fixed [METHOD 5b, 1f].
 *
 *     mean = mu + L (B Psi^1/2)' + smooth (Y_tr - 1 mu')     smooth = RU diag(c0/(c0 r + d0)) U'
 *     L = mean_lat - smooth Z
 *
 * smooth (h x n) serves all responses, so that a fold need not keep D0. A fold that imputes its
 * training rows keeps D0, because the maps do not have the imputed responses. */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_FOLD_H
#define KN_GP_METHODS_SMTGPR_WHITENED_FOLD_H

#include "gp/cv/refit.h"

/* Fits and predicts one fold, for kn_refit_cv. */
kn_status kn_whitened_fold(kn_ctx *ctx, const kn_refit *f, kn_fold_prediction *part,
                           double *clamped);
/* Implements kn_method.cv. */
kn_status kn_whitened_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                         kn_gp_maps *out);
/* Memory plan of kn_whitened_cv: keeps the parts of all folds. */
void kn_whitened_cv_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
