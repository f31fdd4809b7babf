/* Distributions and special functions without a file of their own: gamma, chi-squared, binomial,
 * digamma, trigamma. They give intervals for calibration, moderated variances and permutation
 * counts. */
#ifndef KN_STATS_DISTRIBUTIONS_H
#define KN_STATS_DISTRIBUTIONS_H

#include <stddef.h>

/* ---- gamma, chi-squared, binomial ------------------------------------------------------------ */

/* Gamma, chi-squared and binomial distributions. */

/* Returns P(a, x), the regularised lower incomplete gamma function: the cumulative distribution
 * function of Gamma(a) at x. NaN unless a > 0 and x >= 0. */
double kn_gamma_cdf(double a, double x);

/* Quantile of the chi-squared distribution for p in [0, 1) with nu > 0 degrees of freedom, which
 * need not be whole, to 1e-12 relative. NaN for other p or nu   [METHOD 11a] */
double kn_quantile_chi2(double p, double nu);

/* Central 95 % range of Binomial(n, q): *low is the least k with P(K <= k) > .025, *high the least
 * with P(K <= k) >= .975, so that a count outside low .. high has probability at most 5 %. NaN
 * unless n > 0 and 0 <= q <= 1   [METHOD 11c] */
void kn_binomial_range(ptrdiff_t n, double q, double *low, double *high);

/* ---- digamma and trigamma -------------------------------------------------------------------- */

/* Digamma and trigamma functions, the derivatives of ln Gamma(x), x > 0 [METHOD 8g].
 *
 *     psi(x)  = ln x - 1/(2x) - sum_k B_2k/(2k x^2k)                from x >= 10 on; below by
 *     psi'(x) = 1/x + 1/(2x^2) + sum_k B_2k/x^(2k+1)                psi(x) = psi(x + 1) - 1/x,
 *                                                                   psi'(x) = psi'(x + 1) + 1/x^2
 *
 * With eight Bernoulli numbers the relative remainder is below 1e-16. NaN for x <= 0. */

/* Returns the digamma function psi(x) for x > 0, NaN for others. */
double kn_digamma(double x);
/* Returns the trigamma function psi'(x) for x > 0, NaN for others. */
double kn_trigamma(double x);

/* x with psi'(x) = v, by bisection of ln x between the bounds, to the last bit; psi' decreases from
 * infinity to 0. Returns the bound if the root is outside of them, NaN for NaN. */
#define KN_TRIGAMMA_LOW  1e-3
#define KN_TRIGAMMA_HIGH 1e7
/* Returns x with psi'(x) = v, by bisection of ln x between the bounds, to the last bit; psi'
 * decreases from infinity to 0. Returns the bound if the root is outside of them, NaN for NaN. */
double kn_trigamma_inverse(double v);

#endif
