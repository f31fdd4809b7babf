/* Few cells that suit all responses, from those that were tried                     [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_MERGE_CELLS_H
#define KN_GP_METHODS_STGPR_MERGE_CELLS_H

#include "gp/methods/stgpr/lattice.h"

/* The cell of each of the lattice's responses, and the cells in use behind those that the model
 * has: the one that suits most of the responses left, again and again; of equals that which was
 * asked for first. Collective. */
kn_status kn_cells_merge(kn_ctx *ctx, const kn_lattice *l, kn_stgpr *s);

void kn_cells_merge_need(kn_mem_plan *r); /* passes */

#endif
