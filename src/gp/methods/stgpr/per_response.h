/* STGPR one response at a time, all parameters free                                 [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_PER_RESPONSE_H
#define KN_GP_METHODS_STGPR_PER_RESPONSE_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"
#include "gp/search/search.h"

/* Each response alone: theta = [R0's, noise]. theta T x n: start of each response, or NULL; on
 * return what was found. lml T, grad T x n. */
kn_status kn_plain_fit(kn_ctx *ctx, kn_pairs *pairs, const kn_cov *cov, kn_mat Y,
                       const kn_search_options *o, bool bounded, kn_mat theta, bool start_given,
                       double *lml, kn_mat grad, kn_search_result *found);
/* cells, cell, c, delta, d from theta (T x n). */
kn_status kn_plain_cells(kn_ctx *ctx, const kn_cov *cov, kn_mat theta, kn_stgpr *s);

void kn_plain_need(kn_mem_plan *r, const kn_problem_size *s); /* passes; pairs of its own too */

#endif
