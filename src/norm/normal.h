/* The standard normal law, and how far a sample is from it. */
#ifndef KN_NORM_NORMAL_H
#define KN_NORM_NORMAL_H

#include <stddef.h>

double kn_normal_cdf(double x);   /* Phi(x), relative accuracy in the lower tail too */
double kn_normal_upper(double x); /* 1 - Phi(x) without cancellation */

/* Kolmogorov-Smirnov distance sup |F_n - Phi| of n >= 1 finite values, which are sorted in place.
 * This is the distance of the PIT values Phi(z) from uniform. */
double kn_ks_normal(double *z, ptrdiff_t n);

#endif
