/* S-MTGPR                                                                          [METHOD 1a, 1b]
 */
#ifndef KN_GP_SMTGPR_H
#define KN_GP_SMTGPR_H

#include "gp/gp.h"

/* X N x F standardised. Fills the parts of info that belong to the fit. */
kn_status kn_smtgpr_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                        const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

#endif
