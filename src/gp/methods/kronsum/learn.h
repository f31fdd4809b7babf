/* Learns C and S of MT-Kronsum by maximum likelihood, or shrunk to (C0, S0) by a prior [METHOD 1g].
 *
 * EM first, which is monotone and keeps C positive semidefinite; then L-BFGS in the coordinates Q,
 * W of the point where EM stopped, in which noise has covariance I and signal diag(c):
 *
 *     C = Q X X' Q'     X upper triangular, from diag(c)^1/2      dX = 2 G_C X
 *     S = Q Z Z' Q' + floor I     Z lower triangular, from I      dZ = 2 G_S Z
 *
 * Each evaluation is one kn_kronsum_at; L-BFGS needs 26 T^2 doubles. */
#ifndef KN_GP_METHODS_KRONSUM_LEARN_H
#define KN_GP_METHODS_KRONSUM_LEARN_H

#include "gp/methods/kronsum/likelihood.h"
#include "gp/optimise/lbfgs.h"

typedef struct kn_kronsum_learning {
    kn_kronsum_prior prior;
    double floor; /* S >= floor I */
    kn_limits limits;
    int em;            /* EM steps, at most */
    const char *stage; /* name for progress reports; NULL: none */
} kn_kronsum_learning;

typedef struct kn_kronsum_learned {
    double lml, em_lml; /* at the end, and at the end of EM */
    double objective;   /* lml plus log prior */
    double projected;   /* largest entry of the gradient, per participant */
    int evals, em_steps;
    kn_stop stop;
    bool floored; /* S has eigenvalues at its floor */
} kn_kronsum_learned;

typedef struct kn_kronsum_point {
    kn_mat C, S;   /* T x T, both triangles */
    kn_kronsum *k; /* borrowed */
} kn_kronsum_point;

/* *at: the start, overwritten by the result, where at->k is evaluated. A cancelled run keeps the
 * best point so far. */
kn_status kn_kronsum_learn(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                           const kn_kronsum_point *at, kn_kronsum_learned *out);

void kn_kronsum_learn_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m, bool low); /* temporary */

#endif
