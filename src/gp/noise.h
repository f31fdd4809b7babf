/* Noise variance of each response, and how the cross-validated maps are calibrated [METHOD 1d] */
#ifndef KN_GP_NOISE_H
#define KN_GP_NOISE_H

#include "gp/maps.h"

/* gp->noise from the cross-validated maps, or in-sample when cv is NULL [METHOD 1d], and the
 * summary of the cross-validation. */
kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                          kn_cv_summary *summary);

#endif
