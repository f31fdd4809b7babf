/* Gamma, chi-squared and binomial distributions. */
#ifndef KN_STATS_DISTRIBUTIONS_H
#define KN_STATS_DISTRIBUTIONS_H

#include <stddef.h>

/* P(a, x), the regularised lower incomplete gamma function: the cumulative distribution function of
 * Gamma(a) at x, not a quantile. NaN unless a > 0 and x >= 0. */
double kn_quantile_gamma(double a, double x);

/* Quantile of the chi-squared distribution for p in [0, 1) with nu > 0 degrees of freedom, which
 * need not be whole, to 1e-12 relative. NaN for other p or nu   [METHOD 11a] */
double kn_quantile_chi2(double p, double nu);

/* Central 95 % range of Binomial(n, q): *low is the least k with P(K <= k) > .025, *high the least
 * with P(K <= k) >= .975, so that a count outside low .. high has probability at most 5 %. NaN
 * unless n > 0 and 0 <= q <= 1   [METHOD 11c] */
void kn_binomial_range(ptrdiff_t n, double q, double *low, double *high);

#endif
