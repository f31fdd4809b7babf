/* Signal of the covariates in the orthogonal complement of a basis                      [METHOD 1f]
 *
 * With Yw = Y Psi^-1/2 and orthonormal V (T x k), every column of Yw (I - VV') ~ N(0, c0 R0 + d0 I)
 * (c0, d0: the last component of the latent form, whose own mean is zero):
 *
 *     D = U'Yw - (U'Yw V) V'   m x T      e_n = |D_n|^2
 *     mean = RU D0,   RU = R0* U,   D0 = diag(c0/(c0 r + d0)) D
 *
 * Rows of D0 are kept where c0 r/(c0 r + d0) > 2^-48, and in float32: a model in memory says what
 * the same model says from its file. */
#ifndef KN_GP_BASIS_COMPLEMENT_H
#define KN_GP_BASIS_COMPLEMENT_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/latent.h"

/* Directions of the first cell that are kept, by its r and the c, d of the last component. */
bool kn_complement_keeps(const kn_latent *l, ptrdiff_t direction);
ptrdiff_t kn_complement_count(const kn_latent *l);

/* to (n x count) = the kept columns of RU (n x m) */
void kn_complement_take(const kn_latent *l, kn_mat RU, kn_mat to);

/* The complement of what: psi T or NULL, V T x k, AV m x k = U'Yw V of the first cell's U; mean T
 * or NULL: what is taken off Y. */
typedef struct kn_complement_of {
    const kn_responses *Y;
    const double *mean, *psi;
    kn_mat V, AV;
} kn_complement_of;

/* e (m): a walk over Y, 2 N T m flops. Its sum is less than |Yw (I - VV')|^2 where U does not span
 * everything. Collective. */
kn_status kn_complement_energies(kn_ctx *ctx, const kn_latent *l, const kn_complement_of *of,
                                 double *e);

/* D0 count x T: a walk over Y, 2 N T count flops. */
kn_status kn_complement_make(kn_ctx *ctx, const kn_latent *l, const kn_complement_of *of,
                             kn_mat *D0);

/* smooth (n x N) = RU diag(c0/(c0 r + d0)) U', over the kept directions: RU D0 = smooth Yw (I -
 * VV') for responses of any number; and explained (n x k) = RU diag(c0/(c0 r + d0)) AV = smooth Yw
 * V. */
kn_status kn_complement_smoother(kn_ctx *ctx, const kn_latent *l, kn_mat RU, kn_mat AV,
                                 kn_mat smooth, kn_mat explained);

/* Energies of all directions, passing; and D0 of `kept` rows, which stays. */
void kn_complement_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t kept);

#endif
