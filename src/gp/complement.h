/* What the directions outside a basis are told by the covariates                      [METHOD 1f]
 *
 * With Yw = Y Psi^-1/2 and orthonormal V (T x k), every column of Yw (I - VV') ~ N(0, c0 R0 + d0 I)
 * (c0, d0: the last component of the latent form, whose own mean is zero):
 *
 *     mean = RU D0,   RU = R0* U,   D0 = diag(c0/(c0 r + d0)) (U'Yw - (U'Yw V) V')
 *
 * Rows of D0 are kept where c0 r/(c0 r + d0) > 1e-6, and in float32: a model in memory says what
 * the same model says from its file. */
#ifndef KN_GP_COMPLEMENT_H
#define KN_GP_COMPLEMENT_H

#include "base/rehearse.h"
#include "data/responses.h"
#include "gp/latent.h"

/* Directions of the first cell that are kept, by its r and the c, d of the last component. */
bool kn_complement_keeps(const kn_latent *l, ptrdiff_t direction);
ptrdiff_t kn_complement_count(const kn_latent *l);

/* to (n x count) = the kept columns of RU (n x m) */
void kn_complement_take(const kn_latent *l, kn_mat RU, kn_mat to);

/* What of Y is told: psi T or NULL, V T x k, AV m x k = U'Yw V of the first cell's U; mean T or
 * NULL: what is taken off Y. */
typedef struct kn_complement_of {
    const kn_responses *Y;
    const double *mean, *psi;
    kn_mat V, AV;
} kn_complement_of;

/* D0 count x T, one walk over Y, 2 N T count flops. */
kn_status kn_complement_make(kn_ctx *ctx, const kn_latent *l, const kn_complement_of *of,
                             kn_mat *D0);
/* Leaves D0 of `kept` rows. */
void kn_complement_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t kept);

#endif
