/* The gradient of a likelihood by the parameters of R0                          [METHOD 3]
 */
#ifndef KN_GP_LIKELIHOOD_GRADIENT_H
#define KN_GP_LIKELIHOOD_GRADIENT_H

#include "gp/likelihood/engine.h"

/* dLML/dtheta of R0's parameters where the engine stands; M and w are made. */
kn_status kn_gradient_r0(kn_ctx *ctx, kn_engine *e, double *g0);

#endif
