/* Profile likelihood of one component: for z ~ N(0, c R0 + d I) with known R0 = U diag(r) U',
 * the maximum over c and d. With delta = d/c, c has a closed form; LML(ln delta) is maximised on
 * a grid and then by safeguarded Newton. Used by structured noise, STGPR and imputation
 * [METHOD 1b] */
#ifndef KN_GP_LIKELIHOOD_PROFILE_1D_H
#define KN_GP_LIKELIHOOD_PROFILE_1D_H

#include "base/matrix.h"
#include "base/memory/plan.h"

/* Computes c, d and lml (P each) for every column of A2 (m x P, the squares of A = U'Z). `zeros`
 * further directions have r = 0 and energy rest[p]; rest NULL: there are none. If low-rank
 * features span all N dimensions, zeros and rest may be slightly negative and compensate
 * directions of rounding. A component that noise alone explains best gets c = 0, d = |z|^2/N.
 * Parallel over columns; the result does not depend on the number of threads. */
kn_status kn_profile(kn_ctx *ctx, ptrdiff_t m, const double *r, ptrdiff_t zeros, kn_mat A2,
                     const double *rest, double *c, double *d, double *lml);

/* Like kn_profile, but accurate only to `nats` of log likelihood, which is enough to compare
 * cells: c, d and lml (P each) of the components with squared coordinates A2 (m x P). */
kn_status kn_profile_within(kn_ctx *ctx, double nats, ptrdiff_t m, const double *r, ptrdiff_t zeros,
                            kn_mat A2, const double *rest, double *c, double *d, double *lml);

/* Predicts in plan r the memory of kn_profile for rank m and P components: only the peak rises. */
void kn_profile_need(kn_mem_plan *r, ptrdiff_t m, ptrdiff_t P);

#endif
