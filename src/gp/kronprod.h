/* MT-Kronprod                                                                      [METHOD 1c] */
#ifndef KN_GP_KRONPROD_H
#define KN_GP_KRONPROD_H

#include "gp/gp.h"

kn_status kn_kronprod_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                          const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

#endif
