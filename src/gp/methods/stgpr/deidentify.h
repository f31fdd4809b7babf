/* STGPR without its samples: each cell a decomposition from points that are none      [METHOD 8h]
 *
 *     alpha_j = c K^-1 y over the samples becomes   A_j = U'y = (U'H alpha_j) (r + delta_j)
 *
 * that is the latent form, in which responses of a cell are components with c_j and d_j. */
#ifndef KN_GP_METHODS_STGPR_DEIDENTIFY_H
#define KN_GP_METHODS_STGPR_DEIDENTIFY_H

#include "gp/method.h"
#include "gp/methods/stgpr/cells.h"

/* For kn_method.share. */
kn_status kn_stgpr_share(kn_ctx *ctx, const kn_gp *from, kn_sharing *how, kn_gp *to);
ptrdiff_t kn_stgpr_points(const kn_gp *gp);
void kn_stgpr_shared_clear(kn_stgpr *s);

/* A, r, base, map of every cell that has responses. */
kn_status kn_stgpr_shared_arrays(kn_gp *gp, kn_arrays *a);

typedef struct kn_shared_maps {
    kn_mat Xs;
    ptrdiff_t first;         /* of the responses that g is of */
    const kn_cell_groups *g; /* some responses in the order of their cells */
    ptrdiff_t width;
    ptrdiff_t n;      /* out: so many were made, all of one cell, at most width */
    kn_mat mean, var; /* out: samples x n of width */
    double *clamped;
} kn_shared_maps;

/* Those at place `at` of the order, and some after it. */
kn_status kn_stgpr_shared_predict(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t at, kn_shared_maps *some);

#endif
