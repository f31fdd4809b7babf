/* Maps of STGPR [METHOD 5, 5b, 7]. A cell costs one eigenproblem however many responses it has, and
 * blocks cut across cells. Maps are therefore computed for a panel of many responses at once, as
 * wide as PANEL_BYTES allows, and blocks are copied from it. Each thread computes one cell of the
 * panel at a time; panels of an MPI rank have its own responses only. */
#ifndef KN_GP_METHODS_STGPR_MAPS_H
#define KN_GP_METHODS_STGPR_MAPS_H

#include "base/memory/plan.h"
#include "gp/method.h"

/* Implements kn_method.predict; copies who->X. Panels are computed when blocks are requested. */
kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *who,
                           kn_gp_maps *out);
/* Implements kn_method.loo; Y is borrowed. */
kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Implements kn_method.cv. Collective if responses have missing cells. */
kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);
/* Implements kn_method.block; computes the panel if the block is not in the current one. */
kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var);

/* Implements kn_method.batch: the number of participants that fills a panel, because each cell is
 * decomposed again for every prediction. */
ptrdiff_t kn_stgpr_batch(const kn_gp *gp);

/* Implement kn_method.need: maps of n participants, and the panel that the first block computes and
 * keeps. */
void kn_stgpr_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
/* The panel stays in the plan after the first block. */
void kn_stgpr_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);

#endif
