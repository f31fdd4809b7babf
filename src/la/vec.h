/* Vectorised loops over arrays of n doubles: exp and log (by libmvec, 4 ulp), dot products and the
 * sums of the likelihood. Reductions are vectorised, so that their last bits depend on the
 * processor. */
#ifndef KN_LA_VEC_H
#define KN_LA_VEC_H

#include <stddef.h>
#include <stdlib.h> /* defines __GLIBC__ */

/* Adds y_i += scale exp(-x_i / two_l2) for n values x_i >= 0. Exponents below -700 are set to
 * -700, because denormal results are twenty times slower and make no difference. */
void kn_vec_add_exp(ptrdiff_t n, const double *x, double two_l2, double scale, double *y);

/* Computes *sum = sum_i g_i exp(-x_i / two_l2) and *sum_x = sum_i g_i x_i exp(-x_i / two_l2)
 * over n values. */
void kn_vec_dot_exp(ptrdiff_t n, const double *g, const double *x, double two_l2, double *sum,
                    double *sum_x);

/* Replaces the n values x_i by exp(x_i). The bits of an element do not depend on its position or
 * on n. */
void kn_vec_exp(ptrdiff_t n, double *x);
/* Replaces the n values x_i by ln x_i. The bits of an element do not depend on its position or
 * on n. */
void kn_vec_log(ptrdiff_t n, double *x);

/* Returns sum_i ln x_i of n positive values. */
double kn_vec_sum_log(ptrdiff_t n, const double *x);
/* Returns sum_i ln(x_i + s) of the n values x; each x_i + s must be positive. */
double kn_vec_sum_log_shift(ptrdiff_t n, const double *x, double s);

/* Returns the scalar product sum_i x_i y_i of n values. */
double kn_vec_dot(ptrdiff_t n, const double *x, const double *y);

/* Adds y_i += (x_i - c)^2 for n values. */
void kn_vec_add_sqdiff(ptrdiff_t n, const double *x, double c, double *y);

/* Adds Gaussian losses of residuals e_i with variance s2_i = noise + v_i (v NULL: noise), where a
 * cell counts at most as one of KN_LOSS_Z2_MAX: loss_i += min(e_i^2 / s2_i, KN_LOSS_Z2_MAX) / 2,
 * product_i *= s2_i. The caller adds ln(product_i)/2 after a few calls,
 * which saves logarithms. */
enum { KN_LOSS_Z2_MAX = 25 }; /* so that one wild cell does not decide between models */
void kn_vec_add_loss(ptrdiff_t n, const double *e, const double *v, double noise, double *loss,
                     double *product);

/* Sums from which the likelihood of one component and its gradient follow, for a Gaussian with
 * eigenvalues k_i = c r_i + d and squared coefficients a2_i. */
typedef struct kn_spectrum {
    double log_k;      /* sum ln k */
    double quad;       /* sum a2/k */
    double inv, r_inv; /* sum 1/k, sum r/k */
    double sq, r_sq;   /* sum a2/k^2, sum r a2/k^2 */
} kn_spectrum;
/* Returns the sums of kn_spectrum over n eigenvalues r_i and squared coefficients a2_i, at
 * signal variance c and noise variance d. */
kn_spectrum kn_vec_spectrum(ptrdiff_t n, const double *r, const double *a2, double c, double d);

/* The sums of METHOD 1b at the noise-to-signal ratio delta: u = delta/(r+delta),
 * q_k = sum a2 u^k/(r+delta). */
typedef struct kn_profile_sums {
    double q0, q1, q2, u, uu; /* u = sum u, uu = sum u(1-u) */
} kn_profile_sums;
/* Returns the sums of kn_profile_sums over n eigenvalues r_i and squared coefficients a2_i, at
 * the noise-to-signal ratio delta. */
kn_profile_sums kn_vec_profile(ptrdiff_t n, const double *r, const double *a2, double delta);

/* ---- versions for several processors --------------------------------------------------------- */

/* KN_CLONES before a function compiles it for several vector widths (AVX-512, AVX2, SSE2); the
 * loader chooses the version for the processor. */

/* Not with sanitizers, which are not initialised yet when the loader chooses. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KN_CLONES
#endif

#endif
