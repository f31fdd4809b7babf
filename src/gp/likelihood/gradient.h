/* Gradient of the likelihood with respect to the parameters of R0 [METHOD 3] */
#ifndef KN_GP_LIKELIHOOD_GRADIENT_H
#define KN_GP_LIKELIHOOD_GRADIENT_H

#include "gp/likelihood/engine.h"

/* Computes g0 = dLML/dtheta (n_theta of e->cov) at the last evaluated point, for dense and
 * low-rank engines. Overwrites e->M and e->w. 3 N^2 P + N^3 flops per cell if dense. */
kn_status kn_gradient_r0(kn_ctx *ctx, kn_engine *e, double *g0);

#endif
