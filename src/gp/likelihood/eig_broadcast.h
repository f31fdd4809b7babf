/* Symmetric eigenproblem with identical results on all MPI ranks: root solves it and broadcasts.
 *
 * Eigenvectors are defined up to sign, and those of close eigenvalues up to rotation. If every
 * rank solved the problem, rounding on different processors could give different vectors, but the
 * ranks must combine the same vectors with their own responses.
 *
 *     cost: that of kn_eig, and a broadcast of 8 n^2 bytes */
#ifndef KN_GP_LIKELIHOOD_EIG_BROADCAST_H
#define KN_GP_LIKELIHOOD_EIG_BROADCAST_H

#include "base/matrix.h"

/* As kn_eig (la/la.h), for the S of root; S and w (n) are overwritten on all ranks. Collective. */
kn_status kn_eig_shared(kn_ctx *ctx, kn_mat S, double *w);

#endif
