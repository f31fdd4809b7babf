/* Reduces the cells that were tried to few cells that suit all responses [METHOD 7]. */
#ifndef KN_GP_METHODS_STGPR_MERGE_CELLS_H
#define KN_GP_METHODS_STGPR_MERGE_CELLS_H

#include "gp/methods/stgpr/lattice.h"

/* Sets s->cell of the lattice's responses and appends the cells in use to s->cells. Greedy: takes
 * the cell that suits most of the remaining responses, on ties the one created first, until every
 * response has a cell. Collective. */
kn_status kn_cells_merge(kn_ctx *ctx, const kn_lattice *l, kn_stgpr *s);

void kn_cells_merge_need(kn_mem_plan *r); /* temporary */

#endif
