/* Group noise gamma of each response, by maximum likelihood over a fixed list of values [METHOD 7].
 */
#ifndef KN_GP_METHODS_STGPR_GROUP_NOISE_H
#define KN_GP_METHODS_STGPR_GROUP_NOISE_H

#include "gp/methods/stgpr/lattice_search.h"

/* Sets s->gamma of the responses `mine` to the value with the largest likelihood at the point `at`
 * of R0; on ties the smallest. The responses Y are in s->alpha. Collective. */
kn_status kn_cells_gamma(kn_ctx *ctx, const kn_cell_samples *samples, kn_range mine,
                         const kn_cov_point *at, kn_cell_search *o, kn_stgpr *s);

void kn_cells_gamma_need(kn_mem_plan *r,
                         const kn_problem_size *s); /* temporary, without s->gamma */

#endif
