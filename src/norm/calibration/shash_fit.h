/* Skew and tail of each response, shrunk towards what the responses have in common [METHOD 8c].
 *
 *     theta_j = (a_j, ln b_j) = argmin -sum_i ln density(zt_ij) + sum (theta_j - mu)^2/(2 v)
 *     |a| <= 3, -2 <= ln b <= .3
 *     prior: mu = mu0 = (0, -.1), v = v0 = (.15^2, .2^2), then 3 rounds of theta_j and
 *     mu <- (5 mu0 + T_sq mean_j theta_j)/(5 + T_sq)
 *     v  <- (5 v0 + T_sq (mean_j (theta_j - mu)^2 + 1/(G + 1/v)))/(5 + T_sq)
 *     G  = diagonal of the second derivative of -sum_ij ln density at mu0, over T
 *
 * The prior comes from a sample of responses in memory; with it each response stands alone, and
 * responses may come in blocks. Newton's method with the second derivatives of shash.h: 4 to 6
 * evaluations a response, 20 ns a value each. */
#ifndef KN_NORM_CALIBRATION_SHASH_FIT_H
#define KN_NORM_CALIBRATION_SHASH_FIT_H

#include <stdbool.h>

#include "base/matrix.h"
#include "stats/shash.h"

enum { KN_SHASH_ROUNDS = 3 };

typedef struct kn_shash_prior {
    double mu[2], v[2]; /* of a, ln b */
} kn_shash_prior;

bool kn_shash_allowed(const double theta[2]); /* within the bounds */

kn_shash_prior kn_shash_prior_start(void); /* mu0, v0 */

/* One response: n values without NaN; theta is where to start, and the result. n = 0: mu. */
void kn_shash_newton(const kn_shash_nodes *nodes, const kn_shash_prior *prior, ptrdiff_t n,
                     const double *zt, double theta[2]);

/* A block: zt N x count, NaN where missing; theta 2 x count, where to start, and the result.
 * Responses go in parallel; work of N doubles a thread. */
kn_status kn_shash_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, const kn_shash_prior *prior,
                       kn_mat zt, kn_mat theta);

/* G of a sample; of nothing 0. */
void kn_shash_information(const kn_shash_nodes *nodes, kn_mat zt, double G[2]);

/* The step of a round. Columns of theta (2 x T) that are NaN have no part. */
void kn_shash_prior_update(kn_shash_prior *prior, const double G[2], double T_sq, kn_mat theta);

/* The prior of the last round, the one that its theta (2 x T) were fitted with: any other response
 * fitted with it is treated as those of the sample are. */
kn_status kn_shash_prior_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, kn_mat zt, double T_sq,
                             kn_mat theta, kn_shash_prior *prior);

/* One Newton step from theta for n other values without NaN, prior held: where some of those that
 * theta was fitted to have left, that is nearly the fit to the rest. at: of theta. One evaluation.
 */
void kn_shash_step(const kn_shash_point *at, const kn_shash_prior *prior, ptrdiff_t n,
                   const double *zt, const double theta[2], double out[2]);

#endif
