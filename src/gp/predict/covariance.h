/* Covariance between the responses of one participant, for selected responses [METHOD 1d]. All
 * values are in standardised units. */
#ifndef KN_GP_PREDICT_COVARIANCE_H
#define KN_GP_PREDICT_COVARIANCE_H

#include "gp/gp.h"

/* Computes the predictive covariance of n responses for one new participant in a new group. x 1 x F
 * standardised covariates; J n response indices. model n x n gets B_J diag(v_lat) B_J'; noise n x n
 * gets the noise covariance, with gp->noise on its diagonal. Either may be kn_mat_none(). Calls
 * kn_method.covariance. */
kn_status kn_gp_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J, kn_mat model,
                           kn_mat noise);
/* Implements kn_method.covariance for a method with components: model = B_J diag(v_lat) B_J' and
 * noise (n x n) of the responses J for participant x (1 x F). */
kn_status kn_components_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                   kn_mat model, kn_mat noise);
/* Implements kn_method.covariance for a method with independent responses: model and noise
 * covariance (n x n) of the responses J for participant x (1 x F) are diagonal. */
kn_status kn_diagonal_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                 kn_mat model, kn_mat noise);

#endif
