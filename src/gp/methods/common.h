/* Steps shared by the fits of several methods: search, record of the result, cross-validation. */
#ifndef KN_GP_METHODS_COMMON_H
#define KN_GP_METHODS_COMMON_H

#include "gp/cv/cv.h"

/* Searches the hyperparameters for the coordinates of `basis`. On return the engine *e is at the
 * optimum; the caller clears it. Collective. */
kn_status kn_fit_search(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                        kn_search_result *found);

/* Evaluates once at found->at, an R0 that is already known; resets the counters of *found.
 * Collective. */
kn_status kn_fit_at(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                    kn_search_result *found);

/* Builds the fitted components from the engine at its current point. *X and parts of *e are moved.
 */
kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

/* Records the result of a search in *info. */
void kn_fit_record(const kn_gp *gp, const kn_search_result *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info);

/* Computes the cross-validated maps into options->cv if requested, from p->gram or from p->held,
 * whose basis is moved. Without folds, or if the fit was cancelled, does nothing; a cancellation
 * here sets info->stop if the caller keeps the best point, else returns KN_ERR_CANCELLED.
 * Collective. */
kn_status kn_fit_cv(kn_ctx *ctx, const kn_gp *gp, kn_fit_problem *p, kn_fit_info *info);

#endif
