/* The sinh-arcsinh (SHASH) distribution with two parameters, skew a and tail b, standardised to
 * mean 0 and variance 1 [METHOD 8c]. The calibration (norm/calibration) uses it per response.
 *
 *     z  = sinh(b asinh(q) - a),  q = (zt - loc)/sc                  z ~ N(0,1)
 *     zt = loc + sc sinh((asinh(z) + a)/b)
 *     loc, sc: zt has mean 0 and variance 1, by 61 Gauss-Hermite nodes u_k, w_k:
 *     p_k = (asinh(u_k) + a)/b,  M = sum w sinh p,  V = sum w (sinh p - M)^2
 *     sc = V^-1/2,  loc = -M sc
 *     -ln density of zt = z^2/2 + ln(2 pi)/2 - ln b - ln cosh(b asinh q - a) + ln(1 + q^2)/2
 *                         + ln sc
 *
 * theta = (a, ln b). With sigma = 1/sc, q = sigma zt + M: all derivatives of q are linear in zt. */
#ifndef KN_STATS_SHASH_H
#define KN_STATS_SHASH_H

#include <stddef.h>

enum { KN_SHASH_NODES = 61 };

/* Gauss-Hermite weights and asinh of the nodes; initialised once, then read-only. */
typedef struct kn_shash_nodes {
    double w[KN_SHASH_NODES], asinh_u[KN_SHASH_NODES];
} kn_shash_nodes;

/* Computes weights and nodes of the Gauss-Hermite rule by which mean and variance are
 * integrated. */
void kn_shash_nodes_init(kn_shash_nodes *nodes);

/* The distribution of one response; a = 0, b = 1, loc = 0, sc = 1 is the normal one: z = zt. */
typedef struct kn_shash {
    double a, b, loc, sc;
} kn_shash;

/* Returns the SHASH distribution at theta = (a, ln b), with loc and sc such that it has mean 0
 * and variance 1. */
kn_shash kn_shash_at(const kn_shash_nodes *nodes, const double theta[2]);
/* Returns z, the standard normal value of the SHASH value zt. */
double kn_shash_forward(const kn_shash *shash, double zt);
/* Returns zt, the SHASH value of the standard normal value z. */
double kn_shash_inverse(const kn_shash *shash, double z);
/* Returns -ln density of the distribution at zt. */
double kn_shash_nll(const kn_shash *shash, double zt);
/* Replaces n values zt by kn_shash_forward of them, vectorised. */
void kn_shash_apply(const kn_shash *shash, ptrdiff_t n, double *zt);

/* Sum of -ln density over n values as a function of theta, with its derivatives; {0}: empty. */
typedef struct kn_shash_sums {
    double n, value;
    double gradient[2], hessian[3]; /* d/da, d/d ln b; aa, a ln b, ln b ln b */
} kn_shash_sums;

/* The derivatives of q at one theta; responses with the same theta can share it. */
typedef struct kn_shash_point {
    double a, b;
    double q[6][2];   /* q = q[0][0] zt + q[0][1]; then q_a, q_l, q_aa, q_al, q_ll */
    double log_sc[6]; /* ln sc and its derivatives in that order */
} kn_shash_point;

/* Returns the derivatives of q and ln sc by theta at theta = (a, ln b), for kn_shash_add. */
kn_shash_point kn_shash_point_at(const kn_shash_nodes *nodes, const double theta[2]);

/* Adds -ln density of the values zt[n], without NaN, and its derivatives by theta to the sums.
 * About 20 ns per value: one exp and two logarithms. */
void kn_shash_add(const kn_shash_point *at, ptrdiff_t n, const double *zt, kn_shash_sums *sums);
/* The same without the value, which saves a logarithm. */
void kn_shash_add_derivatives(const kn_shash_point *at, ptrdiff_t n, const double *zt,
                              kn_shash_sums *sums);

#endif
