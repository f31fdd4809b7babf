/* The learner of MT-Kronsum: C and S of maximum likelihood, or drawn to (C0, S0)     [METHOD 1g]
 *
 * EM first, which is monotone and keeps C positive semidefinite; then L-BFGS from where it stopped,
 * in the coordinates Q, W of that point, where noise has covariance I and signal diag(c):
 *
 *     C = Q X X' Q'     X upper triangular, from diag(c)^1/2      dX = 2 G_C X
 *     S = Q Z Z' Q' + floor I     Z lower triangular, from I      dZ = 2 G_S Z
 *
 * An evaluation of either is one kn_kronsum_at; 26 T^2 doubles for L-BFGS. */
#ifndef KN_GP_METHODS_KRONSUM_LEARN_H
#define KN_GP_METHODS_KRONSUM_LEARN_H

#include "gp/methods/kronsum/likelihood.h"
#include "gp/optimise/lbfgs.h"

typedef struct kn_kronsum_learning {
    kn_kronsum_prior prior;
    double floor; /* S >= floor I */
    kn_limits limits;
    int em;            /* steps of EM at most */
    const char *stage; /* progress is told under this name; NULL: none */
} kn_kronsum_learning;

typedef struct kn_kronsum_learned {
    double lml, em_lml; /* at the end, and where EM stopped */
    double objective;   /* lml and the logarithm of the prior */
    double projected;   /* gradient, largest entry, per sample */
    int evals, em_steps;
    kn_stop stop;
    bool floored; /* S is at its floor somewhere */
} kn_kronsum_learned;

typedef struct kn_kronsum_point {
    kn_mat C, S; /* T x T in full */
    kn_kronsum *k;
} kn_kronsum_point;

/* at: the start; on return what was found, and k stands there. A cancelled run keeps the best so
 * far. */
kn_status kn_kronsum_learn(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                           const kn_kronsum_point *at, kn_kronsum_learned *out);

void kn_kronsum_learn_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m, bool low); /* passes */

#endif
