/* The chi-squared and the binomial distribution. */
#ifndef KN_STATS_DISTRIBUTIONS_H
#define KN_STATS_DISTRIBUTIONS_H

#include <stddef.h>

double kn_quantile_gamma(double a, double x); /* P(a, x): the lower part of Gamma(a), regularised */

/* The quantile for p in [0, 1) with nu > 0 degrees of freedom, which need not be whole, to 1e-12
 * relative. NaN where there is no such distribution   [METHOD 11a] */
double kn_quantile_chi2(double p, double nu);

/* Of Binomial(n, q): the least k with P(K <= k) > .025, and the least with P(K <= k) >= .975, so
 * that a count outside low .. high happens in at most 5 % of studies   [METHOD 11c] */
void kn_binomial_range(ptrdiff_t n, double q, double *low, double *high);

#endif
