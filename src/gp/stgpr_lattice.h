/* The (rho, length) of each response: a lattice shared by all of them               [METHOD 7] */
#ifndef KN_GP_STGPR_LATTICE_H
#define KN_GP_STGPR_LATTICE_H

#include "base/rehearse.h"
#include "gp/journal.h"
#include "gp/stgpr_cells.h"

/* The cell of each response, on entry with Y in alpha. */
typedef struct kn_cell_search {
    kn_limits limits;
    double rho, length; /* one more cell, NaN: none; the only one when nothing is optimised */
    bool optimise;
    kn_journal *journal; /* NULL: none */
    int evals;           /* decompositions */
    kn_stop stop;
} kn_cell_search;
kn_status kn_cells_choose(kn_ctx *ctx, const kn_pairs *pairs, const kn_cov *cov, kn_cell_search *o,
                          kn_stgpr *s);

void kn_cells_choose_need(kn_rehearsal *r, const kn_need_shape *s); /* passes */

#endif
