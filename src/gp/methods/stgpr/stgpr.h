/* STGPR: each response a Gaussian process of its own; its row of the methods         [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_STGPR_H
#define KN_GP_METHODS_STGPR_STGPR_H

#include "gp/method.h"
#include "gp/methods/stgpr/cells.h"

/* gp->own is a kn_stgpr. Its fit deals responses to ranks. Collective. */
extern const kn_method kn_method_stgpr;

kn_status kn_stgpr_own(kn_ctx *ctx, kn_gp *gp); /* an empty one */

#endif
