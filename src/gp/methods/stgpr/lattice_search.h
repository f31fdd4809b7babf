/* Search for the cell of each response on a lattice of (rho, length) shared by all responses
 * [METHOD 7]. */
#ifndef KN_GP_METHODS_STGPR_LATTICE_SEARCH_H
#define KN_GP_METHODS_STGPR_LATTICE_SEARCH_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"
#include "gp/optimise/optimise.h"

typedef struct kn_cell_search {
    kn_cov_family family; /* R0 as a function of rho and length */
    kn_limits limits;
    double rho, length; /* one more cell, NaN: none; the only cell if optimise is false */
    bool optimise;
    int evals;    /* number of decompositions */
    kn_stop stop; /* KN_STOP_CONVERGED before the first search */
} kn_cell_search;

/* Responses with the same gamma. */
typedef struct kn_cell_class {
    const ptrdiff_t *J; /* n responses of this MPI rank, ascending */
    ptrdiff_t n;
    double gamma;
} kn_cell_class;

/* Chooses the cells of these responses and appends them to s->cells, equal on all MPI ranks; sets
 * s->cell. On entry s->alpha holds Y. Collective. */
kn_status kn_cells_choose(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                          kn_cell_search *o, kn_stgpr *s);

void kn_cells_choose_need(kn_mem_plan *r, const kn_problem_size *s); /* temporary */

#endif
