/* MTGPR [Bonilla 2008] and the low-rank Kronecker sum                                [METHOD 1h] */
#ifndef KN_GP_MTGPR_H
#define KN_GP_MTGPR_H

#include "gp/method.h"

extern const kn_method kn_method_mtgpr;

/* kn_gp.own: what a fold needs to know of the fit. B of the model is V S_k W, psi the noise that
 * responses are measured in. */
typedef struct kn_mtgpr {
    ptrdiff_t P, Q; /* columns of G and H */
    int evals;      /* most that the fit was allowed; -1: as many as there are */
    bool iso;       /* R has an iso term */
    kn_mat L;       /* k x k  B'B = LL'; none without H: B'B = I */
} kn_mtgpr;

/* L of loadings B (T x k). */
kn_status kn_mtgpr_factor(kn_ctx *ctx, kn_mat B, kn_mat *L);

/* For the row. */
kn_status kn_mtgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
kn_status kn_mtgpr_law(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_law *out);
kn_status kn_mtgpr_law_block(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                             kn_mat y, kn_mat V, double *scale);
kn_status kn_mtgpr_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                              kn_mat model, kn_mat noise);

#endif
