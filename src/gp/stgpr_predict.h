/* Maps of STGPR, cell by cell                                              [METHOD 5, 5b, 7] */
#ifndef KN_GP_STGPR_PREDICT_H
#define KN_GP_STGPR_PREDICT_H

#include "gp/maps.h"

kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out);
kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, int folds,
                      const int *fold, kn_gp_maps *out);
kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                              kn_mat var);
void kn_stgpr_maps_free(struct kn_stgpr_maps *maps);

/* Samples that a prediction should have, if there are so many: STGPR decomposes each cell anew for
 * every prediction, and this number fills a panel. 1 for the other methods. */
ptrdiff_t kn_stgpr_batch(const kn_gp *gp);

#endif
