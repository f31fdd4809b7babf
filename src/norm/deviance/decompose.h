/* Between the passes of a deviance fit: directions of z within the training rows of every part, the
 * folds and the whole sample, all from the one G = zz' [METHOD 8b].
 *
 *     G_tr,tr = V S^2 V'      n x n, V n x Kmax      floor of psi = 1e-6 tr G_tr,tr / (n T)
 *
 * folds + 1 problems of size n < N, side by side on threads and dealt to ranks one by one: 4/3 n^3
 * + 2 n^2 Kmax flops each (la/eig_leading.h; in float32 la/eig_leading_f32.h). */
#ifndef KN_NORM_DEVIANCE_DECOMPOSE_H
#define KN_NORM_DEVIANCE_DECOMPOSE_H

#include "norm/deviance/passes.h"

/* s2 and floor of every part, and V to the pass (kn_deviance_pass_vectors). Directions beyond the
 * rank of z have s2 = 0 and V = 0. z that are all zero are KN_ERR_DATA, an overflow or an
 * eigenproblem that does not converge KN_ERR_NUMERIC. Collective. */
kn_status kn_deviance_decompose(kn_ctx *ctx, kn_deviance_fitter *f);
void kn_deviance_decompose_need(kn_mem_plan *r, const kn_deviance_fitter *f, int threads);

#endif
