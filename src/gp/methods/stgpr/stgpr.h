/* STGPR, single-task Gaussian process regression: each response has its own process [METHOD 7].
 * Defines the method's table entry. */
#ifndef KN_GP_METHODS_STGPR_STGPR_H
#define KN_GP_METHODS_STGPR_STGPR_H

#include "gp/method.h"
#include "gp/methods/stgpr/cells.h"

/* gp->own is a kn_stgpr. The fit distributes responses over MPI ranks. Collective. */
extern const kn_method kn_method_stgpr;

kn_status kn_stgpr_own(kn_ctx *ctx, kn_gp *gp); /* allocates an empty kn_stgpr */

#endif
