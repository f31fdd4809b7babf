/* Gradients of the low-rank Kronecker sum, and its EM step [METHOD 1h]. */
#ifndef KN_GP_METHODS_MTGPR_LOWRANK_SUM_GRADIENT_H
#define KN_GP_METHODS_MTGPR_LOWRANK_SUM_GRADIENT_H

#include "gp/methods/mtgpr/lowrank_sum.h"

/* Derivatives by G, H (none if Q = 0), ln psi_j at fixed G and H, gamma and iso. */
typedef struct kn_lowrank_sum_gradient {
    kn_mat G, H;
    double *ln_psi; /* T */
    double gamma, iso;
} kn_lowrank_sum_gradient;
/* Computes the gradient at `at`, which must be the point of the last value. g->G, g->H and
 * g->ln_psi are allocated by the caller; g->gamma is NaN if gamma is not free. One pass over Y. */
kn_status kn_lowrank_sum_slopes(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                                kn_lowrank_sum_gradient *g);

/* One EM step for G, H and psi from the point of the last value, with gamma = 0, iso fixed and
 * psi_j >= least_j: LML does not decrease. Uses sums over participants of the posterior of X = [f
 * v],
 *     Y = f (Psi^1/2 G)' + v (Psi^1/2 H)' + e,
 *     E[f] = R X_G   E[v] = X_H   X_G = M W'K_G (rotated)   cov of both by sums of r^2/L, r/L, 1/L
 *     [..G ..H]_j = E[XX']^-1 E[X]'y_j       psi_j = (|y_j|^2 - [..G ..H]_j' E[X]'y_j)/N */
kn_status kn_lowrank_sum_em(kn_ctx *ctx, kn_lowrank_sum *w, const double *least,
                            kn_lowrank_sum_point *at);

#endif
