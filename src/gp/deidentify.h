/* A fitted process that knows nobody: mean and variance of new samples as before, from points that
 * are no samples instead of X, U, pivots and groups                                   [METHOD 8h]
 */
#ifndef KN_GP_DEIDENTIFY_H
#define KN_GP_DEIDENTIFY_H

#include "gp/method.h"

/* For kn_method.share of a method with components. `to` is a copy of `from`, and loses its samples;
 * its gamma stay, which the noise of a new group needs. */
kn_status kn_components_share(kn_ctx *ctx, const kn_gp *from, kn_sharing *how, kn_gp *to);

ptrdiff_t kn_components_points(const kn_gp *gp);

/* "base" and "map" of cell k in the file of such a process. */
kn_status kn_shared_arrays(kn_gp *gp, kn_decomp *R0, ptrdiff_t k, kn_arrays *a);

/* A = the last m rows of the cell that it comes from: those that interpolation keeps. */
kn_status kn_shared_rows(kn_ctx *ctx, kn_mat from, ptrdiff_t m, kn_mat *A);

const char *kn_cell_name(const char *stem, ptrdiff_t k, char *out, size_t size); /* U, U.1, ... */

#endif
