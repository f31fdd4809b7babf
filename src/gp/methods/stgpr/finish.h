/* Final parameters of each response in its cell, after the search [METHOD 7]. */
#ifndef KN_GP_METHODS_STGPR_FINISH_H
#define KN_GP_METHODS_STGPR_FINISH_H

#include "gp/methods/stgpr/cells.h"

/* Computes c, delta, d, lml (unless `held`: then they are fixed) and alpha of each response in its
 * cell, and with groups the effects. On entry alpha holds Y. Processes the responses of this MPI
 * rank if samples->Y is set, else all. *evals is increased by the number of cells. */
kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_cell_samples *samples, bool held, kn_stgpr *s,
                          int *evals);

#endif
