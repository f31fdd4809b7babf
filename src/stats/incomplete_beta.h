/* Continued fraction of the regularised incomplete beta function,
 *
 *     I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * 1/(1 + d_1/(1 + d_2/(1 + ..)))
 *     d_2m+1 = -(a+m)(a+b+m) x/((a+2m)(a+2m+1)),  d_2m = m (b-m) x/((a+2m-1)(a+2m))
 *
 * by Lentz's method; for x < (a+1)/(a+b+2) it takes some tens of steps. student_t.c uses it. */
#ifndef KN_STATS_INCOMPLETE_BETA_H
#define KN_STATS_INCOMPLETE_BETA_H

/* The continued fraction 1/(1 + d_1/(1 + ..)) alone, without the factor in front. */
double kn_beta_fraction(double a, double b, double x);

#endif
