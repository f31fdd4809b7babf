/* Eigenproblems between the two passes of a deviance fit: the leading directions of z within the
 * training rows of every part (each fold, and the whole sample), all from the one G = zz'
 * [METHOD 8b].
 *
 *     G_tr,tr = V S^2 V'      n x n, V n x Kmax      floor of psi = 1e-6 tr G_tr,tr / (n T)
 *
 * folds + 1 problems of size n < N, in parallel on threads and distributed over ranks: 4/3 n^3 +
 * 2 n^2 Kmax flops each (la/eig_leading.h; in float32 la/eig_leading_f32.h). */
#ifndef KN_NORM_DEVIANCE_DECOMPOSE_H
#define KN_NORM_DEVIANCE_DECOMPOSE_H

#include "norm/deviance/passes.h"

/* Set s2 and floor of every part, and pass V on with kn_deviance_pass_vectors(). Directions
 * beyond the rank of z have s2 = 0 and V = 0. KN_ERR_DATA if all z are zero; KN_ERR_NUMERIC on
 * overflow or if an eigenproblem does not converge. Collective. */
kn_status kn_deviance_decompose(kn_ctx *ctx, kn_deviance_fitter *f);
/* Memory plan of the eigenproblems. */
void kn_deviance_decompose_need(kn_mem_plan *r, const kn_deviance_fitter *f, int threads);

#endif
