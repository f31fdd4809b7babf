/* The cell of each response: a lattice of (rho, length) shared by all of them       [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_LATTICE_SEARCH_H
#define KN_GP_METHODS_STGPR_LATTICE_SEARCH_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"
#include "gp/optimise/optimise.h"

typedef struct kn_cell_search {
    kn_cov_family family;
    kn_limits limits;
    double rho, length; /* one more cell, NaN: none; the only one when nothing is optimised */
    bool optimise;
    int evals;    /* decompositions */
    kn_stop stop; /* KN_STOP_CONVERGED before the first of some searches */
} kn_cell_search;

/* Responses that share a gamma. */
typedef struct kn_cell_class {
    const ptrdiff_t *J; /* n of them, ascending: this rank's own */
    ptrdiff_t n;
    double gamma;
} kn_cell_class;

/* The cells of these responses, on entry with Y in alpha; added to those that the model has, the
 * same ones on all ranks. Collective. */
kn_status kn_cells_choose(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                          kn_cell_search *o, kn_stgpr *s);

void kn_cells_choose_need(kn_mem_plan *r, const kn_problem_size *s); /* passes */

#endif
