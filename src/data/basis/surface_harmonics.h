/* The smoothest functions of a surface: eigenmodes of its Laplace-Beltrami operator [METHOD 1e]
 *
 *     L e_k = lambda_k A e_k, lambda ascending     e_j' A e_k = (j == k)
 *
 * By shift and invert: with y = A^1/2 e, block Lanczos with full reorthogonalisation on
 * A^1/2 (L + sigma A)^-1 A^1/2, eigenvalues 1/(lambda + sigma), a banded Cholesky factor in the
 * middle. The constants of the connected parts, lambda = 0, are known and locked. A block finds
 * eigenvalues as often as they are there, up to its size; a second, short run in what is left
 * makes sure, and the block grows where it finds more. Small surfaces: the dense problem.
 *
 * Cost n width^2 flops for the factor, about 3 K solves of 4 n width, 30 n K^2 for the rest; n
 * (width + 8 K) doubles. The start is of a fixed seed: the same bits every time. */
#ifndef KN_DATA_BASIS_SURFACE_HARMONICS_H
#define KN_DATA_BASIS_SURFACE_HARMONICS_H

#include "base/matrix.h"
#include "data/basis/surface_laplacian.h"

/* E: n x K in l's numbering, the largest |entry| of each column positive; lambda: K. `name` of the
 * surface, for messages. */
kn_status kn_harmonics(kn_ctx *ctx, const char *name, const kn_laplacian *l, kn_mat E,
                       double *lambda);

#endif
