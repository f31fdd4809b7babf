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

/* These two give an element the same bits wherever it stands among how many others. */
void kn_vec_exp(ptrdiff_t n, double *x); /* x_i = exp(x_i), in place */
void kn_vec_log(ptrdiff_t n, double *x); /* x_i = ln x_i */

double kn_vec_sum_log(ptrdiff_t n, const double *x);                 /* sum ln x_i */
double kn_vec_sum_log_shift(ptrdiff_t n, const double *x, double s); /* sum ln(x_i + s) */

double kn_vec_dot(ptrdiff_t n, const double *x, const double *y);

/* y_i += (x_i - c)^2 */
void kn_vec_add_sqdiff(ptrdiff_t n, const double *x, double c, double *y);

/* Losses without their logarithm, s2_i = noise + v_i (v NULL: noise): loss_i += e_i^2 / 2 s2_i, and
 * product_i *= s2_i, whose logarithm is still to be taken. */
void kn_vec_add_loss(ptrdiff_t n, const double *e, const double *v, double noise, double *loss,
                     double *product);

/* One component of a Gaussian with eigenvalues k_i = c r_i + d and squared coefficients a2_i:
 * everything that values and gradients of its likelihood are made of. */
typedef struct kn_spectrum {
    double log_k;      /* sum ln k */
    double quad;       /* sum a2/k */
    double inv, r_inv; /* sum 1/k, sum r/k */
    double sq, r_sq;   /* sum a2/k^2, sum r a2/k^2 */
} kn_spectrum;
kn_spectrum kn_vec_spectrum(ptrdiff_t n, const double *r, const double *a2, double c, double d);

/* The sums of METHOD 1b at ratio delta: u = delta/(r+delta), q_k = sum a2 u^k/(r+delta). */
typedef struct kn_profile_sums {
    double q0, q1, q2, u, uu; /* uu = sum u(1-u) */
} kn_profile_sums;
kn_profile_sums kn_vec_profile(ptrdiff_t n, const double *r, const double *a2, double delta);

#endif
