/* The leading principal components of residuals E (n x T) that are made block by block [METHOD 0b]
 *
 *     T up to 2048 and n      E'E  T x T, E held                              n T^2
 *     n up to 5000            EE'  n x n, an exact sum over blocks            n^2 T
 *     beyond                  Q <- orth(E(E'Q)), a few readings of E          4 n T k a reading
 *
 * E times its right singular vectors is what is handed out: F = E B, so that B = E'F diag(1/s2). */
#ifndef KN_GP_MISSING_IMPUTE_BASIS_H
#define KN_GP_MISSING_IMPUTE_BASIS_H

#include "base/matrix.h"

typedef struct kn_impute_source {
    ptrdiff_t n, T;
    double energy; /* at least |E|_F^2 */
    void *self;
    /* E (n x count) of responses first ... */
    kn_status (*block)(kn_ctx *ctx, void *self, ptrdiff_t first, kn_mat E);
} kn_impute_source;

/* F (n x P, its columns cut down to those that are more than rounding) and s2 (P), the eigenvalues
 * of E'E. start: F of an earlier call for a similar E, or kn_mat_none(). Collective. */
kn_status kn_impute_eigen(kn_ctx *ctx, const kn_impute_source *from, kn_mat start, uint64_t seed,
                          kn_mat *F, double *s2);

#endif
