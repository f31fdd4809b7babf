/* The joint deviance at its word: dense T x T covariance, literal folds. */
#ifndef KN_REF_DEVIANCE_H
#define KN_REF_DEVIANCE_H

#include "base/matrix.h"

/* A = U diag(w) U', cyclic Jacobi; w descending, A replaced by U. */
void ref_eig(kn_mat A, double *w);
/* Sigma (T x T) from the rows of z for which use[i] != 0, with K components; psi and lam too. */
kn_mat ref_deviance_sigma(kn_mat z, const int *use, ptrdiff_t K, double *psi, double *lam);
/* z Sigma^-1 z' for row i, over the finite entries J, times T/|J|; NaN when |J| < T/2. */
double ref_deviance(kn_mat Sigma, kn_mat z, ptrdiff_t i);
/* ln N(row i of z; 0, Sigma) */
double ref_deviance_density(kn_mat Sigma, kn_mat z, ptrdiff_t i);

#endif
