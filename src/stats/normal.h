/* The standard normal distribution, accurate in both tails, and the Kolmogorov-Smirnov distance of
 * values from it. z-scores and p-values are converted by it. */
#ifndef KN_STATS_NORMAL_H
#define KN_STATS_NORMAL_H

#include <stddef.h>

#define KN_LOG_2PI 1.8378770664093454835606594728112 /* ln 2 pi */

/* Returns Phi(x), with relative accuracy in the lower tail. */
double kn_normal_cdf(double x);
/* Returns 1 - Phi(x) without cancellation. */
double kn_normal_upper(double x);

/* Returns ln(1 - Phi(x)); finite where the tail underflows. */
double kn_normal_log_upper(double x);

/* Returns x with ln(1 - Phi(x)) = log_p <= 0, else NaN; negative for log_p > ln 1/2, -inf at 0.
 * Newton's method on the logarithm, which is concave: from the right of the root it does not
 * overshoot. */
double kn_normal_upper_quantile_log(double log_p);
/* Returns Phi^-1(p), from the nearer tail; +-inf at 0 and 1, NaN outside [0, 1]. */
double kn_normal_quantile(double p);
/* Returns x >= 0 with P(|u| <= x) = c, u ~ N(0, 1), with relative accuracy also near 0; NaN for
 * c outside [0, 1]. */
double kn_normal_central_quantile(double c);

/* Returns the Kolmogorov-Smirnov distance sup |F_n - Phi| of n >= 1 finite values z, which are
 * sorted in place. It is the distance of the PIT values Phi(z) from the uniform distribution. */
double kn_ks_normal(double *z, ptrdiff_t n);

#endif
