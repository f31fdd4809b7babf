/* STGPR: each response a Gaussian process of its own; its row of the methods         [METHOD 7] */
#ifndef KN_GP_STGPR_H
#define KN_GP_STGPR_H

#include "gp/method.h"
#include "gp/stgpr_cells.h"

extern const kn_method kn_method_stgpr; /* gp->own is a kn_stgpr */

kn_status kn_stgpr_own(kn_ctx *ctx, kn_gp *gp); /* an empty one */

/* c, delta, d, lml (unless held) and alpha in its cell for each response, and with groups what they
 * have in common; alpha holds Y before. */
kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_cell_samples *samples, bool held, kn_stgpr *s,
                          int *evals);

#endif
