/* Student's t distribution and its transform to the standard normal one [METHOD 8c].
 *
 *     S_nu(z)  = P(t > z) = 1/2 I_x(nu/2, 1/2),  x = nu/(nu + z^2),  z >= 0
 *     zt(z)    = sign(z) (-Phi^-1(S_nu(|z|)))       by tail probabilities, accurate at both ends
 *     ln t_nu  = ln Gamma((nu+1)/2)/Gamma(nu/2) - ln(nu pi)/2 - (nu+1)/2 ln(1 + z^2/nu)
 *
 * Logarithms are used where the tail underflows: zt of a finite z is finite and increases with z.
 * Above KN_STUDENT_MAX degrees of freedom the distribution is treated as normal, zt = z and
 * ln t_nu = ln phi, except in S_nu. nu > 0. */
#ifndef KN_STATS_STUDENT_T_H
#define KN_STATS_STUDENT_T_H

#include "base/context.h"

#define KN_STUDENT_MAX 10000.0

/* Returns S_nu(z) = P(t > z) with nu degrees of freedom, z of either sign. */
double kn_student_upper(double z, double nu);
/* Returns ln P(t > z) with nu degrees of freedom; finite where the tail underflows. */
double kn_student_log_upper(double z, double nu);
/* Returns ln t_nu(z), the log density; normal above KN_STUDENT_MAX degrees of freedom. */
double kn_student_log_density(double z, double nu);

/* Returns the standard normal value with the same tail probability as z1 has under Student's t
 * with nu degrees of freedom: an odd, increasing function. */
double kn_student_to_normal(double z1, double nu);
/* Returns the inverse of kn_student_to_normal; +-inf if it overflows. */
double kn_normal_to_student(double zt, double nu);
/* Returns the quantile F_nu^-1(p) of Student's t, from the nearer tail; NaN outside [0, 1]. */
double kn_student_quantile(double p, double nu);

/* Table of zt for many values with one nu: piecewise polynomials of degree 5 that match value and
 * two derivatives at the ends of each piece, within 1e-12 of kn_student_to_normal, relative; the
 * exact function for |z1| >= 16. About 5 ns per value, 48 kB, 2 ms to build. */
typedef struct kn_student_map kn_student_map;
enum { KN_STUDENT_MAP_BYTES = 50000 }; /* about */
/* Builds the table *out of kn_student_to_normal for nu degrees of freedom, owned by the caller;
 * 2 ms. */
kn_status kn_student_map_new(kn_ctx *ctx, double nu, kn_student_map **out);
void kn_student_map_free(kn_student_map *map); /* NULL is allowed */
/* Returns kn_student_to_normal of z1 from the table, within 1e-12 relative. */
double kn_student_map_at(const kn_student_map *map, double z1);
/* Replaces n values z by kn_student_map_at of them. */
void kn_student_map_apply(const kn_student_map *map, ptrdiff_t n, double *z);

#endif
