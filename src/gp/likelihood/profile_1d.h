/* The one-dimensional problem behind structured noise and STGPR: for z ~ N(0, c R0 + d I) with
 * R0 = U diag(r) U' known, the best c and d. With delta = d/c the scale c has a closed form, and
 * LML(ln delta) is searched on a grid and finished by safeguarded Newton           [METHOD 1b] */
#ifndef KN_GP_LIKELIHOOD_PROFILE_1D_H
#define KN_GP_LIKELIHOOD_PROFILE_1D_H

#include "base/matrix.h"
#include "base/memory/plan.h"

/* For each column of A2 (m x P, squares of A = U'Z): c, d and LML. `zeros` directions have r = 0
 * and hold rest[p] of the energy; rest NULL: there are none. Where features span everything both
 * may be a little below zero: they then make up for directions of rounding. A component best
 * explained by noise alone gets c = 0, d = |z|^2/N. Columns run in parallel; results do not depend
 * on the number of threads. */
kn_status kn_profile(kn_ctx *ctx, ptrdiff_t m, const double *r, ptrdiff_t zeros, kn_mat A2,
                     const double *rest, double *c, double *d, double *lml);

/* The same up to `nats` of LML: for comparing cells, which needs no more. */
kn_status kn_profile_within(kn_ctx *ctx, double nats, ptrdiff_t m, const double *r, ptrdiff_t zeros,
                            kn_mat A2, const double *rest, double *c, double *d, double *lml);

void kn_profile_need(kn_mem_plan *r, ptrdiff_t m, ptrdiff_t P); /* passes */

#endif
