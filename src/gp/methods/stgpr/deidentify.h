/* De-identified STGPR models: each cell is represented by synthetic points instead of the training
 * participants [METHOD 8h]. This is the latent form, in which the responses of a cell are
 * components with c_j and d_j:
 *
 *     alpha_j = c K^-1 y over the participants becomes   A_j = U'y = (U'H alpha_j) (r + delta_j) */
#ifndef KN_GP_METHODS_STGPR_DEIDENTIFY_H
#define KN_GP_METHODS_STGPR_DEIDENTIFY_H

#include "gp/method.h"
#include "gp/methods/stgpr/cells.h"

/* Implements kn_method.share: replaces alpha, effects, X and groups of `to` (a copy of `from`) by
 * synthetic points; how->most is set. */
kn_status kn_stgpr_share(kn_ctx *ctx, const kn_gp *from, kn_sharing *how, kn_gp *to);
/* Implements kn_method.points: number of synthetic points of all cells. */
ptrdiff_t kn_stgpr_points(const kn_gp *gp);
/* Frees s->shared. */
void kn_stgpr_shared_clear(kn_stgpr *s);

/* Visits A, r, base, map of every cell that has responses (model file). */
kn_status kn_stgpr_shared_arrays(kn_gp *gp, kn_arrays *a);

typedef struct kn_shared_maps {
    kn_mat Xs;               /* new participants x F */
    ptrdiff_t first;         /* first response of g */
    const kn_cell_groups *g; /* responses in the order of their cells */
    ptrdiff_t width;         /* capacity of mean and var */
    ptrdiff_t n;      /* out: number of responses predicted, all of one cell, at most width */
    kn_mat mean, var; /* out: participants x width, n columns are set */
    double *clamped;
} kn_shared_maps;

/* Predicts responses g->order[at] .. g->order[at + n - 1]. */
kn_status kn_stgpr_shared_predict(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t at, kn_shared_maps *some);

#endif
