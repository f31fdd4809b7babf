/* Leading principal components of residuals E (n x T), which a callback computes block by block
 * [METHOD 0b]
 *
 *     T up to 2048 and n      E'E  T x T, E held                              n T^2
 *     n up to 5000            EE'  n x n, an exact sum over blocks            n^2 T
 *     beyond                  Q <- orth(E(E'Q)), a few readings of E          4 n T k a reading
 *
 * The result is F = E B, so that B = E'F diag(1/s2). */
#ifndef KN_GP_MISSING_IMPUTE_BASIS_H
#define KN_GP_MISSING_IMPUTE_BASIS_H

#include "base/matrix.h"

/* The residuals. */
typedef struct kn_impute_source {
    ptrdiff_t n, T;
    double energy; /* upper bound of |E|_F^2 */
    void *self;
    /* computes E (n x count) of the responses from `first` on */
    kn_status (*block)(kn_ctx *ctx, void *self, ptrdiff_t first, kn_mat E);
} kn_impute_source;

/* Computes F (n x P) and s2 (P), the eigenvalues of E'E; F->cols is reduced to those above
 * rounding. start: F of an earlier call for a similar E, or kn_mat_none(). KN_ERR_NUMERIC if the
 * eigenproblem fails. Collective. */
kn_status kn_impute_eigen(kn_ctx *ctx, const kn_impute_source *from, kn_mat start, uint64_t seed,
                          kn_mat *F, double *s2);

#endif
