/* An eigenproblem of all ranks, solved by the first.
 *
 * Eigenvectors have no sign, and those of close eigenvalues no direction: on unlike processors they
 * may come out quite otherwise, where sums and products differ in the last bit. What is made of
 * them by responses, on every rank, has to be of the same ones.
 *
 *     cost: that of kn_eig, and a broadcast of 8 n^2 bytes */
#ifndef KN_GP_LIKELIHOOD_EIG_BROADCAST_H
#define KN_GP_LIKELIHOOD_EIG_BROADCAST_H

#include "base/matrix.h"

/* As kn_eig (la/la.h); the S of the first rank. Collective. */
kn_status kn_eig_shared(kn_ctx *ctx, kn_mat S, double *w);

#endif
