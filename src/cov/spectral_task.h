/* Covariance C between components whose eigenvectors do not depend on theta
 *
 *     C = v F F' + c0 I        v = exp(2a) of a term proportional to F F', c0 of terms like iso
 *
 * Over principal components F F' is diagonal, and so is C: no P x P eigenproblem [METHOD 2], and
 * no T x T one for MT-Kronprod [METHOD 1c].
 *
 * C is used with iso noise only; structured noise has one variance per component instead. */
#ifndef KN_COV_SPECTRAL_TASK_H
#define KN_COV_SPECTRAL_TASK_H

#include "cov/kernel_sum.h"

/* Returns whether every term is proportional to the same products, or is zero between different
 * components. */
bool kn_cov_is_spectral(const kn_cov *cov);
/* Returns whether C is spectral and the products are diagonal too: other entries are below 1e-13
 * of the first. */
bool kn_cov_is_diagonal(const kn_cov *cov, const kn_pairs *pairs);

/* Computes the diagonal of C, c_p = v (F F')_pp + c0 (P values), and c0. */
void kn_cov_diagonal(const kn_cov *cov, const double *theta, const kn_pairs *pairs, ptrdiff_t P,
                     double *c, double *c0);
/* Computes g = dLML/dtheta from dLML/dc_p (P x 1) and dLML/dc0, the part of it that does not come
 * through c_p. */
void kn_cov_diagonal_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs,
                              kn_mat by_c, double by_c0, double *g);

/* Sets theta to the start of the search for C: each term gets its kernel's start_proportion of the
 * variance v, or the share `signal`, divided by the mean of its diagonal over `dims` components; a
 * length starts at the root mean square distance. */
void kn_cov_start(const kn_cov *cov, const kn_pairs *pairs, double dims, double v, double signal,
                  double *theta);

#endif
