/* What only the files of gp/likelihood use: the likelihood with structured noise and the gradient
 * with respect to R0. engine.c calls both. */
#ifndef KN_GP_LIKELIHOOD_INTERNAL_H
#define KN_GP_LIKELIHOOD_INTERNAL_H

#include "gp/likelihood/engine.h"

/* ---- structured ----
 *
 * Structured noise: each component has its own signal variance c and noise variance d, and with
 * groups its own ratio gamma of group noise [METHOD 1b] */

/* Computes the log likelihood of structured noise, *lml = sum_p LML_p - N(T-P)/2 (ln(2 pi s2) +
 * 1), s2 = E/(N(T-P)), with each component at its best c, d and cell; sets e->c, d, lml and in.
 * R0 (covariance between participants) must be decomposed [METHOD 1b] */
kn_status kn_structured_eval(kn_ctx *ctx, kn_engine *e, double *lml);

/* Sets e->M = A c^1/2/(c r + d) (m x P) and e->w[i] = sum_p c/(c r_i + d) (m) for the components
 * whose best cell is k; columns of other components are zero. These are the factors of the
 * gradient by R0 [METHOD 3]. Returns false if no component of the cell (components with equal
 * group noise) has signal. */
bool kn_structured_outer(kn_engine *e, int k);

/* ---- gradient ----
 *
 * Gradient of the likelihood with respect to the parameters of R0 [METHOD 3] */

/* Computes g0 = dLML/dtheta, theta the parameters of R0 (covariance between participants;
 * n_theta of e->cov), at the last evaluated point, for dense and low-rank engines. Overwrites
 * e->M and e->w. 3 N^2 P + N^3 flops per cell if dense. [METHOD 3] */
kn_status kn_gradient_r0(kn_ctx *ctx, kn_engine *e, double *g0);

#endif
