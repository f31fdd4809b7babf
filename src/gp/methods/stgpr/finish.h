/* What is kept of each response in its cell                                         [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_FINISH_H
#define KN_GP_METHODS_STGPR_FINISH_H

#include "gp/methods/stgpr/cells.h"

/* c, delta, d, lml (unless held) and alpha in its cell for each response, and with groups what they
 * have in common; alpha holds Y before. Of
 * this rank's own, where samples have a Y, else of all. */
kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_cell_samples *samples, bool held, kn_stgpr *s,
                          int *evals);

#endif
