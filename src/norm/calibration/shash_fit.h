/* Fits the skew and tail parameters of the sinh-arcsinh distribution for each response, shrunk
 * towards a prior that responses share [METHOD 8c].
 *
 *     theta_j = (a_j, ln b_j) = argmin -sum_i ln density(zt_ij) + sum (theta_j - mu)^2/(2 v)
 *     |a| <= 3, -2 <= ln b <= .3
 *     prior: mu = mu0 = (0, -.1), v = v0 = (.15^2, .2^2), then 3 rounds of theta_j and
 *     mu <- (5 mu0 + T_sq mean_j theta_j)/(5 + T_sq)
 *     v  <- (5 v0 + T_sq (mean_j (theta_j - mu)^2 + 1/(G + 1/v)))/(5 + T_sq)
 *     G  = diagonal of the second derivative of -sum_ij ln density at mu0, over T
 *
 * The prior comes from a subsample of responses in memory; given the prior, each response is
 * fitted by itself, so responses may come in blocks. Newton's method with the second derivatives
 * of shash.h: 4 to 6 evaluations per response, 20 ns per value each. */
#ifndef KN_NORM_CALIBRATION_SHASH_FIT_H
#define KN_NORM_CALIBRATION_SHASH_FIT_H

#include <stdbool.h>

#include "base/matrix.h"
#include "stats/shash.h"

enum { KN_SHASH_ROUNDS = 3 };

typedef struct kn_shash_prior {
    double mu[2], v[2]; /* prior mean and variance of a, ln b */
} kn_shash_prior;

/* True if skew a = theta[0] and tail ln b = theta[1] of a sinh-arcsinh distribution are within the
 * bounds of the fit, [-3, 3] and [-2, 0.3]. */
bool kn_shash_allowed(const double theta[2]);

/* The prior before it has seen data: mu0, v0. */
kn_shash_prior kn_shash_prior_start(void);

/* Fit skew a and tail ln b (theta) of a sinh-arcsinh distribution to n values zt without NaN, with
 * a normal prior, by Newton's method. theta: start on entry, result on return; the prior mean if n
 * = 0. Cannot fail. */
void kn_shash_newton(const kn_shash_nodes *nodes, const kn_shash_prior *prior, ptrdiff_t n,
                     const double *zt, double theta[2]);

/* Fit skew and tail of a block of responses: zt (N x count; NaN: missing), theta (2 x count; start
 * on entry, result on return). Responses run in parallel, with N doubles of work per thread. */
kn_status kn_shash_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, const kn_shash_prior *prior,
                       kn_mat zt, kn_mat theta);

/* G: second derivatives by skew and tail of the loss of a subsample zt (N x T) at the start of the
 * prior, per response; 0 without values. */
void kn_shash_information(const kn_shash_nodes *nodes, kn_mat zt, double G[2]);

/* Update the prior of skew and tail by the fitted values theta (2 x T; NaN: skipped), one round. G:
 * kn_shash_information(); T_sq: effective number of responses. */
void kn_shash_prior_update(kn_shash_prior *prior, const double G[2], double T_sq, kn_mat theta);

/* Fit the prior of skew and tail to a subsample zt (N x T; NaN: missing) in KN_SHASH_ROUNDS rounds;
 * theta (2 x T) receives the values of the last round. T_sq: effective number of responses. */
kn_status kn_shash_prior_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, kn_mat zt, double T_sq,
                             kn_mat theta, kn_shash_prior *prior);

/* One Newton step of skew and tail from theta for n other values zt without NaN: close to the full
 * fit if theta was fitted to these values and a few more. at: kn_shash_point_at(theta). One
 * evaluation. */
void kn_shash_step(const kn_shash_point *at, const kn_shash_prior *prior, ptrdiff_t n,
                   const double *zt, const double theta[2], double out[2]);

#endif
