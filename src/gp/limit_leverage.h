/* Bounds what the coordinates A of a de-identified model tell about one participant    [METHOD 8h]
 *
 *     A = U'Z, Z ~ N(., d H): q_i = row i of H U/(1 + gamma)^1/2, and for a group of n rows the
 * mean of its rows of H U/(gamma + 1/n)^1/2 h_i = q_i'q_i, leverage: the squared correlation of the
 * best linear estimate of z_i from A, by somebody who knows the covariates of everybody, with z_i
 * itself
 *
 * With noise, as if participant i had been measured with s_i^2 more variance, A + sum_i s_i q_i e_i
 * with e_i ~ N(0, d_p) has h_i = q_i'(I + S)^-1 q_i, S = sum_i s_i^2 q_i q_i'. Each participant
 * above the limit, the largest first, gets the s_i^2 that brings it to the limit; that only lowers
 * the others. The model is then the posterior given these data, in the same form:
 *
 *     I + S = L L',   L^-1 diag(r) L^-T = E diag(r') E':   A' = E' L^-1 A,   map' = map L^-T E
 *
 * so that predicted variances include the noise. N m per blurred participant, and m^3. */
#ifndef KN_GP_LIMIT_LEVERAGE_H
#define KN_GP_LIMIT_LEVERAGE_H

#include "gp/latent.h"
#include "gp/method.h"

/* Bounds the leverage of every participant and group in `cell`, which has low rank (map, base,
 * r) and A, to how->leverage (from 1 on: measures only), by noise. U (N x the m directions of
 * the cell) and groups (NULL: none) are of the training sample; d[k] is the noise variance of
 * component k of the cell. The noise is generated from a hash of A, which nobody else knows.
 * Updates how->before, how->after and how->blurred. */
kn_status kn_limit_leverage(kn_ctx *ctx, kn_mat U, const kn_groups *groups, const double *d,
                            kn_deidentification *how, kn_latent_cell *cell);

#endif
