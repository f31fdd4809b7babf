/* Covariance between responses of one sample                                        [METHOD 1d] */
#ifndef KN_GP_PREDICT_COVARIANCE_H
#define KN_GP_PREDICT_COVARIANCE_H

#include "gp/gp.h"

/* Covariance of the responses J for one sample: B_J diag(v_lat) B_J', and the noise's
 * [METHOD 1d]. x 1 x F. */
kn_status kn_gp_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J, kn_mat model,
                           kn_mat noise);
/* For kn_method.covariance: of a method with components, and of one whose responses are
 * independent: both diagonal. */
kn_status kn_components_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                   kn_mat model, kn_mat noise);
kn_status kn_diagonal_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                 kn_mat model, kn_mat noise);

#endif
