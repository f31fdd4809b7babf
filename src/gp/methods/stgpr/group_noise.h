/* How much noise the groups of samples share, for each response                      [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_GROUP_NOISE_H
#define KN_GP_METHODS_STGPR_GROUP_NOISE_H

#include "gp/methods/stgpr/lattice_search.h"

/* s->gamma = the likeliest of each of the `mine` at a point of R0, Y in alpha; among equals the
 * smallest. Collective. */
kn_status kn_cells_gamma(kn_ctx *ctx, const kn_cell_samples *samples, kn_range mine,
                         const kn_cov_point *at, kn_cell_search *o, kn_stgpr *s);

void kn_cells_gamma_need(kn_mem_plan *r, const kn_problem_size *s); /* passes, gamma apart */

#endif
