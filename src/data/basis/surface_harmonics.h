/* Computes the smoothest functions on a surface: eigenmodes of its Laplace-Beltrami operator
 *
 *     L e_k = lambda_k A e_k, lambda ascending     e_j' A e_k = (j == k)            [METHOD 1e]
 *
 * Method: shift and invert. With y = A^1/2 e, block Lanczos with full reorthogonalisation on A^1/2
 * (L + sigma A)^-1 A^1/2, whose eigenvalues are 1/(lambda + sigma), and a banded Cholesky factor
 * of L + sigma A. The constants of the connected components (lambda = 0) are known and locked. A
 * block finds eigenvalues of multiplicity up to its size; a second, short run in the orthogonal
 * complement checks for missed ones, and the block grows if it finds any. Small surfaces use the
 * dense eigenproblem.
 *
 * Cost: n width^2 flops for the factor, about 3 K solves of 4 n width, 30 n K^2 for the rest; n
 * (width + 8 K) doubles. The start vectors have a fixed seed, so results are the same bits every
 * time. */
#ifndef KN_DATA_BASIS_SURFACE_HARMONICS_H
#define KN_DATA_BASIS_SURFACE_HARMONICS_H

#include "base/matrix.h"
#include "data/basis/surface_laplacian.h"

/* Computes the K smoothest eigenmodes: E (n x K, rows in the numbering of l, the largest |entry| of
 * each column positive) and lambda (K, ascending). `name` of the surface is for messages.
 * KN_ERR_ARGUMENT for an impossible K, KN_ERR_MEMORY above the budget, KN_ERR_NUMERIC if the
 * iteration fails. */
kn_status kn_harmonics(kn_ctx *ctx, const char *name, const kn_laplacian *l, kn_mat E,
                       double *lambda);

#endif
