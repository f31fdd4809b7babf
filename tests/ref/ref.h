/* Slow, obvious versions: plain loops, dense matrices, no BLAS. Row-major-free: all column-major.
 */
#ifndef KN_REF_H
#define KN_REF_H

#include "base/matrix.h"

/* Cholesky of a dense symmetric matrix by the textbook loop; returns 0 when not positive definite.
 */
int ref_chol(kn_mat A);
/* ln N(y; 0, S); S is overwritten. NaN when S is not positive definite. */
double ref_log_density(kn_mat S, const double *y);
/* x = S^-1 y for each column of y, S overwritten by its factor. */
void ref_solve(kn_mat S, kn_mat y);
/* C = op(A) op(B) */
kn_mat ref_mul(int ta, kn_mat A, int tb, kn_mat B);
/* A (x) B */
kn_mat ref_kron(kn_mat A, kn_mat B);
kn_mat ref_new(ptrdiff_t rows, ptrdiff_t cols);
/* largest |a - b| over max(1, largest |b|) */
double ref_difference(kn_mat a, kn_mat b);

/* A dense Gaussian process in long double: y ~ N(0, K). Ks (n* x n) and kss (n*) are the new
 * points' covariances; mean and var (n*) their posterior. Ks may be empty. */
double ref_gp(kn_mat K, const double *y, kn_mat Ks, const double *kss, double *mean, double *var);

/* k(x_i, y_j) for log-sd parameters [lin, se_amp, se_len, iso]; iso only where same && i == j. */
kn_mat ref_kernel(kn_mat X, kn_mat Y, const double theta[4], int same);

/* A covariance as a sum of terms, one pair of samples at a time: each kernel sees `count` numbers
 * of both from column `first` on, and its own parameters, of which theta holds all in turn. */
typedef struct ref_term {
    double (*k)(const double *x, const double *y, ptrdiff_t count, const double *theta);
    int n_theta;
    ptrdiff_t first, count;
} ref_term;
kn_mat ref_cov(kn_mat X, kn_mat Y, const ref_term *terms, int n, const double *theta);
double ref_linear(const double *x, const double *y, ptrdiff_t count, const double *theta);
double ref_se(const double *x, const double *y, ptrdiff_t count, const double *theta);
double ref_distance2(const double *x, const double *y, ptrdiff_t count);

/* rows x cols standard normal numbers; orthonormal columns when asked */
struct kn_rng;
kn_mat ref_normal(struct kn_rng *rng, ptrdiff_t rows, ptrdiff_t cols);
kn_mat ref_orthonormal(struct kn_rng *rng, ptrdiff_t rows, ptrdiff_t cols);

#endif
