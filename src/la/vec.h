/* Elementwise work that is worth vectorising: exp, log and sums of quotients, by libmvec. */
#ifndef KN_LA_VEC_H
#define KN_LA_VEC_H

#include <stddef.h>

/* y_i += scale exp(-x_i / two_l2) for x_i >= 0; arguments below -700 count as -700, because
 * denormal results are twenty times slower and no different. */
void kn_vec_add_exp(ptrdiff_t n, const double *x, double two_l2, double scale, double *y);

/* sum_i g_i exp(-x_i / two_l2), and the same with x_i inside the sum. */
void kn_vec_dot_exp(ptrdiff_t n, const double *g, const double *x, double two_l2, double *sum,
                    double *sum_x);

double kn_vec_sum_log(ptrdiff_t n, const double *x);                 /* sum ln x_i */
double kn_vec_sum_log_shift(ptrdiff_t n, const double *x, double s); /* sum ln(x_i + s) */

double kn_vec_dot(ptrdiff_t n, const double *x, const double *y);

#endif
