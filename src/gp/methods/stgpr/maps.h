/* Maps of STGPR, for its row of the methods                                     [METHOD 5, 5b, 7]
 *
 * A cell costs an eigenproblem whatever the number of its responses, and blocks cut across cells.
 * So maps are made for a panel of many responses at once, as wide as memory allows, and blocks are
 * read from it. Each thread makes a cell of the panel by itself; a rank's panels have its own
 * responses only. */
#ifndef KN_GP_METHODS_STGPR_MAPS_H
#define KN_GP_METHODS_STGPR_MAPS_H

#include "base/memory/plan.h"
#include "gp/method.h"

kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *who,
                           kn_gp_maps *out);
kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Collective where cells are missing. */
kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);
kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var);

/* STGPR decomposes each cell anew for every prediction, and this number of samples fills a panel.
 */
ptrdiff_t kn_stgpr_batch(const kn_gp *gp);

/* For kn_method.need: maps that are made of n samples panel by panel, which the first block of one
 * leaves. */
void kn_stgpr_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
void kn_stgpr_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);

#endif
