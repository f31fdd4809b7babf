/* Quantiles of the laws that the page compares with   [METHOD 11a]
 *
 * Each by the function that it inverts: chi^2 by the regularised incomplete gamma function,
 * Student's t by the incomplete beta function, to 1e-12 relative; for degrees of freedom that are
 * no whole numbers too. NaN where there is no such law. */
#ifndef KN_REPORT_QUANTILE_H
#define KN_REPORT_QUANTILE_H

#include <stddef.h>

double kn_quantile_normal(double p);          /* -+inf at 0 and 1 */
double kn_quantile_gamma(double a, double x); /* P(a, x): the lower part of Gamma(a), regularised */
double kn_quantile_chi2(double p, double nu);
double kn_quantile_student(double p, double nu);

#endif
