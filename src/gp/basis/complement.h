/* Signal of the covariates in the orthogonal complement of a basis [METHOD 1f]. Used by whitened
 * S-MTGPR and MTGPR.
 *
 * With Yw = Y Psi^-1/2 and orthonormal V (T x k), every column of Yw (I - VV') ~ N(0, c0 R0 + d0
 * I) (c0, d0: the last component of the latent form, whose own mean is zero):
 *
 *     D = U'Yw - (U'Yw V) V'   m x T      e_n = |D_n|^2
 *     mean = RU D0,   RU = R0* U,   D0 = diag(c0/(c0 r + d0)) D
 *
 * Rows of D0 are kept where c0 r/(c0 r + d0) > 2^-48, rounded to float32: a model in memory then
 * predicts exactly as the same model read from its file. */
#ifndef KN_GP_BASIS_COMPLEMENT_H
#define KN_GP_BASIS_COMPLEMENT_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/latent.h"

/* True if eigenvector number `direction` (0 .. m-1) of R0 (covariance between participants)
 * carries signal in the orthogonal complement of the basis: its proportion c0 r/(c0 r + d0)
 * exceeds 2^-48, with c0 and d0 of the last component. Others are left out of D0. */
bool kn_complement_keeps(const kn_latent *l, ptrdiff_t direction);
/* Returns the number of eigenvectors of R0 (covariance between participants) that
 * kn_complement_keeps: the rows of D0. */
ptrdiff_t kn_complement_count(const kn_latent *l);

/* Copies those columns of RU (n x m, one per eigenvector of R0, the covariance between
 * participants) that kn_complement_keeps to `to` (n x kn_complement_count), which the caller has
 * allocated. */
void kn_complement_take(const kn_latent *l, kn_mat RU, kn_mat to);

/* Input of the functions below, all borrowed. psi: T or NULL (1); V: T x k; AV: m x k = U'Yw V,
 * with U of cell 0; mean: T or NULL, subtracted from Y. */
typedef struct kn_complement_input {
    const kn_responses *Y;
    const double *mean, *psi;
    kn_mat V, AV;
} kn_complement_input;

/* Computes e (m): the energy |D_n|^2 of the responses outside the basis along each eigenvector n
 * of R0 (covariance between participants), with D as in the equation at the top of this file.
 * Reads Y once, 2 N T m flops. The sum of e is less than |Yw (I - VV')|^2 where U does not span
 * all directions. Collective. */
kn_status kn_complement_energies(kn_ctx *ctx, const kn_latent *l, const kn_complement_input *input,
                                 double *e);

/* Computes D0 (count x T, owned by the caller), which the mean outside the basis, RU D0, needs;
 * none if no direction is kept. Reads Y once, 2 N T count flops. Fills only the responses of
 * this MPI rank. */
kn_status kn_complement_make(kn_ctx *ctx, const kn_latent *l, const kn_complement_input *input,
                             kn_mat *D0);

/* Computes, over the kept directions, the two factors of the mean outside the basis for n
 * participants with RU = R0* U (n x m): smooth (n x N) = RU diag(c0/(c0 r + d0)) U' and
 * explained (n x k) = RU diag(c0/(c0 r + d0)) AV = smooth Yw V. Then RU D0 = smooth Yw (I - VV')
 * for any set of responses. */
kn_status kn_complement_smoother(kn_ctx *ctx, const kn_latent *l, kn_mat RU, kn_mat AV,
                                 kn_mat smooth, kn_mat explained);

/* Adds D0 (kept x s->T) to the memory plan, where it stays; the work space of the energies and
 * of D0 only raises the peak. */
void kn_complement_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t kept);

#endif
