/* STGPR with all hyperparameters free for each response (`--plain`) [METHOD 7]. Slow; a reference
 * for the cells. */
#ifndef KN_GP_METHODS_STGPR_PER_RESPONSE_H
#define KN_GP_METHODS_STGPR_PER_RESPONSE_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"
#include "gp/search/search.h"

/* Fits each response of Y (N x T) alone; theta of a response = [R0's, noise]. theta T x n: start if
 * start_given, on return the optimum. bounded: keep lengths in the box of the search. lml T, grad T
 * x n. One MPI rank. */
kn_status kn_plain_fit(kn_ctx *ctx, kn_pairs *pairs, const kn_cov *cov, kn_mat Y,
                       const kn_search_options *o, bool bounded, kn_mat theta, bool start_given,
                       double *lml, kn_mat grad, kn_search_result *found);
/* Sets cells, cell, c, delta and d from theta (T x n). */
kn_status kn_plain_cells(kn_ctx *ctx, const kn_cov *cov, kn_mat theta, kn_stgpr *s);

void kn_plain_need(kn_mem_plan *r, const kn_problem_size *s); /* temporary; includes pairs */

#endif
