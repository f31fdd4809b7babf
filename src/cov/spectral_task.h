/* A task covariance C that shares the eigenvectors of its features' products, whatever theta
 *
 *     C = v F F' + c0 I        v = exp(2a) of a term proportional to F F', c0 of those like iso
 *
 * Over principal components F F' is diagonal, and C with it: no P x P eigenproblem [METHOD 2], and
 * of MT-Kronprod no T x T one [METHOD 1c]. C then turns with the signs of components. */
#ifndef KN_COV_SPECTRAL_TASK_H
#define KN_COV_SPECTRAL_TASK_H

#include "cov/terms.h"

/* Every term is proportional to the same products, or relates a task with itself alone. */
bool kn_cov_is_spectral(const kn_cov *cov);
/* And these products are diagonal: entries beside it are rounding of what made the features. */
bool kn_cov_is_diagonal(const kn_cov *cov, const kn_pairs *pairs);

/* c_p = v (F F')_pp + c0, and c0 */
void kn_cov_diagonal(const kn_cov *cov, const double *theta, const kn_pairs *pairs, ptrdiff_t P,
                     double *c, double *c0);
/* g = dLML/dtheta from dLML/dc_p (P x 1) and dLML/dc0, where c0 stands for itself alone */
void kn_cov_diagonal_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs,
                              kn_mat by_c, double by_c0, double *g);

/* theta where a search of C begins: each term gets its kernel's share of the variance v, or
 * `signal` of it, over the mean of its diagonal among `dims` tasks; a length starts at the root
 * mean square distance. */
void kn_cov_start(const kn_cov *cov, const kn_pairs *pairs, double dims, double v, double signal,
                  double *theta);

#endif
