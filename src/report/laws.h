/* Laws that sentences and lines of the page need: normal, Student's, extreme value, binomial. */
#ifndef KN_REPORT_LAWS_H
#define KN_REPORT_LAWS_H

#include <stddef.h>

double kn_laws_normal(double z); /* Phi(z), both tails to full relative accuracy */

/* P(|t| >= |x|), t of Student's law with `df` degrees of freedom, not necessarily whole   [METHOD
 * 11d] */
double kn_laws_student_both(double x, double df);

/* The statistic that p of normal people exceed by an extreme value law {shape, location, scale}
 *   [METHOD 8] */
double kn_laws_gev_beyond(const double gev[3], double p);

/* Of Binomial(n, q): the least k with P(K <= k) > .025, and the least with P(K <= k) >= .975, so
 * that a count outside low .. high happens in at most 5 % of studies   [METHOD 11c] */
void kn_laws_binomial_range(ptrdiff_t n, double q, double *low, double *high);

#endif
