/* Digamma and trigamma functions, the derivatives of ln Gamma(x), x > 0 [METHOD 8g].
 *
 *     psi(x)  = ln x - 1/(2x) - sum_k B_2k/(2k x^2k)                from x >= 10 on; below by
 *     psi'(x) = 1/x + 1/(2x^2) + sum_k B_2k/x^(2k+1)                psi(x) = psi(x + 1) - 1/x,
 *                                                                   psi'(x) = psi'(x + 1) + 1/x^2
 *
 * With eight Bernoulli numbers the relative remainder is below 1e-16. NaN for x <= 0. */
#ifndef KN_STATS_POLYGAMMA_H
#define KN_STATS_POLYGAMMA_H

double kn_digamma(double x);  /* psi(x) */
double kn_trigamma(double x); /* psi'(x) */

/* x with psi'(x) = v, by bisection of ln x between the bounds, to the last bit; psi' decreases from
 * infinity to 0. Returns the bound if the root is outside of them, NaN for NaN. */
#define KN_TRIGAMMA_LOW  1e-3
#define KN_TRIGAMMA_HIGH 1e7
double kn_trigamma_inverse(double v);

#endif
